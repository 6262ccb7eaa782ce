"""What our own installation brings along costs a child nothing: modules as installed, plugins only where a project uses them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from project_helpers import workshop_at

from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.unused import LARGEST
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


OTHERS = tuple(word for name in ("asyncio", "hypothesispytest", "pytest_cov", "xdist") for word in ("-p", f"no:{name}"))


def test_what_the_plugin_imports_of_the_standard_library_is_there_all_the_same(tmp_path: Path) -> None:
    relies = "import concurrent\n\n\ndef test_relies():\n    assert concurrent.futures.Future\n"
    Example({"test_it.py": relies, "pytest.ini": "[pytest]\n"}, tmp_path)
    with workshop_at(tmp_path, fixtures=frozenset(), pytest_args=OTHERS) as workshop:
        assert workshop.unused == ("anyio",)
        run = run_tests(workshop, workshop.pristine, ["test_it.py::test_relies"])
    assert run.outcomes == {"test_it.py::test_relies": "passed"}


@pytest.mark.parametrize("kind", ["pipe", "link outside", "large"])
def test_a_file_that_nobody_reads_may_name_the_plugin(tmp_path: Path, kind: str) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside.txt"
    project.mkdir()
    if kind == "large":
        with (project / "dump.txt").open("wb") as dump:
            dump.truncate(LARGEST + 1)
    else:
        if kind == "pipe":
            os.mkfifo(outside)
        else:
            outside.write_text("nothing")
        (project / "log.txt").symlink_to(outside)
    assert is_loaded(project, {})


def test_a_link_to_a_file_of_the_project_is_no_reason(tmp_path: Path) -> None:
    (tmp_path / "readme.md").symlink_to("calc.py")
    assert not is_loaded(tmp_path, {"calc.py": ADDS})


def test_items_of_another_kind_have_no_fixtures(tmp_path: Path) -> None:
    conftest = (
        "import pytest\n\n\nclass Odd(pytest.Item):\n    fixturenames = None\n\n    def runtest(self):\n        pass\n\n\n"
        "class Odds(pytest.File):\n    def collect(self):\n        yield Odd.from_parent(self, name='odd')\n\n\n"
        "def pytest_collect_file(file_path, parent):\n"
        "    return Odds.from_parent(parent, path=file_path) if file_path.suffix == '.odd' else None\n"
    )
    tests = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert add(-1, 4) == 3\n"
    files = {"conftest.py": conftest, "one.odd": "", "calc.py": ADDS, "test_calc.py": tests}
    result = Example(files, tmp_path).run("--selfheal")
    assert [failure["status"] for failure in result.report["failures"]] == ["healed"], result.stdout


def test_a_child_compiles_none_of_our_modules(tmp_path: Path) -> None:
    loaders = (
        "import sys\n\n\ndef test_fails():\n    assert False\n\n\ndef test_loaders():\n"
        "    ours = {n: m for n, m in sys.modules.items() if n.startswith('pytest_selfheal')}\n"
        "    assert {n for n, m in ours.items() if type(m.__loader__).__name__ != 'SourceFileLoader'} == set()\n"
    )
    early = "import pytest\n\npytest.register_assert_rewrite('pytest_selfheal')\n"
    Example({"test_it.py": loaders, "early.py": early, "pytest.ini": "[pytest]\n"}, tmp_path)
    with workshop_at(tmp_path, pytest_args=("-p", "early"), import_roots=(tmp_path.resolve(),)) as workshop:
        run = run_tests(workshop, workshop.pristine, ["test_it.py"])
    assert run.outcomes == {"test_it.py::test_fails": "failed", "test_it.py::test_loaders": "passed"}, run.failures


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
