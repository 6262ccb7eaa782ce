"""From edits to bytes: functions found by qualified name, the author's formatting and bytes kept."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from pytest_selfheal.propose.model.fingerprint import changes_anything, fingerprint
from pytest_selfheal.propose.model.reply import Reply, Rewrite, Swap, Unusable
from pytest_selfheal.propose.model.resolve import resolve
from pytest_selfheal.propose.model.rewrite import minimise
from pytest_selfheal.types import FileChange

MODULE = '''\
#!/usr/bin/env python
# Licence: none
"""Doc."""
from __future__ import annotations

import os

LIMIT = 10


# about first
def first(x):
    """One."""
    return x + 1


@property
def odd(): return 1


class Box:
    """A box."""

    size = 3

    def __init__(self, items):
        self.items = items

    @property
    def top(self):
        return self.items[0]

    @top.setter
    def top(self, value):
        self.items[0] = value

    @staticmethod
    def fits(n):
        text = """
  kept
"""
        return n < 3 and text

    class Lid:
        def close(self):
            return False


def outer():
    def inner():
        return 1
    return inner
'''


def after(code: str, root: Path, module: str = MODULE, function: str = "", path: str | None = "m.py") -> str:
    (root / "m.py").write_text(module, "utf-8", newline="")
    [change] = resolve(Reply("", "", function, (Rewrite(path, code),)), root, ("m.py",))
    assert change.after is not None
    return change.after.decode()


def lines_changed(text: str, module: str = MODULE) -> tuple[list[str], list[str]]:
    """Lines that went and lines that came."""
    import difflib

    found = list(difflib.ndiff(module.splitlines(), text.splitlines()))
    return [line[2:] for line in found if line[0] == "-"], [line[2:] for line in found if line[0] == "+"]


def test_a_function_keeps_docstring_and_neighbours(tmp_path: Path) -> None:
    text = after("def first(x):\n    return x + 2\n", tmp_path)
    assert lines_changed(text) == (["    return x + 1"], ["    return x + 2"])


def test_a_method_inside_its_class(tmp_path: Path) -> None:
    text = after("class Box:\n    def fits(n):\n        text = ''\n        return n <= self.size\n", tmp_path)
    assert "    @staticmethod\n    def fits(n):\n        text = ''\n        return n <= self.size\n" in text
    assert text.count("def fits") == 1


def test_a_method_without_its_class(tmp_path: Path) -> None:
    text = after("def close(self):\n    return True\n", tmp_path)
    assert lines_changed(text) == (["            return False"], ["            return True"])


def test_a_property_and_its_setter_are_told_apart(tmp_path: Path) -> None:
    text = after("class Box:\n    @property\n    def top(self):\n        return self.items[-1]\n", tmp_path)
    assert lines_changed(text) == (["        return self.items[0]"], ["        return self.items[-1]"])
    with pytest.raises(Unusable, match="could be any"):
        after("class Box:\n    def top(self):\n        return 1\n", tmp_path)


def test_nested_functions(tmp_path: Path) -> None:
    text = after("def inner():\n    return 2\n", tmp_path, function="m.py::outer.<locals>.inner")
    assert lines_changed(text) == (["        return 1"], ["        return 2"])


def test_several_namesakes_need_their_class_or_the_hint(tmp_path: Path) -> None:
    module = "class A:\n    def go(self):\n        return 1\n\n\nclass B:\n    def go(self):\n        return 1\n"
    code = "def go(self):\n    return 2\n"
    with pytest.raises(Unusable, match=r"A\.go, B\.go"):
        after(code, tmp_path, module)
    text = after(code, tmp_path, module, function="B.go")
    assert text == module[::-1].replace("1 nruter", "2 nruter", 1)[::-1]


def test_helpers_and_imports_are_added(tmp_path: Path) -> None:
    code = "import re\nimport os\nimport json\n\ndef helper(x):\n    return re.escape(x)\n\ndef first(x):\n    return helper(x)\n"
    text = after(code, tmp_path)
    went, came = lines_changed(text)
    assert went == ["    return x + 1"]
    assert "import re" in came
    assert "import json" not in came  # nobody uses it
    assert "def helper(x):" in came
    assert "    return helper(x)" in came
    assert text.index("from __future__") < text.index("import re") < text.index("LIMIT")
    assert text.index("def helper") < text.index("# about first")
    compile(text, "m.py", "exec")


def test_a_new_method_lands_in_its_class(tmp_path: Path) -> None:
    text = after("class Box:\n    def empty(self):\n        return not self.items\n", tmp_path)
    assert "\n\n    def empty(self):\n        return not self.items\n" in text
    compile(text, "m.py", "exec")


def test_constants_are_replaced(tmp_path: Path) -> None:
    text = after("LIMIT = 11\n\nclass Box:\n    size = 4\n", tmp_path)
    assert lines_changed(text) == (["LIMIT = 10", "    size = 3"], ["LIMIT = 11", "    size = 4"])


def test_inside_strings_nothing_moves(tmp_path: Path) -> None:
    code = 'def fits(n):\n    text = """\n  kept\n"""\n    return n < 4 and text\n'
    text = after(code, tmp_path, function="Box.fits")
    assert lines_changed(text) == (["        return n < 3 and text"], ["        return n < 4 and text"])


def test_tabs_stay_tabs(tmp_path: Path) -> None:
    module = "class A:\n\tdef go(self, x):\n\t\tif x:\n\t\t\treturn 1\n\t\treturn 0\n"
    text = after("def go(self, x):\n    if x:\n        return 2\n    return 0\n", tmp_path, module)
    assert text == module.replace("return 1", "return 2")


def test_comments_and_layout_of_the_author_survive(tmp_path: Path) -> None:
    module = "def f(a,b):\n    # first\n    x = {'a':a}   # why\n\n    return x['a']+b\n"
    text = after("def f(a, b):\n    x = {\"a\": a}\n    # subtract\n    return x['a'] - b\n", tmp_path, module)
    assert text.replace("    # subtract\n", "") == module.replace("x['a']+b", "x['a'] - b")


def test_minimise_leaves_what_matters() -> None:
    assert minimise("x = 1\n", "x = 2\n") == "x = 2\n"
    assert minimise("s = '''a  \nb'''\n", "s = '''a\nb'''\n") == "s = '''a\nb'''\n"
    assert minimise("x = (\n    1\n)\n", "x = 1\n") == "x = (\n    1\n)\n"
    assert minimise("def f(:\n", "def f():\n    pass\n") == "def f():\n    pass\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_bytes_outside_of_the_change_stay(end: str, final: bool, encoding: str, tmp_path: Path) -> None:
    cookie = "# -*- coding: latin-1 -*-\n" if encoding == "latin-1" else ""
    text = f"{cookie}NAME = 'Käse'\n\n\ndef f(x):\n    return x + 1\n\n\ndef g():\n    return 'é'\n"
    text = text if final else text.rstrip("\n")
    raw = text.replace("\n", end).encode(encoding)
    (tmp_path / "m.py").write_bytes(raw)
    edits = (Rewrite("m.py", "def f(x):\n    return x + 2\n"), Swap("m.py", "    return 'é'", "    return 'è'"))
    [change] = resolve(Reply("", "", "", edits), tmp_path, ("m.py",))
    assert change.before == raw
    assert change.after == raw.replace(b"x + 1", b"x + 2").replace(
        "é".encode(encoding.removesuffix("-sig")), "è".encode(encoding.removesuffix("-sig"))
    )
    assert change.after.startswith(codecs.BOM_UTF8) == (encoding == "utf-8-sig")


def test_mixed_line_ends_stay_mixed(tmp_path: Path) -> None:
    raw = b"a = 1\r\nb = 2\nc = 3\r\n\r\ndef f():\r\n    return 1\r\n"
    (tmp_path / "m.py").write_bytes(raw)
    [change] = resolve(Reply("", "", "", (Rewrite("m.py", "def f():\n    return 2\n"),)), tmp_path, ("m.py",))
    assert change.after == raw.replace(b"return 1", b"return 2")


def test_a_character_that_the_file_cannot_hold(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_bytes("# coding: latin-1\ndef f():\n    return 'é'\n".encode("latin-1"))
    with pytest.raises(Unusable, match="no character"):
        resolve(Reply("", "", "", (Rewrite("m.py", "def f():\n    return '€'\n"),)), tmp_path, ("m.py",))


def test_files_that_do_not_parse(tmp_path: Path) -> None:
    broken = "import os\n\n\ndef f(x)\n    return x\n\n\ndef g():\n    return 1\n"
    (tmp_path / "m.py").write_text(broken)
    swap = Swap("m.py", "def f(x)", "def f(x):")
    for edit in (swap, Rewrite("m.py", broken.replace("f(x)", "f(x):"))):
        [change] = resolve(Reply("", "", "", (edit,)), tmp_path, ("m.py",))
        assert (change.after or b"").decode() == broken.replace("f(x)", "f(x):")
    with pytest.raises(Unusable, match="SEARCH/REPLACE"):
        resolve(Reply("", "", "", (Rewrite("m.py", "def f(x):\n    return x\n"),)), tmp_path, ("m.py",))


def test_new_files_and_other_kinds_of_files(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(MODULE)
    (tmp_path / "data.json").write_text('{"a": 1}\n')
    edits = (Rewrite("pkg/new.py", "def f():\n    return 1"), Swap("data.json", '{"a": 1}', '{"a": 2}'))
    new, data = resolve(Reply("", "", "", edits), tmp_path, ("m.py",))
    assert (new.path, new.before, new.after) == ("pkg/new.py", None, b"def f():\n    return 1\n")
    assert data.after == b'{"a": 2}\n'
    with pytest.raises(Unusable, match="no Python file"):
        resolve(Reply("", "", "", (Rewrite("data.json", "def f(): pass"),)), tmp_path, ("m.py",))


def test_links_out_of_the_project_are_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "m.py").write_text("def f():\n    return 1\n")
    (inside / "link.py").symlink_to(outside / "m.py")
    (inside / "folder").symlink_to(outside)
    for path in ("link.py", "folder/m.py", "folder/new.py"):
        with pytest.raises(Unusable, match="leads out"):
            resolve(Reply("", "", "", (Rewrite(path, "def f():\n    return 2\n"),)), inside, ())


def change(before: str, now: str, path: str = "m.py") -> FileChange:
    return FileChange(path, before.encode(), now.encode())


def test_the_same_patch_by_another_spelling() -> None:
    first = change("x = 1\n", "def f(a):\n    return a + 1\n")
    same = change(
        "x = 1\n", 'def f( a ) :\n    """Doc."""\n    # one\n    return (a + 2 - 1)\n'.replace("2 - 1", "(2 - 1)")
    )
    other = change("x = 1\n", "def f(a):\n    return a - 1\n")
    assert fingerprint([first]) == fingerprint([same])
    assert fingerprint([first]) != fingerprint([other])
    assert fingerprint([first, change("", "y", "z.py")]) == fingerprint([change("", "y", "z.py"), first])


def test_whether_anything_changes() -> None:
    assert not changes_anything([change("x = 1\n", "x  =  1  # one\n")])
    assert not changes_anything([change('def f():\n    "a"\n    pass\n', 'def f():\n    "b"\n    pass\n')])
    assert changes_anything([change("x = 1\n", "x = 1.0\n")])
    assert changes_anything([change("a\n", "b\n", "data.txt")])
    assert changes_anything([FileChange("m.py", None, b"")])
