"""Replies as models write them: each with the right reading, none with a crash, none that touches the tree."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_helpers import FIXED, PROJECT, cause

from pytest_selfheal.propose.model.reply import Unusable, read
from pytest_selfheal.propose.model.resolve import resolve

SHOWN = ("shop/cart.py",)
GOOD_LINE = "    return math.ceil(net * (100 + rate) / 100)"
FUNCTION = f"def gross(net, rate=RATE):\n{GOOD_LINE}"
WHOLE = f'def gross(net, rate=RATE):\n    """Price with tax, rounded up to a whole cent."""\n{GOOD_LINE}'
EXPECTED = str(PROJECT["shop/cart.py"]).replace("100 - rate", "100 + rate")
SWAP = f"<<<<<<< SEARCH\n    return math.ceil(net * (100 - rate) / 100)\n=======\n{GOOD_LINE}\n>>>>>>> REPLACE"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replies")
    cause(folder)
    return folder


def outcome(text: str, root: Path) -> str:
    """The file after the reply, or why there is none."""
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    try:
        changes = resolve(read(text), root, SHOWN)
    except Unusable as error:
        assert str(error)
        assert "\n" not in str(error)
        return f"unusable: {error}"
    finally:
        assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    assert all(change.before is None or change.before == (root / change.path).read_bytes() for change in changes)
    [change] = changes
    assert change.after is not None
    return change.after.decode()


# --- forms that all mean the same ---------------------------------------------------------------------------------------

HEADS = {
    "full": "DIAGNOSIS: the sign is wrong.\nKIND: logic\nFUNCTION: shop/cart.py::gross\n\n",
    "bold": "**DIAGNOSIS:** the sign is wrong.\n**KIND:** logic\n**FUNCTION:** `shop/cart.py::gross`\n\n",
    "prose": "Sure! The function subtracts the tax. Here is the corrected code:\n\n",
    "none": "",
    "thinking": "<think>maybe\n```python\ndef gross(net): return 0\n```\nno</think>\nDIAGNOSIS: the sign is wrong.\n\n",
}
PLACES = {
    "comment": ("", "# FILE: shop/cart.py\n"),
    "lower": ("", "# file: shop/cart.py\n"),
    "bare": ("", "# shop/cart.py\n"),
    "above": ("shop/cart.py\n", ""),
    "bold": ("**shop/cart.py**\n", ""),
    "heading": ("### `shop/cart.py`:\n", ""),
    "windows": ("", "# FILE: shop\\cart.py\n"),
    "dotted": ("", "# FILE: ./shop/cart.py\n"),
    "name only": ("", "# FILE: cart.py\n"),
    "nowhere": ("", ""),
}
CODES = {
    "function": FUNCTION,
    "docstring": WHOLE,
    "comment": f"# the tax is added\n{FUNCTION}  # was a minus",
    "imports": f"import math\n\n{FUNCTION}",
    "own import": f"import math\nfrom shop.cart import RATE\n\n\n{FUNCTION}",
    "constant": f"RATE = 19\n\n\n{FUNCTION}",
    "example": f"{FUNCTION}\n\n\nprint(gross(100))\nassert gross(100) == 119",
    "main": f'{FUNCTION}\n\n\nif __name__ == "__main__":\n    print(gross(100))',
    "indented": "\n".join("    " + line for line in WHOLE.split("\n")),
    "tabs": WHOLE.replace("    ", "\t"),
    "numbered": "\n".join(f"{n:3} | {line}" for n, line in enumerate(WHOLE.split("\n"), 8)),
    "numbered plainly": "\n".join(f"{n}: {line}" for n, line in enumerate(WHOLE.split("\n"), 8)),
    "doctest": "\n".join((">>> " if n == 0 else "... ") + line for n, line in enumerate(WHOLE.split("\n"))),
    "blank lines": f"\n\n{WHOLE}\n\n\n",
    "trailing blanks": WHOLE.replace("\n", "   \n"),
}
FENCES = {
    "python": ("```python\n", "\n```"),
    "py": ("```py\n", "\n```\n\nThis should do."),
    "plain": ("```\n", "\n```"),
    "tilde": ("~~~python\n", "\n~~~"),
    "long": ("````python\n", "\n````"),
    "unclosed": ("```python\n", ""),
    "spaced": ("``` python \n", "\n```  "),
}


def _variants() -> list[tuple[str, str]]:
    found = []
    for (h, head), (p, place), (c, code) in itertools.product(HEADS.items(), PLACES.items(), CODES.items()):
        fence = list(FENCES)[(len(found) * 5) % len(FENCES)]
        opening, closing = FENCES[fence]
        found.append((f"{h}/{p}/{c}/{fence}", f"{head}{place[0]}{opening}{place[1]}{code}{closing}"))
    for name, (opening, closing) in FENCES.items():
        found.append((f"crlf/{name}", f"{HEADS['full']}{opening}{FUNCTION}{closing}".replace("\n", "\r\n")))
    return found


VARIANTS = _variants()


@pytest.mark.parametrize(
    "form", [*sorted({name.split("/")[2] for name, _ in VARIANTS if name.count("/") == 3}), "crlf"]
)
def test_many_ways_to_say_the_same(form: str, root: Path) -> None:
    chosen = [(name, text) for name, text in VARIANTS if form in name.split("/")]
    assert chosen
    wrong = [name for name, text in chosen if outcome(text, root) != EXPECTED and form not in ("tabs", "comment")]
    assert wrong == []
    for name, text in chosen:
        if form in ("tabs", "comment"):
            found = outcome(text, root)
            assert "(100 + rate)" in found, name
            assert found.count("def gross") == 1


@pytest.mark.parametrize(
    "text",
    [
        f"DIAGNOSIS: the sign\nis wrong.\nKIND: logic\nFUNCTION: gross\n```python\n{FUNCTION}\n```",
        f"```python\n# FILE: shop/cart.py\n# DIAGNOSIS: the sign\n#   is wrong.\n# KIND: logic\n# FUNCTION: gross\n{FUNCTION}\n```",
        f"```python\n# DIAGNOSIS: the sign is wrong.\n{FUNCTION}\n```\nKIND: logic\nFUNCTION: gross",
        f"```python\n# KIND: logic\n# FUNCTION: gross\n# DIAGNOSIS: the sign is wrong.\n# FILE: shop/cart.py\n{FUNCTION}\n```",
    ],
)
def test_what_is_said_beside_the_code(text: str, root: Path) -> None:
    reply = read(text)
    assert (reply.diagnosis, reply.kind, reply.function) == ("the sign is wrong.", "logic", "gross")
    assert outcome(text, root) == EXPECTED


def test_the_corpus_is_large() -> None:
    assert len(VARIANTS) + len(ODD) + len(MEANT) >= 300


# --- other ways to mean it -------------------------------------------------------------------------------------------

DIFF = """\
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -1,99 +7,3 @@ wrong numbers
 def gross(net, rate=RATE):
     \"\"\"Price with tax, rounded up to a whole cent.\"\"\"
-    return math.ceil(net * (100 - rate) / 100)
+    return math.ceil(net * (100 + rate) / 100)
"""


def as_json(**edit: str) -> str:
    blank = {"path": "", "code": "", "search": "", "replace": ""}
    return json.dumps({"diagnosis": "d", "kind": "logic", "function": "gross", "edits": [{**blank, **edit}]})


MEANT = {
    "swap in a fence": f"```python\n# FILE: shop/cart.py\n{SWAP}\n```",
    "swap without a fence": f"shop/cart.py\n{SWAP}",
    "swap with a fence inside": f"shop/cart.py\n```python\n{SWAP}\n```",
    "swap without a path": SWAP,
    "swap in lost indentation": SWAP.replace("    return", "return"),
    "swap with trailing blanks": SWAP.replace("/ 100)\n=", "/ 100)   \n="),
    "swap with line numbers": SWAP.replace(
        "    return math.ceil(net * (100 -", "10 |     return math.ceil(net * (100 -"
    ),
    "swap of a near miss": SWAP.replace("net * (100 - rate) / 100", "net*(100 - rate) / 100"),
    "swap of half a line": "<<<<<<< SEARCH\n(100 - rate)\n=======\n(100 + rate)\n>>>>>>> REPLACE",
    "two swaps, the second follows the first": SWAP
    + "\n"
    + SWAP.replace("- rate", "+ rate", 1).replace("+ rate", "+ rate", 1),
    "diff": f"```diff\n{DIFF}```",
    "diff without a language": f"```\n{DIFF}```",
    "diff without file names": "```diff\n" + DIFF.split("\n", 2)[2] + "```",
    "json code": as_json(path="shop/cart.py", code=FUNCTION),
    "json swap": as_json(path="shop/cart.py", search="(100 - rate)", replace="(100 + rate)"),
    "json in a fence": f"Here it is:\n```json\n{as_json(path='shop/cart.py', code=FUNCTION)}\n```",
    "json with line breaks in texts": as_json(path="shop/cart.py", code=FUNCTION).replace("\\n", "\n"),
    "the old version quoted first": "The code was\n```python\n"
    + FUNCTION.replace("+", "-")
    + f"\n```\nand should be\n```python\n{FUNCTION}\n```",
    "the same version twice": f"```python\n{FUNCTION}\n```\nIn full:\n```python\n{FUNCTION}\n```",
    "a shell command after it": f"```python\n{FUNCTION}\n```\nRun:\n```bash\npytest -q\n```",
    "output after it": f"```python\n{FUNCTION}\n```\n```text\n1 passed\n```",
    "no fence": f"The sign is wrong.\n\n{FUNCTION}\n\nThat adds the tax.",
    "no fence, only code": FUNCTION,
    "a whole file": f"```python\n# FILE: shop/cart.py\n{EXPECTED}```",
    "the wrong file's name": f"```python\n# FILE: tests/test_cart.py\n{FUNCTION}\n```",
    "a path that does not exist": f"```python\n# FILE: src/shop/cart.py\n{FUNCTION}\n```",
    "a fence in a list": "1. Change it:\n\n   ```python\n   def gross(net, rate=RATE):\n"
    "       return math.ceil(net * (100 + rate) / 100)\n   ```",
    "non-breaking spaces": f"```python\n{FUNCTION}\n```".replace("    ", "\u00a0" * 4),
    "a placeholder class beside it": f"```python\nclass Cart:\n    ...  # unchanged\n\n\n{FUNCTION}\n```",
    "placeholder methods": f"```python\nclass Cart:\n    def total(self):\n        ...\n\n\n{FUNCTION}\n```",
    "unicode path decoration": f"📄 Update:\n\nFile: `shop/cart.py`\n```python\n{FUNCTION}\n```",
    "null bytes": f"```python\n{FUNCTION}\n\x00```",
}


@pytest.mark.parametrize("name", MEANT)
def test_other_forms(name: str, root: Path) -> None:
    assert outcome(MEANT[name], root) == EXPECTED


# --- replies that are no patch -------------------------------------------------------------------------------------------

ODD = {
    "nothing": ("", "empty"),
    "blank": (" \n\t\n", "empty"),
    "only thinking": ("<think>hm", "empty"),
    "refusal": ("I'm sorry, I cannot help with that.", "no code"),
    "prose": ("The function gross should add the tax instead of subtracting it.", "no code"),
    "html": ("<html><body><h1>502 Bad Gateway</h1></body></html>", "no code"),
    "an empty block": ("```python\n```", "no code"),
    "only shell": ("```bash\nsed -i s/-/+/ shop/cart.py\n```", "no code"),
    "only calls": ("```python\nprint(gross(100))\n```", "defines no function"),
    "only an import": ("```python\nimport math\n```", "defines no function"),
    "cut off in the middle": (f"```python\n{FUNCTION[:60]}", "does not parse"),
    "syntax error": (f"```python\n{FUNCTION.replace(':', '', 1)}\n```", "does not parse"),
    "two versions": (f"```python\n{FUNCTION}\n```\nor\n```python\n{FUNCTION.replace('+', '*')}\n```", "two different"),
    "elided": (
        "```python\ndef gross(net, rate=RATE):\n    # ... rest of the function unchanged\n    return 1\n```",
        "whole",
    ),
    "search not there": (
        SWAP.replace("math.ceil(net * (100 - rate) / 100)", "compute(everything, at=once)"),
        "not in shop/cart.py",
    ),
    "search not there, file named": (
        "shop/cart.py\n" + SWAP.replace("math.ceil(net * (100 - rate) / 100)", "compute(everything, at=once)"),
        "not in shop/cart.py",
    ),
    "search twice": (
        "shop/cart.py\n<<<<<<< SEARCH\n        self.items\n=======\n        self.rows\n>>>>>>> REPLACE",
        "not in shop/cart.py",
    ),
    "search stands twice": (
        "shop/cart.py\n<<<<<<< SEARCH\n\n\n=======\npass\n>>>>>>> REPLACE",
        "empty",
    ),
    "unfinished swap": (
        "```python\n# FILE: shop/cart.py\n<<<<<<< SEARCH\n    return 1\n=======\n    return 2\n```",
        "not complete",
    ),
    "broken json": ('{"diagnosis": "x", "edits": [{"path": "shop/cart.py", "code": "def', "JSON"),
    "json of another shape": ('{"edits": {"path": "a"}}', "no list of edits"),
    "json with numbers": ('{"edits": [{"path": "shop/cart.py", "code": 3}]}', "must be texts"),
    "json edit no object": ('{"edits": ["x"]}', "not an object"),
    "json without edits": (as_json(path="shop/cart.py"), "no code"),
    "absolute path": (f"```python\n# FILE: /etc/cron.d/job.py\n{SWAP}\n```", "not a file of the project"),
    "climbing path": (f"```python\n# FILE: ../../other.py\n{SWAP}\n```", "not a file of the project"),
    "hidden climbing": (f"```python\n# FILE: shop/../../other.py\n{SWAP}\n```", "not a file of the project"),
    "git's own": (f"```python\n# FILE: .git/hooks/pre-commit.py\n{SWAP}\n```", "not a file of the project"),
    "home": (f"```python\n# FILE: ~/.bashrc.py\n{SWAP}\n```", "not a file of the project"),
    "a drive": (f"```python\n# FILE: C:\\Windows\\x.py\n{SWAP}\n```", "not a file of the project"),
    "a folder": (f"```python\n# FILE: shop\n{SWAP}\n```", "folder"),
    "swap in a missing file": (f"```python\n# FILE: shop/gone.py\n{SWAP}\n```", "no file"),
    "method outside of its class": ("```python\n# FILE: shop/cart.py\ndef subtotal(self):\n    return 0\n```", None),
    "a function that was a class": ("```python\n# FILE: shop/cart.py\ndef Cart():\n    return []\n```", "is a class"),
    "breaks the file": (
        "shop/cart.py\n<<<<<<< SEARCH\nclass Cart:\n=======\nclass Cart\n>>>>>>> REPLACE",
        "does not parse",
    ),
    "deep nesting": ("```python\ndef gross(net):\n    return " + "(" * 3000 + ")" * 3000 + "\n```", "does not parse"),
    "huge": ("x" * 2_000_000, "longer than"),
    "huge lines of code": ("```python\n" + "def f(): pass\n" * 20_000 + "```", "longer than"),
    "markers only": ("<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE", None),
    "surrogates": ("```python\ndef gross(net, rate=RATE):\n    return '\ud800'\n```", "does not parse"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_replies_are_refused_in_words(name: str, root: Path) -> None:
    text, words = ODD[name]
    found = outcome(text, root)
    if words is not None:
        assert found.startswith("unusable: "), found
        assert words in found


PIECES = [
    *(
        "```",
        "```python",
        "~~~",
        "```diff",
        "<<<<<<< SEARCH",
        "=======",
        ">>>>>>> REPLACE",
        "@@ -1 +1 @@",
        "-",
        "+",
        "#",
    ),
    *("# FILE: shop/cart.py", "# FILE: ../x.py", "DIAGNOSIS: x", "FUNCTION: shop/cart.py::gross", "KIND: logic"),
    *(
        FUNCTION,
        WHOLE,
        "class Cart:",
        "    def total(self):",
        "        return 0",
        "def total(self): ...",
        "import os",
        "@x",
    ),
    *(
        "    return math.ceil(net * (100 - rate) / 100)",
        "...",
        "RATE = 20",
        "{",
        '{"edits": [',
        "]}",
        '"""',
        "\\",
        "\t",
    ),
    *("<think>", "</think>", "async def gross(): pass", "class gross: pass", "from . import y", "\u2028", "0 | x", ""),
]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=30), max_size=14).map("\n".join))
def test_anything_is_read_without_a_crash(root: Path, text: str) -> None:
    try:
        changes = resolve(read(text), root, SHOWN)
    except Unusable:
        return
    for change in changes:
        assert not change.path.startswith(("/", ".."))
        if change.path.endswith(".py") and change.after is not None:
            compile(change.after, change.path, "exec", dont_inherit=True)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(FIXED)), st.integers(0, len(FIXED)), st.text(max_size=12))
def test_damaged_replies_are_read_without_a_crash(root: Path, start: int, stop: int, noise: str) -> None:
    text = FIXED[: min(start, stop)] + noise + FIXED[max(start, stop) :]
    try:
        resolve(read(text), root, SHOWN)
    except Unusable as error:
        assert str(error)
