"""Operators on statements, flow, guards and exceptions: before → after."""

from __future__ import annotations

import pytest
from operator_twins import check, failed, variants

from pytest_selfheal.propose.search.candidate import apply
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.generate import generate
from pytest_selfheal.propose.search.operators import FAMILIES
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.types import Failure, Frame, Raised, Suspect

TWINS = [
    ("statement", "def f(a):\n    b = 1\n    c = 2\n    d = 3\n    return a\n", "def f(a):\n    d = 3\n    return a\n"),
    ("exception", "def f(xs):\n    for x in xs:\n        g(x)\n", "def f(xs):\n    for x in xs:\n        try:\n            g(x)\n        except KeyError:\n            continue\n"),
    ("assign", "def f(xs):\n    n = 0\n    for x in xs:\n        n = x\n    return n", "def f(xs):\n    n = 0\n    for x in xs:\n        n += x\n    return n"),
    ("assign", "def f(a):\n    a.strip()\n    return a", "def f(a):\n    a = a.strip()\n    return a"),
    ("assign", "def f(a, b):\n    a = b\n    b = a\n    return b", "def f(a, b):\n    a, b = b, a\n    return b"),
    ("control", "def f(xs):\n    for x in xs:\n        if x:\n            break", "def f(xs):\n    for x in xs:\n        if x:\n            continue"),
    ("control", "def f(a):\n    if a:\n        b = 1", "def f(a):\n    while a:\n        b = 1"),
    ("control", "def f(a):\n    a.b()", "def f(a):\n    return a.b()"),
    ("control", "async def f(a):\n    return a.b()", "async def f(a):\n    return await a.b()"),
    ("control", "def f(n):\n    while n > 0:\n        g(n)", "def f(n):\n    while n > 0:\n        g(n)\n        n -= 1\n"),
    ("control", "def f(a):\n    if a:\n        x = 1\n    else:\n        x = 2\n", "def f(a):\n    if a:\n        x = 2\n    else:\n        x = 1\n"),
    ("statement", "def f(a):\n    a = 1\n    return a\n", "def f(a):\n    return a\n"),
    ("statement", "def f(xs):\n    for x in xs:\n        g(x)\n        return x\n", "def f(xs):\n    for x in xs:\n        g(x)\n    return x\n"),
    ("statement", "def f(a):\n    g(a)\n    h(a)\n", "def f(a):\n    h(a)\n    g(a)\n"),
    ("statement", "def f(xs):\n    for x in xs:\n        g(x)\n    h(xs)\n    return xs\n", "def f(xs):\n    for x in xs:\n        g(x)\n        h(xs)\n    return xs\n"),
    ("statement", "def f(a):\n    if a:\n        g(a)\n    return a\n", "def f(a):\n    g(a)\n    return a\n"),
    ("guard/return", "def f(xs):\n    return xs[0]\n", "def f(xs):\n    if not xs:\n        return None\n    return xs[0]\n"),
    ("guard/value", "def f(xs=None):\n    return len(xs)\n", "def f(xs=None):\n    if xs is None:\n        xs = []\n    return len(xs)\n"),
    ("guard/value", "def f(a, b):\n    return a / b\n", "def f(a, b):\n    return a / b if b else 0\n"),
    ("guard/value", "def f(a):\n    return g(a)\n", "def f(a):\n    return g(a or [])\n"),
    ("guard/skip", "def f(xs):\n    for x in xs:\n        g(x)\n", "def f(xs):\n    for x in xs:\n        if x is None:\n            continue\n        g(x)\n"),
    ("guard/only", "def f(a, b):\n    a.add(b)\n", "def f(a, b):\n    if b is not None:\n        a.add(b)\n"),
    ("copy/statement", "def f(a, b):\n    a.x(b)\n    if b:\n        g()\n", "def f(a, b):\n    a.x(b)\n    if b:\n        g()\n        a.x(b)\n"),
    ("copy/branch", "def f(x):\n    if isinstance(x, int):\n        return 1\n    return 2\n", "def f(x):\n    if isinstance(x, int):\n        return 1\n    if isinstance(x, float):\n        return 1\n    return 2\n"),
    ("copy/twin", "class A:\n    def f(self):\n        g(1)\n    def h(self):\n        self.check()\n        g(2)\n", "class A:\n    def f(self):\n        self.check()\n        g(1)\n    def h(self):\n        self.check()\n        g(2)\n"),
    ("exception", "def f(a):\n    raise ValueError(a)\n", "def f(a):\n    raise TypeError(a)\n"),
    ("exception", "def f(a):\n    try:\n        g()\n    except KeyError:\n        pass\n", "def f(a):\n    try:\n        g()\n    except (KeyError, IndexError):\n        pass\n"),
    ("mining", "def f(a, xs=[]):\n    return xs\n", "def f(a, xs=None):\n    if xs is None:\n        xs = []\n    return xs\n"),
    ("mining", "class A:\n    @property\n    def f(self):\n        return 1\n    def g(self):\n        return 2\n", "class A:\n    def f(self):\n        return 1\n    def g(self):\n        return 2\n"),
    ("mining", "def g(a, flag=False):\n    pass\ndef f(a, flag):\n    return g(a)\n", "def g(a, flag=False):\n    pass\ndef f(a, flag):\n    return g(a, flag=flag)\n"),
    ("regex", "import re\ndef f(s):\n    return re.match(r'\\d+', s)\n", "import re\ndef f(s):\n    return re.match(r'\\d*', s)\n"),
    ("regex", "import re\ndef f(s):\n    return re.match('QQa+QQ', s)\n", "import re\ndef f(s):\n    return re.match('a+', s)\n"),
    ("regex", "import re\ndef f(s):\n    p = 'ab?'\n    return re.match(p, s)\n", "import re\ndef f(s):\n    p = 'ab*'\n    return re.match(p, s)\n"),
    ("regex", "import re\ndef f(s):\n    return re.match(r'[a-z]+', s)\n", "import re\ndef f(s):\n    return re.match('[a-z-]+', s)\n"),
    ("replicate", "def f(a, b):\n    return a < b or b < a\n", "def f(a, b):\n    return a <= b or b <= a\n"),
    ("replicate/rename", "def f(a, b):\n    return a + a\n", "def f(a, b):\n    return b + b\n"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "before", "after"), TWINS, ids=[f"{t[0]}-{i}" for i, t in enumerate(TWINS)])
def test_statement_operator_turns_the_one_into_the_other(family: str, before: str, after: str) -> None:
    name = "f" if "class" not in before else "A.g" if "property" in before else "A.f"
    found = [text.rstrip("\n") for text in variants(family, before, function=name)]
    if "property" in before:  # the decorator of the sibling, added
        assert before.replace("    def g", "    @property\n    def g").rstrip("\n") in found
    else:
        assert after.rstrip("\n") in found


def test_guard_raises_what_the_test_wants() -> None:
    tests = "import pytest\ndef test():\n    with pytest.raises(ValueError):\n        f(0)"
    after = 'def f(n: int):\n    if n == 0:\n        raise ValueError("n == 0")\n    return n\n'
    check("guard/raise", "def f(n: int):\n    return n\n", after, tests)


def test_exception_is_translated_to_the_one_that_the_test_wants() -> None:
    after = 'def f(d):\n    try:\n        return d["k"]\n    except KeyError as error:\n        raise ValueError("failed: return d[\'k\']") from error\n'
    check("exception", 'def f(d):\n    return d["k"]\n', after, failures=[failed("KeyError", "'k'", ("ValueError",))])


def test_windows_line_ends_are_kept() -> None:
    found = variants("guard/return", "def f(xs):\r\n    return xs[0]\r\n")
    assert "def f(xs):\r\n    if not xs:\r\n        return None\r\n    return xs[0]\r\n" in found


def test_statement_that_the_exception_went_through_is_the_first_to_be_wrapped() -> None:
    before = "def f(a):\n    b = g(a)\n    c = h(b)\n    return c\n"
    crash = Raised("ValueError", "no signature", frames=(Frame("code.py", 3, "f", "c = h(b)"),))
    failure = Failure("test_code.py::test", "call", (crash,))
    source = Source("code.py", before)
    stream = generate(
        {"code.py": source},
        [Suspect("code.py", 0, "f", 1.0)],
        Context.build([failure], {"code.py": source}),
        families=[f for f in FAMILIES if f.name == "exception"],
    )
    first = next(stream)
    assert (first.operator, first.line) == ("exception/crash", 3)
    assert apply(before, first.edits) == before.replace(
        "    c = h(b)\n", "    try:\n        c = h(b)\n    except ValueError:\n        return None\n"
    )


def test_guard_is_about_what_stands_around_its_place() -> None:
    names = "".join(f"    v{n} = g({n})\n" for n in range(26))
    before = f"def f(xs):\n{names}    for x in xs:\n        near = g(x)\n        h(x)\n"
    tests = "import pytest\ndef test():\n    with pytest.raises(ValueError):\n        f(0)"
    found = variants("guard/raise", before, tests)
    assert any("if not near:\n            raise ValueError" in text for text in found)


def test_a_truth_value_is_asked_for_its_truth() -> None:
    tests = "import pytest\ndef test():\n    with pytest.raises(ValueError):\n        f(0)"
    found = variants("guard/raise", "def f(a):\n    known = isinstance(a, str)\n    g(known)\n    return a\n", tests)
    assert any("if not known:\n" in text for text in found)
    assert not any("known == 0" in text for text in found)


def test_branches_with_f_strings_are_copied_as_a_whole() -> None:
    before = 'def f(kind, x):\n    if kind == "a":\n        raise ValueError(f"{kind} of {x}: {kind}")\n    return x\n'
    copied = '    if x == "a":\n        raise ValueError(f"{x} of {x}: {x}")\n    return x\n'
    check("copy/branch", before, before.replace("    return x\n", copied))


def test_what_gives_nothing_back_does_not_end_its_loop_nor_make_up_a_value() -> None:
    procedure = variants("exception", "def f(xs):\n    for x in xs:\n        g(x)\n")
    assert not [text for text in procedure if "        try" in text and "return" in text]
    assert [text for text in variants("exception", "def f(x):\n    g(x)\n") if text.endswith("        return\n")]
    assert [text for text in variants("exception", "def f(x):\n    g(x)\n    return x\n") if "return None" in text]


def test_a_jump_before_other_code_is_the_likeliest_to_go() -> None:
    source = Source("m.py", "def f(x):\n    return g(x)\n\n    return g(g(x))\n")
    candidates = list(generate({"m.py": source}, [Suspect("m.py", 0, "f", 1.0)], Context()))
    deleted = [c for c in candidates if c.operator.startswith("statement/delete")]
    first, last = (next(c for c in deleted if c.line == line) for line in (2, 4))
    assert first.weight > 2 * last.weight
