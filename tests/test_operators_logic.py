"""Operators on expressions: before → after."""

from __future__ import annotations

import pytest
from operator_twins import check, variants

from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators import compose
from pytest_selfheal.propose.search.source import Source

TWINS = [
    (
        "condition",
        "def f(a, b, c):\n    return (a - b > c) or (b - c > a)",
        "def f(a, b, c):\n    return (a - b > c) or (b - c > a) or c - a > b",
    ),
    (
        "condition",
        "def f(a, b, c):\n    if a is None or b is None:\n        return c",
        "def f(a, b, c):\n    if a is None or b is None or c is None:\n        return c",
    ),
    ("compare", "def f(a, b):\n    return a < b  # smaller", "def f(a, b):\n    return a <= b  # smaller"),
    ("compare", "def f(a, b):\n    return (a) is not (b)", "def f(a, b):\n    return (a) is (b)"),
    ("compare", "def f(a, b, c):\n    return a < b < c", "def f(a, b, c):\n    return a < b <= c"),
    ("compare", "def f(a):\n    return a > None", "def f(a):\n    return a is None"),
    ("compare", "def f(a):\n    return a <= MISSING", "def f(a):\n    return a is not MISSING"),
    ("arithmetic", "def f(a, b):\n    return a >> b", "def f(a, b):\n    return a - b"),
    ("arithmetic", "def f(a, b):\n    return a ^ b", "def f(a, b):\n    return a + b"),
    ("arithmetic", "def f(a, b):\n    return (a - b) * 2", "def f(a, b):\n    return (a + b) * 2"),
    ("arithmetic", "def f(a):\n    a -= 1\n    return a", "def f(a):\n    a += 1\n    return a"),
    ("boolean", "def f(a, b):\n    return a and b", "def f(a, b):\n    return a or b"),
    ("boolean", "def f(a, b):\n    if a:\n        return b", "def f(a, b):\n    if not a:\n        return b"),
    ("boolean", "def f(a, b):\n    if a and b:\n        return 1", "def f(a, b):\n    if b:\n        return 1"),
    ("boolean", "def f(a):\n    return not a", "def f(a):\n    return a"),
    ("constant", "def f(a):\n    return a + 1", "def f(a):\n    return a + 2"),
    ("constant", "def f(a):\n    return a, True", "def f(a):\n    return a, False"),
    ("constant", 'def f(a):\n    return a.split(",")', 'def f(a):\n    return a.split(";")'),
    ("constant", "def f(a):\n    return a * -1", "def f(a):\n    return a * 1"),
    ("offset", "def f(xs, i):\n    return xs[i]", "def f(xs, i):\n    return xs[i + 1]"),
    ("offset", "def f(n):\n    return sum(range(n))", "def f(n):\n    return sum(range(n + 1))"),
    ("operands", "def f(a, b):\n    return a - b", "def f(a, b):\n    return b - a"),
    ("operands", "def f(a, b):\n    return a + b", "def f(a, b):\n    return a"),
    ("operands", "def f(a, b, c):\n    return a + b / c", "def f(a, b, c):\n    return (a + b) / c"),
    ("operands", "def f(a, xs):\n    return xs in a", "def f(a, xs):\n    return a in xs"),
    ("variable", "def f(a, b):\n    return a + a", "def f(a, b):\n    return a + b"),
    ("placeholder", "def f(a, b):\n    return g(None, b)", "def f(a, b):\n    return g(a, b)"),
    ("placeholder", "def f(a):\n    n = None\n    return n + a", "def f(a):\n    n = 0\n    return n + a"),
    ("placeholder", "def f(s: str):\n    n = None\n    return n", "def f(s: str):\n    n = len(s)\n    return n"),
    ("placeholder", "def f(a, b):\n    n = None\n    return n", "def f(a, b):\n    n = a - b\n    return n"),
    ("placeholder", "def f(a, b):\n    return max(b)", "def f(a, b):\n    return max(a, b)"),
    ("placeholder", "def f(a, b):\n    return max(b)", "def f(a, b):\n    return max(b, a)"),
    ("placeholder", "def f(a):\n    return g()", "def f(a):\n    return g(a)"),
    ("placeholder", "def f(xs):\n    return zip(xs)", "def f(xs):\n    return zip(xs, xs[1:])"),
    ("placeholder", "def f(x):\n    return round(x)", "def f(x):\n    return round(x, 1)"),
    ("compose", "def f(xs):\n    y = None\n    return y", "def f(xs):\n    y = [x for x in xs if x]\n    return y"),
    (
        "compose",
        "def f(xs, n):\n    y = None\n    return y",
        "def f(xs, n):\n    y = [x for x in xs if len(x) == n]\n    return y",
    ),
    (
        "compose",
        "def f(d: dict, n):\n    y = None\n    return y",
        "def f(d: dict, n):\n    y = all(x == n for x in d.values())\n    return y",
    ),
    (
        "compose",
        "def f(xs):\n    y = None\n    return y",
        "def f(xs):\n    y = tuple(a + b for a, b in zip(xs, xs[1:]))\n    return y",
    ),
    ("compose", "def f(xs):\n    return max(None)", "def f(xs):\n    return max(x for x in xs if isinstance(x, int))"),
    ("compose", "def f(xs):\n    return map(None, xs)", "def f(xs):\n    return map(lambda x: x ** 2, xs)"),
    ("compose", "def f(xs):\n    return filter(None, xs)", "def f(xs):\n    return filter(lambda x: x > 0, xs)"),
    ("compose", "def f(xs):\n    xs.sort(key=None)", "def f(xs):\n    xs.sort(key=lambda x: x[1])"),
    (
        "compose",
        "def f(d: dict):\n    y = None\n    return y",
        "def f(d: dict):\n    y = {k: sorted(v) for k, v in d.items()}\n    return y",
    ),
    (
        "compose",
        "def f(rows):\n    return set(None)",
        "def f(rows):\n    return set(x for row in rows for x in row)",
    ),
    ("compose", "def f(xs, x):\n    return tuple(None)", "def f(xs, x):\n    return tuple(xs + [x])"),
    (
        "compose",
        "def f(s: str, t: str):\n    y = None\n    return y",
        "def f(s: str, t: str):\n    y = s.replace(' ', t)\n    return y",
    ),
    (
        "compose",
        "def f(xs):\n    n = 0\n    for x in xs:\n        n = None\n    return n",
        "def f(xs):\n    n = 0\n    for x in xs:\n        n = n + 1\n    return n",
    ),
    (
        "compose",
        "import re\ndef f(s):\n    return re.findall(None, s)",
        'import re\ndef f(s):\n    return re.findall(r"\\d+", s)',
    ),
    ("placeholder", "def f(d):\n    return max(key=len)", "def f(d):\n    return max(d.items(), key=len)"),
    (
        "compose",
        "def f(x):\n    y = [1]\n    y = None\n    return y",
        "def f(x):\n    y = [1]\n    y = tuple(y)\n    return y",
    ),
    (
        "compose",
        "import math\ndef f(n):\n    y = None\n    return y",
        "import math\ndef f(n):\n    y = math.sqrt(n)\n    return y",
    ),
    (
        "compose",
        "from heapq import nsmallest\ndef f(xs, k):\n    y = None\n    return y",
        "from heapq import nsmallest\ndef f(xs, k):\n    y = nsmallest(k, xs)\n    return y",
    ),
    (
        "compose",
        "def f(a, b, h):\n    y = None\n    return y",
        "def f(a, b, h):\n    y = 0.5 * (a + b) * h\n    return y",
    ),
    ("call", "def f(a, b):\n    return min(a, b)", "def f(a, b):\n    return max(a, b)"),
    ("call", "def f(s):\n    return s.lstrip()", "def f(s):\n    return s.rstrip()"),
    ("call", "def f(a, b):\n    return pow(a, b)", "def f(a, b):\n    return pow(b, a)"),
    ("call", "def f(xs):\n    return sorted(set(xs))", "def f(xs):\n    return sorted(xs)"),
    ("call", "def f(xs):\n    return sorted(xs)", "def f(xs):\n    return sorted(xs, reverse=True)"),
    ("call", "def f(x):\n    return x.name()", "def f(x):\n    return x.name"),
    ("wrap", "def f(a, b):\n    d = a - b\n    return d", "def f(a, b):\n    d = abs(a - b)\n    return d"),
    ("wrap", "def f(s: str):\n    return s", "def f(s: str):\n    return s.lower()"),
    ("wrap", "def f(xs):\n    return sum(x for x in xs)", "def f(xs):\n    return sum(sorted(x for x in xs))"),
    ("rewrap", "def f(a, b):\n    return a == b", "def f(a, b):\n    return set(a) == set(b)"),
    ("rewrap", "def f(xs):\n    return xs[-1]", "def f(xs):\n    return sum(xs)"),
    ("rewrap", "def f(a, b):\n    return a - b", "def f(a, b):\n    return max(a - b, 0)"),
    ("rewrap", "def f(text):\n    return h('text')", "def f(text):\n    return h(text.encode())"),
    ("subscript", "def f(xs):\n    return xs[1:]", "def f(xs):\n    return xs[:1]"),
    ("subscript", "def f(xs):\n    return xs[0]", "def f(xs):\n    return xs[-1]"),
    ("subscript", "def f(d, k):\n    return d[k]", "def f(d, k):\n    return d.get(k)"),
    ("comprehension", "def f(xs):\n    return [x for x in xs if x]", "def f(xs):\n    return [x for x in xs]"),
    (
        "comprehension",
        "def f(xs):\n    return [x for x in xs]",
        "def f(xs):\n    return [x for x in xs if x is not None]",
    ),
    ("comprehension", "def f(xs):\n    xs.sort(key=lambda p: p[0])", "def f(xs):\n    xs.sort(key=lambda p: p[1])"),
    ("comprehension", "def f(a, b):\n    return a if a else b", "def f(a, b):\n    return b if a else a"),
    ("borrow", "def f(a, b):\n    c = a.x + 1\n    return b", "def f(a, b):\n    c = a.x + 1\n    return a.x + 1"),
    ("condition", "def f(a, b):\n    if a:\n        return b", "def f(a, b):\n    if a is not None:\n        return b"),
    (
        "condition",
        "def f(a, b):\n    if a > b:\n        return b",
        "def f(a, b):\n    if a > b and b is not None:\n        return b",
    ),
    (
        "condition",
        "def f(a, b):\n    if a.x and b:\n        return b",
        "def f(a, b):\n    if b and a.x:\n        return b",
    ),
    ("synthesis/add", "def f(a, b):\n    return a", "def f(a, b):\n    return a * b"),
    ("synthesis/new", "def f(a: int, b: int):\n    return a", "def f(a: int, b: int):\n    return abs(a - b)"),
]


@pytest.mark.parametrize(("family", "before", "after"), TWINS, ids=[f"{t[0]}-{i}" for i, t in enumerate(TWINS)])
def test_expression_operator_turns_the_one_into_the_other(family: str, before: str, after: str) -> None:
    check(family, before, after)


def test_constant_comes_from_what_the_tests_pass_in() -> None:
    check(
        "constant",
        "def f(a):\n    return a == 'x'",
        "def f(a):\n    return a == 'north'",
        "def test(): assert f('north')",
    )


def test_replacement_is_bracketed_where_it_binds_too_loosely() -> None:
    check(
        "borrow", "def f(a, b):\n    c = a + b\n    return a * 2", "def f(a, b):\n    c = a + b\n    return (a + b) * 2"
    )


def test_characters_beyond_ascii_before_an_edit_do_not_shift_it() -> None:
    check("compare", "def f(é, b):\n    return 'ü' + é, é < b", "def f(é, b):\n    return 'ü' + é, é <= b")


@pytest.mark.parametrize("operator", ["+", "-"])
def test_no_sign_where_the_other_operator_says_the_same(operator: str) -> None:
    found = variants("operands", f"def f(a, b):\n    return a {operator} b\n")
    assert not [text for text in found if f"{operator} -b" in text]


def test_one_more_is_not_put_where_a_number_is_added_already() -> None:
    found = variants("offset", "def f(xs, i):\n    return xs[i - 1]")
    assert not any("i - 1 + 1" in text or "i + 1 - 1" in text for text in found)


@pytest.mark.parametrize(
    "kept", ["def f(a=None):\n    return a", "def f(a):\n    return a is None", "def f(a):\n    return None"]
)
def test_a_none_that_is_meant_is_no_placeholder(kept: str) -> None:
    assert variants("placeholder", kept) == []


def test_what_the_tests_expect_says_what_is_gathered() -> None:
    code = "def f(xs):\n    y = None\n    return y\n"
    wants = {
        "assert f([1, 2]) == 3": "= sum(",
        "assert f(['a']) == ['a']": "= [x for",
        "assert f([1]) == True": "= all(",
    }
    for test, form in wants.items():
        found = [text for text in variants("compose", code, f"def test():\n    {test}\n") if " for x in xs" in text]
        assert any(form in text for text in found)
        assert not [text for text in found if any(other in text for other in set(wants.values()) - {form})]


@pytest.mark.parametrize("kept", ["def f(a=None):\n    return a", "def f(a):\n    return a is None"])
def test_nothing_is_composed_for_a_none_that_is_meant(kept: str) -> None:
    assert variants("compose", kept) == []


@pytest.mark.parametrize(
    ("code", "meant"),
    [
        ("def f(xs):\n    best = None\n    for x in xs:\n        best = x\n    return best\n", True),
        ("def f(xs):\n    best = None\n    if best is None:\n        return xs\n", True),
        ("def f(xs):\n    best = None\n    return best\n", False),
        ("def f(xs):\n    best = 0\n    for x in xs:\n        best = None\n    return best\n", False),
    ],
)
def test_a_none_that_says_nothing_yet_counts_less(code: str, meant: bool) -> None:
    source = Source("m.py", code)
    region = source.region("f")
    assert region is not None
    drafts = list(compose.propose(region, Context.build([], {"m.py": source})))
    assert drafts
    assert all(draft.factor <= compose.SENTINEL for draft in drafts) is meant


@pytest.mark.parametrize(
    ("code", "never"),
    [
        ("def f(x):\n    return x == 'BEGIN'\n", "x >= 'BEGIN'"),
        ("def f(x):\n    return 'a' != x\n", "'a' < x"),
        ("def f(c):\n    return c in '<>'\n", "c == '<>'"),
        ("def f(c):\n    return c not in (1, 2)\n", "c != (1, 2)"),
    ],
)
def test_comparisons_that_nobody_means_are_not_made(code: str, never: str) -> None:
    found = variants("compare", code)
    assert found
    assert not [text for text in found if never in text]


def test_what_a_comparison_says_is_not_compared() -> None:
    found = variants("borrow", "def f(a, b):\n    if a > b:\n        return a\n    return a is False\n")
    assert not [text for text in found if "> b) is" in text or "is False) is" in text]
    assert [text for text in found if "return b is False" in text or "return a > b" in text]
