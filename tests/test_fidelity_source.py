"""Source files of every kind: the patch changes the faulty bytes and no others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_selfheal.testing import Example, Result

TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert add(5, 0) == 5\n    assert add(-1, 4) == 3\n"
FAST = ("--selfheal", "--selfheal-effort", "fast", "-p", "selfheal", "-p", "no:cacheprovider")
CODE = b"def add(a, b):\n    return a - b\n"


def run(folder: Path, code: bytes, **more: bytes) -> tuple[Example, Result]:
    files: dict[str, str | bytes] = {"calc.py": code, "test_calc.py": TEST, "pytest.ini": "[pytest]\npythonpath = .\n"}
    example = Example({**files, **more}, folder).git()
    result = example.run(*FAST, environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, timeout=600)
    assert "INTERNALERROR" not in result.stdout + result.stderr
    assert result.code in (1, 2), result.stdout + result.stderr
    return example, result


def only_the_fault_changed(example: Example, result: Result, code: bytes) -> None:
    """``git apply`` of the patch changes the one faulty expression; every other byte stays."""
    assert result.report["totals"]["healed"] == 1, result.stdout + result.stderr
    [patch] = (result.run_dir / "patches").glob("0*.patch")
    subprocess.run(["git", "apply", str(patch)], cwd=example.folder, check=True)
    after = (example.folder / "calc.py").read_bytes()
    head, _, tail = code.partition(b"a - b")
    assert after.startswith(head), after
    assert after.endswith(tail), after
    assert after[len(head) : len(after) - len(tail)] in (b"a + b", b"a - -b", b"b + a")


SOURCES = {
    "20,000 lines": b"".join(b"X%d = %d\n" % (n, n) for n in range(20_000)) + b"\n\n" + CODE,
    "a comment in koi8-r": "# coding: koi8-r\n# сумма\n".encode("koi8-r") + CODE,
    "shift_jis": "# -*- coding: shift_jis -*-\nNAME = '和'\n\n\n".encode("shift_jis") + CODE,
    "coding on the second line": "#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\nSIGN = '€'\n\n\n".encode(
        "cp1252"
    )
    + CODE,
    "bom and crlf": b"\xef\xbb\xbf" + CODE.replace(b"\n", b"\r\n"),
    "crlf without a final newline": CODE.replace(b"\n", b"\r\n").rstrip(b"\r\n"),
    "trailing blanks": CODE.replace(b"b\n", b"b   \n") + b"\n\n   \n",
    "tabs and blanks": b"def add(a, b):\n\tif a:\n\t\tpass\n\treturn a - b\n\n\ndef other():\n    return 1\n",
    "continued lines": b"def add(a,\\\n        b):\n    return (  # why\n        a - b\n    )\n",
    "semicolons": b"def add(a, b): c = 1; return a - b\n",
    "f-strings": b"def add(a, b):\n    f'{a!r:>{10}} {b:{\"x\"}}'\n    return a - b\n",
    "match": b"def add(a, b):\n    match (a, b):\n        case (0, 0):\n            return 0\n        case [_, _]:\n            return a - b\n",
    "walrus and positional only": b"def add(a, b, /):\n    if (n := a) or n == 0:\n        return a - b\n",
    "decorators and annotations": (
        b"import functools\n\n\n@functools.wraps(len)\ndef keep(): ...\n\n\ndef add(a: 'int', b: \"int\") -> int:\n    return a - b\n"
    ),
    "control characters in a text": b"SEPARATOR = '\x1f'\n\n\n" + CODE,
    "form feed and vertical tab": b"X = 1\n\x0c\nY = '\x0b'\n\n\n" + CODE,
    "line separators inside a text": "X = '\u2028\x85'\n\n\n".encode() + CODE,
}
NEWER = {
    "nested quotes in f-strings": ((3, 12), b"def add(a, b):\n    f'{'x' + f'{a}'}'\n    return a - b\n"),
    "type parameters": ((3, 12), b"type Number = int\n\n\ndef add[T: int](a: T, b: T) -> Number:\n    return a - b\n"),
    "exception groups": (
        (3, 11),
        b"def add(a, b):\n    try:\n        return a - b\n    except* ValueError:\n        pass\n",
    ),
    "defaults of type parameters": ((3, 13), b"def add[T = int](a: T, b: T) -> T:\n    return a - b\n"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "shift_jis" else pytest.mark.compat) for name in SOURCES]
)
def test_fidelity(tmp_path: Path, name: str) -> None:
    only_the_fault_changed(*run(tmp_path, SOURCES[name]), SOURCES[name])


@pytest.mark.compat
@pytest.mark.parametrize("name", NEWER)
def test_newer_grammar(tmp_path: Path, name: str) -> None:
    version, code = NEWER[name]
    if sys.version_info < version:
        pytest.skip(f"needs Python {version[0]}.{version[1]}")
    if name == "exception groups":
        code = code.replace(b"        return a - b\n", b"        c = a - b\n") + b"    return c\n"
        # `return` is not allowed inside except*, nor needed in the try.
    only_the_fault_changed(*run(tmp_path, code), code)


@pytest.mark.compat
def test_leftovers_of_python_2_elsewhere(tmp_path: Path) -> None:
    example, result = run(tmp_path, CODE, **{"scripts/old.py": b"print 'hello'\nexec code in scope\n"})
    only_the_fault_changed(example, result, CODE)


@pytest.mark.compat
def test_a_file_that_is_no_text_is_reported(tmp_path: Path) -> None:
    example, result = run(tmp_path, b"\xff\xfe\x00d\x00e\x00f\x00")
    assert result.report["totals"]["healed"] == 0
    assert (example.folder / "calc.py").read_bytes() == b"\xff\xfe\x00d\x00e\x00f\x00"
