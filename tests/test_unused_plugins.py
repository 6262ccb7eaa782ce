"""What our own installation brings along costs a child nothing: modules as installed, plugins only where a project uses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from project_helpers import workshop_at

from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.testing import Example

# Never names the plugin in one piece: then it would be one that the project names.
ASKS = "def test_loaded(pytestconfig):\n    assert pytestconfig.pluginmanager.hasplugin('any' 'io')\n"
USES = """\
import pytest


@pytest.fixture
def backend({fixture}):
    return {fixture}
"""
ADDS = "def add(a, b):\n    return a - b\n"
WITH_BACKEND = "from calc import add\n\n\ndef test_add(backend):\n    assert backend and add(1, 2) == 3\n"


def is_loaded(folder: Path, files: dict[str, str], **facts: Any) -> bool:
    Example({"test_it.py": ASKS, "pytest.ini": "[pytest]\n", **files}, folder)
    with workshop_at(folder, **{"fixtures": frozenset({"pytestconfig"}), **facts}) as workshop:
        return run_tests(workshop, workshop.pristine, ["test_it.py::test_loaded"]).outcomes == {
            "test_it.py::test_loaded": "passed"
        }


def test_a_plugin_that_nobody_names_or_uses_is_not_loaded(tmp_path: Path) -> None:
    assert not is_loaded(tmp_path, {"calc.py": ADDS})


@pytest.mark.parametrize(
    "files",
    [
        {"conftest.py": "import pytest\n\n\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"},
        {"sub/test_other.py": "import pytest\n\n\n@pytest.mark.anyio\nasync def test_other():\n    pass\n"},
        {"pytest.ini": "[pytest]\nanyio_mode = auto\n"},
        {"pytest.ini": "[pytest]\nrequired_plugins = anyio\n"},
        {"guide.rst": ">>> getfixture('free_tcp_port') > 0\nTrue\n"},
    ],
    ids=["conftest", "another test", "its own option", "required", "doctest"],
)
def test_a_plugin_that_a_file_names_is_loaded(tmp_path: Path, files: dict[str, str]) -> None:
    assert is_loaded(tmp_path, files)


@pytest.mark.parametrize(
    "facts",
    [
        {"fixtures": frozenset({"anyio_backend"})},
        {"fixtures": None},
        {"pytest_args": ("-p", "anyio")},
    ],
    ids=["used by a fixture of another plugin", "tests unknown", "asked for"],
)
def test_a_plugin_that_a_test_or_an_option_uses_is_loaded(tmp_path: Path, facts: dict[str, Any]) -> None:
    assert is_loaded(tmp_path, {}, **facts)


@pytest.mark.parametrize("fixture", ["anyio_backend", "free_tcp_port"])
@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_what_only_another_plugin_s_fixture_uses_stays(tmp_path: Path, fixture: str, options: tuple[str, ...]) -> None:
    # The other plugin is no file of the project, so that its fixtures alone tell.
    Example({"helping.py": USES.format(fixture=fixture)}, tmp_path / "elsewhere")
    project = Example({"calc.py": ADDS, "test_calc.py": WITH_BACKEND}, tmp_path / "project")
    result = project.run(
        "--selfheal", "-p", "helping", *options, environment={"PYTHONPATH": str(tmp_path / "elsewhere")}
    )
    assert [failure["status"] for failure in result.report["failures"]] == ["healed"], result.stdout


def test_our_modules_are_not_compiled_for_every_process(tmp_path: Path) -> None:
    # Of an installed plugin, pytest rewrites all modules: here as if this package were one.
    loaders = (
        "import sys\n\n\ndef test_loaders():\n"
        "    ours = {n: m for n, m in sys.modules.items() if n.startswith('pytest_selfheal.session')}\n"
        "    assert {type(m.__loader__).__name__ for m in ours.values()} == {'SourceFileLoader'}\n"
    )
    files = {"test_it.py": loaders, "early.py": "import pytest\n\npytest.register_assert_rewrite('pytest_selfheal')\n"}
    result = Example(files, tmp_path).run(
        "-p", "early", "-p", "no:asyncio", "--selfheal", "-W", "error", environment={"PYTHONPATH": str(tmp_path)}
    )
    assert result.code == 0, result.stdout + result.stderr
