"""Who imports whom is read off the sources, and off no source twice."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from project_helpers import workshop_at

from pytest_selfheal.judge import import_map
from pytest_selfheal.judge.affected import AffectedTests
from pytest_selfheal.judge.import_map import ImportMap, Known
from pytest_selfheal.testing import Example

FILES = {
    "top.py": "from . import beside\n",
    "beside.py": "",
    "pkg/__init__.py": "",
    "pkg/low.py": "import os, json\n",
    "pkg/mid.py": "from . import low\nfrom .deep import leaf as l\n",
    "pkg/deep/__init__.py": "",
    "pkg/deep/leaf.py": "def f():\n    from ..low import os\n",
    "odd.py": "import subprocess\n",
    "broken.py": "def f(:\n",
    "test_mid.py": "import pkg.mid\n",
}
IMPORTS = {
    "top.py": {"beside.py"},
    "pkg/mid.py": {"pkg/__init__.py", "pkg/low.py", "pkg/deep/__init__.py", "pkg/deep/leaf.py"},
    "pkg/deep/leaf.py": {"pkg/__init__.py", "pkg/low.py"},
    "test_mid.py": {"pkg/__init__.py", "pkg/mid.py"},
}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The sources that are parsed."""
    found: list[bytes] = []
    parse = import_map.read
    monkeypatch.setattr(import_map, "read", lambda source: (found.append(source), parse(source))[1])
    return found


def imports_of(known: ImportMap) -> dict[str, set[str]]:
    return {name: found for name, found in known.imports.items() if found}


def read_at(top: Path) -> ImportMap:
    known = Known(top / ".selfheal" / "imports.json")
    found = ImportMap.of(top, known)
    known.save()
    return found


def test_what_a_source_imports(tmp_path: Path) -> None:
    Example(FILES, tmp_path)
    found = ImportMap.of(tmp_path)
    assert imports_of(found) == IMPORTS
    assert found.dynamic == {"odd.py", "broken.py"}


def test_only_what_has_changed_is_read_again(tmp_path: Path, reads: list[bytes]) -> None:
    Example(FILES, tmp_path)
    assert imports_of(read_at(tmp_path)) == IMPORTS
    assert {source.decode() for source in reads} == set(FILES.values())
    reads.clear()
    again = read_at(tmp_path)
    assert (imports_of(again), again.dynamic, reads) == (IMPORTS, {"odd.py", "broken.py"}, [])
    (tmp_path / "test_mid.py").write_text("import beside\n")
    (tmp_path / "odd.py").unlink()
    changed = read_at(tmp_path)
    assert imports_of(changed) == {**IMPORTS, "test_mid.py": {"beside.py"}}
    assert changed.dynamic == {"broken.py"}
    assert reads == [b"import beside\n"]
    # The same text elsewhere means another module.
    (tmp_path / "pkg" / "deep" / "mid.py").write_text(FILES["pkg/mid.py"])
    (tmp_path / "pkg" / "deep" / "low.py").write_text("")
    reads.clear()
    assert read_at(tmp_path).imports["pkg/deep/mid.py"] == {
        "pkg/__init__.py",
        "pkg/deep/__init__.py",
        "pkg/deep/low.py",
    }
    assert reads == []


def edited(edit: Callable[[dict[str, object]], object]) -> Callable[[str], str]:
    def damage(text: str) -> str:
        data = json.loads(text)
        edit(data)
        return json.dumps(data)

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:-3],
        lambda text: "[]",
        lambda text: "\udcff",
        lambda text: "[" * 100_000,
        lambda text: text.replace("[[0,", "[[1e999,"),
        edited(lambda data: data.update(format="0.0 3.9")),
        edited(lambda data: data.pop("files")),
        edited(lambda data: data.update(files={"0": 3})),
        edited(lambda data: data.update(files={"0": [False, [3]]})),
    ],
)
def test_a_damaged_store_is_read_anew(tmp_path: Path, reads: list[bytes], damage: Callable[[str], str]) -> None:
    Example(FILES, tmp_path)
    read_at(tmp_path)
    store = tmp_path / ".selfheal" / "imports.json"
    store.write_text(damage(store.read_text()), errors="surrogateescape")
    reads.clear()
    assert imports_of(read_at(tmp_path)) == IMPORTS
    assert {source.decode() for source in reads} == set(FILES.values())


@pytest.mark.parametrize("name", ["imports.json", "coverage.json"])
def test_what_came_with_the_project_says_nothing(tmp_path: Path, reads: list[bytes], name: str) -> None:
    Example(FILES, tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)

    def parsed() -> bool:
        reads.clear()
        with workshop_at(tmp_path, git=True) as workshop:
            tests = AffectedTests(workshop.project, workshop.pristine.top, workshop)
            tests.read()
            tests.close()
        return bool(reads)

    assert parsed()
    assert not parsed()
    (tmp_path / ".selfheal" / name).touch()
    subprocess.run(["git", "add", "-f", f".selfheal/{name}"], cwd=tmp_path, check=True)
    assert parsed()
