"""Repairs that the failure names: what is proposed first."""

from __future__ import annotations

import itertools

import pytest

from pytest_selfheal.propose.search.candidate import apply
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.distance import distance, near
from pytest_selfheal.propose.search.repair_direct import direct
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Failure, Frame, Raised

GOOD = '''import os


def total(items, rate=0.1):
    """Sum."""
    result = 0
    for item in items:
        if item > 0:
            result += item * (1 + rate)
        else:
            result -= item
    return round(result, 2)


class Order:
    def run(self, x):
        names = ["a", "b", x]
        return {"k": names[0], "v": total([1, 2])}
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rate=0.1):", "rate=0.1)"),
        ("rate=0.1):", "rate=0.1:"),
        ("items:\n", "items\n"),
        ("(1 + rate)", "(1 + rate"),
        ("(1 + rate)", "1 + rate)"),
        ('"a", "b"', '"a, "b"'),
        ("return round", "retrun round"),
        ("else:", "else"),
        ("            result += item", "        result += item"),
        ("    result = 0", "      result = 0"),
        ("if item > 0", "if item => 0"),
        ('"k": names', '"k" names'),
        ("def run", "run"),
        ("def run", "de run"),
        ("[1, 2])}", "[1, 2])"),
        ("[1, 2])}", "[1, 2]}"),
        ("import os", "imprt os"),
        ("class Order:", "class Order"),
    ],
)
def test_syntax_error_is_undone_within_five_proposals(old: str, new: str) -> None:
    broken = GOOD.replace(old, new, 1)
    assert broken != GOOD
    failure = Failure("a.py", "collect", (Raised("SyntaxError", "invalid syntax"),))
    found = [apply(broken, c.edits) for c in itertools.islice(direct(failure, {}, Context(), {"a.py": broken}), 5)]
    wanted = GOOD.replace("item > 0", "item >= 0") if "=>" in new else GOOD
    assert wanted in found
    for text in found:
        compile(text, "a.py", "exec")


def test_unfinished_merge_keeps_one_side() -> None:
    text = "def f():\n<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> theirs\n"
    failure = Failure("a.py", "collect", (Raised("SyntaxError", "invalid syntax"),))
    found = [apply(text, c.edits) for c in itertools.islice(direct(failure, {}, Context(), {"a.py": text}), 2)]
    assert found == ["def f():\n    return 1\n", "def f():\n    return 2\n"]


TOTAL = "import os\n\ndef total(items):\n    resutl = 0\n    for i in items:\n        resutl += i\n    return result\n"


@pytest.mark.parametrize(
    ("files", "exception", "message", "place", "wanted"),
    [
        ({"a.py": TOTAL}, "NameError", "name 'result' is not defined", ("a.py", 7), "return resutl"),
        ({"a.py": "def f(x):\n    return math.sqrt(x)\n"}, "NameError", "name 'math' is not defined", ("a.py", 2), "import math\n"),
        ({"a.py": "def f():\n    return defaultdict(list)\n"}, "NameError", "name 'defaultdict' is not defined", ("a.py", 2), "from collections import defaultdict\n"),
        ({"p/a.py": "def f(x):\n    return helper(x)\n", "p/b.py": "def helper(x): return x\n"}, "NameError", "name 'helper' is not defined", ("p/a.py", 2), "from .b import helper\n"),
        ({"a.py": "import jsn\n\ndef f(x):\n    return json.dumps(x)\n"}, "ModuleNotFoundError", "No module named 'jsn'", ("a.py", 1), "import json\n"),
        ({"p/a.py": "from p.utls import h\n", "p/utils.py": "def h(): pass\n"}, "ModuleNotFoundError", "No module named 'p.utls'", ("p/a.py", 1), "from p.utils import h"),
        ({"p/__init__.py": "", "p/utils.py": "def h(): pass\n"}, "ImportError", "cannot import name 'h' from 'p' (/x/p/__init__.py)", ("t.py", 1), "from .utils import h"),
        ({"a.py": "from collections import OrderdDict\nx = OrderdDict()\n"}, "ImportError", "cannot import name 'OrderdDict' from 'collections' (x)", ("a.py", 1), "import OrderedDict\nx = OrderedDict()"),
        ({"a.py": "class A:\n    def __init__(self, x):\n        self.nme = x\n    def g(self):\n        return self.name\n"}, "AttributeError", "'A' object has no attribute 'name'", ("a.py", 5), "return self.nme"),
        ({"a.py": "class A:\n    def __init__(self, name):\n        self.q = 1\n    def g(self):\n        return self.name\n"}, "AttributeError", "'A' object has no attribute 'name'", ("a.py", 5), "self.name = name"),
        ({"a.py": "def f(s):\n    return s.uper()\n"}, "AttributeError", "'str' object has no attribute 'uper'", ("a.py", 2), "s.upper()"),
        ({"a.py": "def f(s):\n    return s.length\n"}, "AttributeError", "'list' object has no attribute 'length'", ("a.py", 2), "len(s)"),
        ({"a.py": "class A:\n    def f(x):\n        return x\n"}, "TypeError", "A.f() takes 1 positional argument but 2 were given", ("t.py", 2), "def f(self, x)"),
        ({"a.py": "def g(a, b):\n    return a\n\ndef f(a, b):\n    return g(a)\n"}, "TypeError", "g() missing 1 required positional argument: 'b'", ("a.py", 5), "g(a, b)"),
        ({"a.py": "def g(a, rate):\n    return rate\n"}, "TypeError", "g() got an unexpected keyword argument 'rates'", ("t.py", 5), "def g(a, rates):\n    return rates"),
        ({"a.py": "def g(a):\n    return 'n' + a\n"}, "TypeError", 'can only concatenate str (not "int") to str', ("a.py", 2), "'n' + str(a)"),
        ({"a.py": "x = 0\ndef g():\n    x += 1\n"}, "UnboundLocalError", "cannot access local variable 'x' where it is not associated with a value", ("a.py", 3), "global x"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.endswith("Error") else "",
)  # fmt: skip
def test_failure_in_its_own_words_leads_to_the_repair(
    files: dict[str, str], exception: str, message: str, place: tuple[str, int], wanted: str
) -> None:
    sources = {path: Source(path, text) for path, text in files.items()}
    failure = Failure("t.py::test", "call", (Raised(exception, message, (Frame(*place, "f", ""),)),))
    found = list(itertools.islice(direct(failure, sources, Context.build([failure], sources)), 3))
    assert any(wanted in apply(sources[c.path].text, c.edits) for c in found), [c.description for c in found]


def test_key_error_finds_the_key_that_the_test_gives() -> None:
    sources = {"a.py": Source("a.py", "def g(d):\n    return d['nmae']\n")}
    failure = Failure("t.py::test", "call", (Raised("KeyError", "'nmae'", (Frame("a.py", 2, "g", ""),)),))
    context = Context.build([failure], sources, ["def test():\n    assert g({'name': 1}) == 1"])
    first = next(direct(failure, sources, context))
    assert "d['name']" in apply(sources["a.py"].text, first.edits)


def test_line_put_at_the_end_of_a_method_belongs_to_it() -> None:
    code = "class A:\n    def __init__(self, name):\n        self.q = 1\n\n    def g(self):\n        return self.name\n"
    sources = {"a.py": Source("a.py", code)}
    failure = Failure(
        "t", "call", (Raised("AttributeError", "'A' object has no attribute 'name'", (Frame("a.py", 6, "g", ""),)),)
    )
    added = next(c for c in direct(failure, sources, Context()) if c.operator == "direct/member/init")
    assert (added.function, added.body_only) == ("A.__init__", True)
    assert set(sources["a.py"].compile(added)) == {"A.__init__"}


def test_distance_counts_letters_and_exchanged_neighbours() -> None:
    assert distance("reslut", "result") == 1
    assert distance("Name", "name") == 0.5
    assert near("lenght", {"length", "width"})[0][0] == "length"
