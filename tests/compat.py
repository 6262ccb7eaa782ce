"""One cell of the compatibility matrix: a small project with one bug, a way to run its tests, and what must come of it."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import pytest

from pytest_selfheal.testing import Example, Result

BUG = "def add(a, b):\n    return a - b\n"
FIXED = r"\+    return (a \+ b|a - -b|b \+ a)\n"
TEST = """\
from calc import add


def test_add():
    assert add(1, 2) == 3
    assert add(5, 0) == 5
    assert add(-1, 4) == 3


def test_nothing():
    assert add(0, 0) == 0
"""
INI = "[pytest]\npythonpath = .\n"
PYTEST = tuple(int(part) for part in version("pytest").split(".")[:2])

Check = Callable[[Result], None]


@dataclass(frozen=True)
class Cell:
    """``needs`` are modules without which the cell is skipped; ``healed`` is the number of causes healed, ``None`` when
    nothing may be healed at all (no run folder)."""

    name: str
    args: tuple[str, ...] = ()
    test: str = TEST
    code: int = 1
    healed: int | None = 1
    ini: str = INI
    files: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    pytest: tuple[int, int] = (8, 2)
    environment: Mapping[str, str] = field(default_factory=dict)
    check: Check | None = None
    git: bool = False
    plugins: tuple[str, ...] = ()
    """Entry point names of the plugins that are loaded; ``("*",)``: all that are installed, as pytest does by itself."""
    fixed: str = FIXED
    """Pattern of a line of the patch."""
    healing: bool = True
    """Give ``--selfheal`` at all."""


def cells(table: list[Cell]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("cell", [pytest.param(cell, id=cell.name) for cell in table])


def run(cell: Cell, folder: Path) -> Result:
    """Run the cell in ``folder`` and hold it to what every run must keep."""
    for module in cell.needs:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if cell.pytest > PYTEST:
        pytest.skip(f"needs pytest {cell.pytest[0]}.{cell.pytest[1]}")
    given = {"calc.py": BUG, "test_calc.py": cell.test, "pytest.ini": cell.ini, **cell.files}
    example = Example({name: content for name, content in given.items() if content}, folder)
    if cell.git:
        example.git()
    before = {name: content for name, content in example.bytes().items() if name.endswith(".py")}
    healing = ("--selfheal", "--selfheal-effort", "fast") if cell.healing else ()
    result = example.run(*_load(cell), *healing, *cell.args, environment=_environment(cell), timeout=600)
    hold(cell, result)
    after = {name: content for name, content in example.bytes().items() if name.endswith(".py")}
    assert after == before, "the working tree was changed"
    if cell.check is not None:
        cell.check(result)
    return result


def _load(cell: Cell) -> list[str]:
    if cell.plugins == ("*",):
        return []
    names = [*(["selfheal"] if cell.healing else []), *cell.plugins]
    return [argument for name in names for argument in ("-p", name)]


def _environment(cell: Cell) -> dict[str, str]:
    # Importing every plugin of this environment in every process would take longer than all the rest.
    off = {} if cell.plugins == ("*",) else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return {**off, **cell.environment}


def hold(cell: Cell, result: Result) -> None:
    printed = result.stdout + result.stderr
    assert "INTERNALERROR" not in printed, printed
    assert "fault of its own" not in printed, printed
    assert result.code == cell.code, printed
    if cell.healed is None:
        assert not (result.folder / ".selfheal").exists(), printed
        return
    report = result.report
    assert report["totals"]["healed"] == cell.healed, printed
    assert report["totals"]["failures"] >= cell.healed
    patches = [path.read_text("utf-8") for path in (result.run_dir / "patches").glob("0*.patch")]
    assert any(re.search(cell.fixed, patch) for patch in patches) == bool(cell.healed), patches
