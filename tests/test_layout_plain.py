"""Projects that are not installed, in all the shapes that they come in: one bug is healed in each."""

from __future__ import annotations

from pathlib import Path

import pytest
from layout_helpers import CODE, FAST, healed, suite_for

from pytest_selfheal.testing import Example, Result

INI = "[pytest]\npythonpath = .\n"


def run(example: Example, *arguments: str, at: str = "") -> Result:
    where = Example({}, example.folder / at)
    result = where.run(*FAST, *arguments, environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, timeout=300)
    printed = result.stdout + result.stderr
    assert "INTERNALERROR" not in printed, printed
    assert result.code == 1, printed
    return result


LAYOUTS: dict[str, tuple[dict[str, str], str]] = {
    "flat": ({"calc.py": CODE, "test_calc.py": suite_for("calc")}, "calc.py"),
    "tests in a folder": ({"calc.py": CODE, "tests/test_calc.py": suite_for("calc")}, "calc.py"),
    "tests in a package": (
        {
            "sums/__init__.py": "",
            "sums/calc.py": CODE,
            "tests/__init__.py": "",
            "tests/test_calc.py": suite_for("sums.calc"),
        },
        "sums/calc.py",
    ),
    "tests inside the package": (
        {
            "sums/__init__.py": "",
            "sums/calc.py": CODE,
            "sums/tests/__init__.py": "",
            "sums/tests/test_calc.py": suite_for("sums.calc"),
        },
        "sums/calc.py",
    ),
    "src and pythonpath": (
        {
            "src/sums/__init__.py": "",
            "src/sums/calc.py": CODE,
            "tests/test_calc.py": suite_for("sums.calc"),
            "pytest.ini": "[pytest]\npythonpath = src\n",
        },
        "src/sums/calc.py",
    ),
    "namespace package": (
        {"corp/sums/calc.py": CODE, "tests/test_calc.py": suite_for("corp.sums.calc"), "pytest.ini": INI},
        "corp/sums/calc.py",
    ),
    "importlib mode, test files of one name": (
        {
            "calc.py": CODE,
            "tests/one/test_calc.py": suite_for("calc"),
            "tests/two/test_calc.py": "def test_other():\n    pass\n",
            "pytest.ini": INI + "addopts = --import-mode=importlib\n",
        },
        "calc.py",
    ),
    "conftest changes the path": (
        {
            "lib/calc.py": CODE,
            "tests/conftest.py": "import pathlib, sys\n\nsys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'lib'))\n",
            "tests/test_calc.py": suite_for("calc"),
        },
        "lib/calc.py",
    ),
    "a plugin in the project": (
        {
            "calc.py": CODE,
            "helping.py": "import pytest\n\n\n@pytest.fixture\ndef three():\n    return 3\n",
            "conftest.py": "pytest_plugins = ['helping']\n",
            "test_calc.py": "from calc import add\n\n\ndef test_add(three):\n    assert add(1, 2) == three\n    assert add(-1, 4) == three\n",
            "pytest.ini": INI,
        },
        "calc.py",
    ),
    "relative imports": (
        {
            "sums/__init__.py": "from .calc import add\n",
            "sums/calc.py": CODE,
            "tests/test_calc.py": suite_for("sums"),
            "pytest.ini": INI,
        },
        "sums/calc.py",
    ),
    "a script beside it": (
        {"calc.py": CODE, "run.py": "import calc\n\nprint(calc.add(1, 1))\n", "test_calc.py": suite_for("calc")},
        "calc.py",
    ),
}
FEW = ("src and pythonpath", "namespace package")
"""The rest belongs to the matrix."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else pytest.mark.compat) for name in LAYOUTS]
)
def test_layout(tmp_path: Path, name: str) -> None:
    files, faulty = LAYOUTS[name]
    example = Example(files, tmp_path).git()
    healed(run(example), example, faulty)


@pytest.mark.parametrize("folder", ["with space", "[b]rackets", "ünï-cödé", "per%cent", "it's", "semi;colon"])
@pytest.mark.compat
def test_paths_with_odd_characters(tmp_path: Path, folder: str) -> None:
    example = Example({"calc.py": CODE, "test_calc.py": suite_for("calc"), "pytest.ini": INI}, tmp_path / folder).git()
    # Named, since pytest itself does not take a folder with a bracket.
    healed(run(example, "test_calc.py"), example, "calc.py")


@pytest.mark.compat
@pytest.mark.parametrize("folder", ["with space", "[b]rackets", "ünï-cödé"])
def test_odd_characters_below_rootdir(tmp_path: Path, folder: str) -> None:
    files = {"calc.py": CODE, f"tests/{folder}/test_calc.py": suite_for("calc"), "pytest.ini": INI}
    example = Example(files, tmp_path).git()
    healed(run(example), example, "calc.py")


@pytest.mark.compat
def test_rootdir_below_the_git_root(tmp_path: Path) -> None:
    files = {
        "services/one/calc.py": CODE,
        "services/one/test_calc.py": suite_for("calc"),
        "services/one/pytest.ini": INI,
    }
    example = Example(files, tmp_path).git()
    healed(run(example, at="services/one"), example, "services/one/calc.py")


@pytest.mark.compat
def test_started_from_a_sub_folder(tmp_path: Path) -> None:
    example = Example({"calc.py": CODE, "tests/test_calc.py": suite_for("calc"), "pytest.ini": INI}, tmp_path).git()
    where = Example({}, example.folder / "tests")
    result = where.run(*FAST, environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, timeout=300)
    assert result.code == 1, result.stdout + result.stderr
    healed(Result(result.code, result.stdout, result.stderr, example.folder), example, "calc.py")


@pytest.mark.compat
def test_a_generated_module_that_git_ignores(tmp_path: Path) -> None:
    files = {
        "sums/__init__.py": "from sums._version import VERSION\n",
        "sums/calc.py": CODE,
        "sums/_version.py": "VERSION = '1'\n",
        ".gitignore": "_version.py\n",
        "tests/test_calc.py": suite_for("sums.calc"),
        "pytest.ini": INI,
    }
    example = Example(files, tmp_path).git()
    healed(run(example), example, "sums/calc.py")


@pytest.mark.compat
def test_reached_by_a_symlink(tmp_path: Path) -> None:
    example = Example({"calc.py": CODE, "test_calc.py": suite_for("calc"), "pytest.ini": INI}, tmp_path / "real").git()
    (tmp_path / "link").symlink_to("real")
    linked = Example({}, tmp_path / "link")
    healed(run(linked), example, "calc.py")


@pytest.mark.compat
def test_a_symlinked_package(tmp_path: Path) -> None:
    files = {"vendor/sums/__init__.py": "", "vendor/sums/calc.py": CODE, "test_calc.py": suite_for("sums.calc")}
    example = Example({**files, "pytest.ini": INI}, tmp_path)
    (tmp_path / "sums").symlink_to(Path("vendor") / "sums")
    example.git()
    healed(run(example), example, "vendor/sums/calc.py")


@pytest.mark.compat
def test_without_git_among_litter(tmp_path: Path) -> None:
    files = {
        "calc.py": CODE,
        "test_calc.py": suite_for("calc"),
        "pytest.ini": INI,
        "node_modules/x/test_js.py": "raise SystemExit\n",
        "build/lib/calc.py": CODE,
        "__pycache__/junk.py": "",
    }
    example = Example(files, tmp_path)
    healed(run(example, "--selfheal-sandbox", "process"), example, "calc.py")
