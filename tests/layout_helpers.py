"""Environments in which a project is installed as its build backend would do it (PEP 660), without pip and without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_selfheal.testing import Example, Result

CODE = "def add(a, b):\n    return a - b\n"
FIXED = re.compile(r"\+    return (a \+ b|a - -b|b \+ a)\n")
FAST = ("--selfheal", "--selfheal-effort", "fast", "-p", "selfheal")


def suite_for(module: str) -> str:
    return (
        f"from {module} import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert add(5, 0) == 5\n"
        "    assert add(-1, 4) == 3\n\n\ndef test_nothing():\n    assert add(0, 0) == 0\n"
    )


class Environment:
    """A virtual environment of its own that also sees the packages of this one."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=os.name != "nt")
        self.python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        paths = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
        self.site_packages = Path(paths["purelib"])
        mine = dict.fromkeys(path for path in sys.path if path.endswith("site-packages"))
        import pytest_selfheal

        mine[str(Path(pytest_selfheal.__file__).parent.parent)] = None
        (self.site_packages / "zz_lent.pth").write_text("\n".join(mine) + "\n")

    def editable(self, project: Path, backend: str) -> None:
        """Install ``project`` as ``pip install -e`` would, by the backend's own hook."""
        wheels = self.site_packages.parent / "wheels"
        wheels.mkdir(exist_ok=True)
        code = f"import {backend} as b, sys; print(b.build_editable(sys.argv[1]))"
        done = subprocess.run([sys.executable, "-c", code, str(wheels)], cwd=project, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        for wheel in wheels.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(self.site_packages)

    def run(
        self,
        example: Example,
        *arguments: str,
        at: str = "",
        code: int = 1,
        plain: bool = True,
        prefix: Sequence[str] = (),
    ) -> Result:
        """``pytest`` itself (no current folder on the path) unless ``plain`` is false; ``prefix``: a command that starts it."""
        start = [
            "-c",
            "import sys, pytest; sys.path.pop(0) if sys.path[0] == '' else None; sys.exit(pytest.console_main())",
        ]
        python = [*prefix, str(self.python), *(start if plain else ["-m", "pytest"])]
        where = Example({}, example.folder / at)
        result = where.run(
            *FAST, *arguments, python=python, environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, timeout=300
        )
        printed = result.stdout + result.stderr
        assert "INTERNALERROR" not in printed, printed
        assert result.code == code, printed
        return result


def healed(result: Result, example: Example, path: str, before: bytes = CODE.encode(), count: int = 1) -> None:
    """One cause healed; the patch, applied from the top, repairs ``path`` and nothing else."""
    printed = result.stdout + result.stderr
    assert result.report["totals"]["healed"] == count, printed
    texts = [patch.read_text("utf-8") for patch in (result.run_dir / "patches").glob("0*.patch")]
    assert any(f"b/{path}" in text and FIXED.search(text) for text in texts), texts or printed
    assert (example.folder / path).read_bytes() == before


def needs(module: str) -> None:
    pytest.importorskip(module, reason=f"the build backend {module} is not installed")
