"""docs/ci.md, docs/patches.md and action.yml name only what exists, and their shell runs."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from record_samples import BEFORE, Tree, healed_outcome

from pytest_selfheal.cli import build_parser
from pytest_selfheal.settings import OPTIONS

ROOT = Path(__file__).parent.parent
DOC = (ROOT / "docs/ci.md").read_text("utf-8") + (ROOT / "docs/patches.md").read_text("utf-8")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", DOC, re.MULTILINE | re.DOTALL)


def test_every_option_and_command_of_the_pages_exists() -> None:
    known = {option.spelling for option in OPTIONS}
    assert set(re.findall(r"--selfheal[a-z-]*", DOC)) <= known
    for line in re.findall(
        r"(?:^|`|run: )selfheal ([a-z].*?)(?:`| >| \|\||$)", "\n".join(blocks("sh") + blocks("yaml")), re.MULTILINE
    ):
        build_parser().parse_args(shlex.split(line))


@pytest.mark.parametrize("block", blocks("yaml"))
def test_every_recipe_is_yaml(block: str) -> None:
    assert yaml.safe_load(block)


def test_the_action_s_inputs_and_outputs_are_those_it_uses() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(ACTION["inputs"])
    assert set(re.findall(r"steps\.selfheal\.outputs\.([a-z]+)", text)) == set(ACTION["outputs"])
    assert all("shell" in step for step in ACTION["runs"]["steps"] if "run" in step)


@pytest.mark.skipif(os.name == "nt", reason="a bash script")
def test_the_action_s_shell_keeps_the_status_and_names_the_run(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "repo", {"calc.py": BEFORE, ".gitignore": b".selfheal/\n"})
    # Stands for pytest --selfheal, which other tests run for real: leaves a finished run and pytest's status.
    tree.write("leave_run.py", (
        "import sys; from pathlib import Path; from record_samples import Tree, healed_outcome\n"
        "tree = Tree.__new__(Tree); tree.top = tree.rootdir = Path.cwd(); tree.record(healed_outcome()); sys.exit(1)\n"
    ))  # fmt: skip
    script = next(step["run"] for step in ACTION["runs"]["steps"] if step.get("id") == "selfheal")
    script = script.replace("python -m pytest --selfheal", f"{shlex.quote(sys.executable)} leave_run.py")
    script = script.replace("python -", f"{shlex.quote(sys.executable)} -")
    output = tmp_path / "output"
    environment = {**os.environ, "GITHUB_OUTPUT": str(output), "SELFHEAL_ARGS": "", "PYTHONPATH": str(ROOT / "tests")}
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=tree.top, env=environment, check=False)
    assert done.returncode == 1
    values = dict(line.split("=", 1) for line in output.read_text().splitlines())
    assert values["healed"] == "1"
    assert json.loads((Path(values["directory"]) / "report.json").read_bytes())["totals"]["healed"] == 1
    assert healed_outcome().status == "healed"


def test_the_script_for_report_json_runs(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "repo", {"calc.py": BEFORE})
    tree.record(healed_outcome())
    script = next(block for block in blocks("sh") if "json.load" in block).replace(
        "python -", f"{shlex.quote(sys.executable)} -"
    )
    done = subprocess.run(["bash", "-c", script], cwd=tree.top, capture_output=True, text=True, check=True)
    assert done.stdout == "healed healed tests/test_calc.py::test_add patches/0001-test-add.patch\n"


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_the_script_for_any_system_keeps_the_status_and_writes_the_report(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "repo", {"calc.py": BEFORE})
    tree.record(healed_outcome())
    script = next(block for block in blocks("sh") if "selfheal.md" in block)
    # pytest --selfheal runs for real in other tests; here it has just left its run behind, and failed.
    stand = f'pytest() {{ return 1; }}; selfheal() {{ {shlex.quote(sys.executable)} -m pytest_selfheal "$@"; }}\n'
    done = subprocess.run(["bash", "-c", stand + script], cwd=tree.top, check=False)
    assert done.returncode == 1
    assert (tree.top / "selfheal.md").read_text("utf-8").startswith("# Self-heal report")
