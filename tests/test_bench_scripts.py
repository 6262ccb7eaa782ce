"""The bundled broken scripts: each really fails, and one small edit gives its expected output."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_selfheal.bench import suites

FOLDER = suites.BUNDLED / "scripts"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))

# What a person would change: (script, from, to).
MENDED = {
    "attribute_error": (".titlecase()", ".title()"),
    "dict_mutation": ("for name in stock:", "for name in list(stock):"),
    "encoding_error": ('encode("ascii")', 'encode("ascii", "ignore")'),
    "endless_loop": ("3 * number - 1", "3 * number + 1"),
    "file_not_found": ("file_not_found.txt", "file_not_found.csv"),
    "index_error": ("range(len(readings))", "range(len(readings) - 1)"),
    "key_error": ("counts[word] += 1", "counts[word] = counts.get(word, 0) + 1"),
    "logic_error": ("!= 0 and year % 400", "!= 0 or year % 400"),
    "missing_import": ("from dataclasses", "import math\nfrom dataclasses"),
    "none_error": ('return line.partition(": ")[2]', 'return line.partition(": ")[2] if line else "nothing"'),
    "off_by_one": ("range(1, per_row)", "range(1, per_row + 1)"),
    "recursion_error": ("depth(nest) for", "depth(part) for"),
    "string_format": (".format(name)", ".format(name, price)"),
    "syntax_error": ("hour < 18\n", "hour < 18:\n"),
    "tricky_default": ("table=[]):\n", "table=None):\n    table = [] if table is None else table\n"),
    "type_error": ('"parcels: " + total', '"parcels: " + str(total)'),
    "unbound_local": ("    lowest = limit\n", "    lowest = limit\n    best = None\n"),
    "value_error": ('sheet.split(",")', 'sheet.split(",") if entry'),
    "wrong_return": ("return failed, passed", "return passed, failed"),
    "zero_division": ("/ len(ratings)", "/ (len(ratings) or 1)"),
}


def run(folder: Path, name: str) -> subprocess.CompletedProcess[bytes] | None:
    try:
        return subprocess.run([sys.executable, f"{name}.py"], cwd=folder, capture_output=True, timeout=2, check=False)
    except subprocess.TimeoutExpired:
        return None


def test_one_script_for_each_of_the_twenty_kinds() -> None:
    assert sorted(MENDED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_broken_and_one_edit_mends_it(name: str, tmp_path: Path) -> None:
    for path in FOLDER.glob(f"{name}.*"):
        shutil.copy(path, tmp_path)
    expected = (FOLDER / f"{name}.expected").read_bytes()
    broken = run(tmp_path, name)
    assert broken is None or broken.returncode != 0 or broken.stdout != expected
    before, after = MENDED[name]
    script = tmp_path / f"{name}.py"
    source = script.read_text(encoding="utf-8")
    assert source.count(before) == 1
    script.write_text(source.replace(before, after), encoding="utf-8")
    mended = run(tmp_path, name)
    assert mended is not None and mended.returncode == 0, mended
    assert mended.stdout.replace(b"\r\n", b"\n") == expected
