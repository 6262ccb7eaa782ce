"""Projects that are installed: the copy is what is tested, never the user's own tree; one bug is healed in each."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from layout_helpers import CODE, Environment, healed, needs, suite_for

from pytest_selfheal.testing import Example

PYPROJECT = '[build-system]\nrequires = []\nbuild-backend = "{backend}"\n\n[project]\nname = "sums"\nversion = "1"\n'
SETUPTOOLS = PYPROJECT.format(backend="setuptools.build_meta")


def src(folder: Path, **more: str) -> Example:
    files = {"src/sums/__init__.py": "", "src/sums/calc.py": CODE, "tests/test_calc.py": suite_for("sums.calc")}
    return Example({**files, "pytest.ini": "[pytest]\n", **more}, folder)


def test_src_with_a_pth_file(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    example = src(tmp_path / "p").git()
    (environment.site_packages / "sums.pth").write_text(f"{example.folder / 'src'}\n")
    healed(environment.run(example), example, "src/sums/calc.py")


@pytest.mark.compat
@pytest.mark.parametrize("sandbox", ["auto", "process"])
def test_setuptools_with_a_finder(tmp_path: Path, sandbox: str) -> None:
    needs("setuptools")
    environment = Environment(tmp_path / "env")
    # The folder is not named like the package: setuptools has to install a finder with a mapping.
    tool = '\n[tool.setuptools]\npackages = ["sums"]\n[tool.setuptools.package-dir]\nsums = "lib"\n'
    example = Example(
        {
            "lib/__init__.py": "",
            "lib/calc.py": CODE,
            "tests/test_calc.py": suite_for("sums.calc"),
            "pyproject.toml": SETUPTOOLS + tool,
        },
        tmp_path / "p",
    ).git()
    environment.editable(example.folder, "setuptools.build_meta")
    assert list(environment.site_packages.glob("__editable__*finder.py"))
    healed(environment.run(example, "--selfheal-sandbox", sandbox), example, "lib/calc.py")


@pytest.mark.compat
@pytest.mark.parametrize("sandbox", ["auto", "process"])
def test_setuptools_src(tmp_path: Path, sandbox: str) -> None:
    needs("setuptools")
    environment = Environment(tmp_path / "env")
    example = src(tmp_path / "p", **{"pyproject.toml": SETUPTOOLS}).git()
    environment.editable(example.folder, "setuptools.build_meta")
    healed(environment.run(example, "--selfheal-sandbox", sandbox), example, "src/sums/calc.py")


@pytest.mark.compat
@pytest.mark.parametrize(
    ("backend", "module", "extra"),
    [
        ("hatchling.build", "hatchling", '[tool.hatch.build.targets.wheel]\npackages = ["src/sums"]\n'),
        ("poetry.core.masonry.api", "poetry.core", '[tool.poetry]\npackages = [{include = "sums", from = "src"}]\n'),
        ("flit_core.buildapi", "flit_core", ""),
    ],
    ids=["hatch", "poetry", "flit"],
)
def test_other_backends(tmp_path: Path, backend: str, module: str, extra: str) -> None:
    needs(module)
    environment = Environment(tmp_path / "env")
    init = '"""Sums."""\n\n__version__ = "1"\n'
    described = PYPROJECT.format(backend=backend) + 'description = "Sums"\n' + extra
    example = src(tmp_path / "p", **{"pyproject.toml": described, "src/sums/__init__.py": init}).git()
    environment.editable(example.folder, backend)
    healed(environment.run(example, "--selfheal-sandbox", "process"), example, "src/sums/calc.py")


@pytest.mark.compat
def test_a_loader_in_the_style_of_meson(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    example = src(tmp_path / "p").git()
    package = example.folder / "src" / "sums"
    tree = {"sums": {name: str(package / name) for name in ("__init__.py", "calc.py")}}
    (environment.site_packages / "_sums_editable_loader.py").write_text(
        "import importlib.machinery, importlib.util, sys\n\n\n"
        "class MesonpyMetaFinder:\n"
        "    def __init__(self, tree):\n        self._tree = tree\n\n"
        "    def find_spec(self, fullname, path=None, target=None):\n"
        "        package, _, module = fullname.partition('.')\n"
        "        files = self._tree.get(package)\n"
        "        name = f'{module}.py' if module else '__init__.py'\n"
        "        if files is None or name not in files:\n            return None\n"
        "        locations = None if module else []\n"
        "        return importlib.util.spec_from_file_location(fullname, files[name], submodule_search_locations=locations)\n\n\n"
        f"sys.meta_path.insert(0, MesonpyMetaFinder({tree!r}))\n"
    )
    (environment.site_packages / "sums.pth").write_text("import _sums_editable_loader\n")
    healed(environment.run(example), example, "src/sums/calc.py")


@pytest.mark.compat
def test_an_environment_inside_the_project(tmp_path: Path) -> None:
    example = src(tmp_path / "p", **{".gitignore": ".venv/\n"})
    environment = Environment(example.folder / ".venv")
    example.git()
    (environment.site_packages / "sums.pth").write_text(f"{example.folder / 'src'}\n")
    healed(environment.run(example), example, "src/sums/calc.py")


@pytest.mark.compat
def test_installed_as_a_copy(tmp_path: Path) -> None:
    # The tests run against site-packages: an edit of the tree could not change anything there.
    environment = Environment(tmp_path / "env")
    example = src(tmp_path / "p").git()
    installed = environment.site_packages / "sums"
    installed.mkdir()
    for name in ("__init__.py", "calc.py"):
        (installed / name).write_bytes((example.folder / "src" / "sums" / name).read_bytes())
    result = environment.run(example)
    assert result.report["totals"]["healed"] == 0
    assert (installed / "calc.py").read_text() == CODE


@pytest.mark.compat
def test_a_zipped_dependency(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    with zipfile.ZipFile(tmp_path / "dependency.zip", "w") as archive:
        archive.writestr("constants.py", "ZERO = 0\n")
    (environment.site_packages / "dependency.pth").write_text(f"{tmp_path / 'dependency.zip'}\n")
    code = "from constants import ZERO\n\n\n" + CODE.replace("a - b", "a - b + ZERO")
    example = src(tmp_path / "p", **{"src/sums/calc.py": code, "pytest.ini": "[pytest]\npythonpath = src\n"}).git()
    result = environment.run(example)
    assert result.report["totals"]["healed"] == 1
    assert (example.folder / "src/sums/calc.py").read_text() == code


@pytest.mark.compat
def test_two_packages_in_one_repository(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env")
    second = "from sums.calc import add\n\n\ndef double(n):\n    return add(n, n)\n"
    example = Example(
        {
            "packages/sums/src/sums/__init__.py": "",
            "packages/sums/src/sums/calc.py": CODE,
            "packages/twice/src/twice/__init__.py": second,
            "packages/twice/tests/test_twice.py": (
                "from twice import double\n\n\ndef test_double():\n    assert double(2) == 4\n    assert double(5) == 10\n"
            ),
            "packages/twice/pytest.ini": "[pytest]\n",
            "packages/sums/tests/test_calc.py": suite_for("sums.calc"),
        },
        tmp_path / "p",
    ).git()
    for name in ("sums", "twice"):
        source = example.folder / "packages" / name / "src"
        (environment.site_packages / f"{name}.pth").write_text(f"{source}\n")
    # The fault lies in the other package, outside of rootdir but inside the repository.
    result = environment.run(example, at="packages/twice")
    healed(result, example, "packages/sums/src/sums/calc.py")
    done = subprocess.run(
        ["git", "apply", "--check", *map(str, (result.run_dir / "patches").glob("0*.patch"))], cwd=example.folder
    )
    assert done.returncode == 0


@pytest.mark.compat
@pytest.mark.parametrize("sandbox", ["auto", "process"])
def test_site_packages_that_cannot_be_written(tmp_path: Path, sandbox: str) -> None:
    # A mount, since permissions are nothing to root.
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    environment = Environment(tmp_path / "env")
    example = src(tmp_path / "p", **{".gitignore": "__pycache__/\n"}).git()
    (environment.site_packages / "sums.pth").write_text(f"{example.folder / 'src'}\n")
    installed = str(environment.site_packages)
    mount = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", installed, installed, "--"]
    if subprocess.run([*mount, "true"], capture_output=True).returncode:
        pytest.skip("this system does not allow mounts")
    writing = [*mount, "touch", str(environment.site_packages / "anything")]
    assert subprocess.run(writing, capture_output=True).returncode != 0
    result = environment.run(example, "--selfheal-sandbox", sandbox, prefix=mount)
    healed(result, example, "src/sums/calc.py")
