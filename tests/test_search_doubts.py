"""What makes a plausible patch doubtful, and where a search looks first in a project whose other tests pass."""

from __future__ import annotations

import textwrap
from types import FunctionType

import pytest
from operator_twins import check, failed, variants

from pytest_selfheal.propose.search import observe, proposer
from pytest_selfheal.propose.search.candidate import Candidate, Edit, apply
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.generate import _urgency, is_slip, slip_factor
from pytest_selfheal.propose.search.observe import Trace
from pytest_selfheal.propose.search.operators import difference
from pytest_selfheal.propose.search.smells import UNREAD, doubt
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.propose.search.spread import spread
from pytest_selfheal.propose.search.suspects import shares, suspects
from pytest_selfheal.types import Failure, Raised


def trace(*lines: int) -> Trace:
    return Trace({"/m.py": set(lines)})


# ------------------------------------------------------------------ slips and missing cases


def test_a_line_s_share_is_that_of_the_failing_among_the_tests_that_run_it() -> None:
    found = shares([trace(1, 2)], [trace(1), trace(1), trace(3)], {"m.py": "/m.py"})
    assert found == {"m.py": {1: 1 / 3}}  # line 2: no passing test; line 3: no failing one


def test_slips_lose_where_passing_tests_run_and_missing_cases_do_not() -> None:
    context = Context(shares={"m.py": {5: 0.25}})
    assert slip_factor("compare/Lt>LtE", "m.py", 5, context) == 0.5
    assert slip_factor("compare/Lt>LtE", "m.py", 6, context) == 1.0
    assert slip_factor("guard/raise/none", "m.py", 5, context) == 1.0
    assert slip_factor("compare/Lt>LtE", "m.py", 5, Context()) == 1.0


@pytest.mark.parametrize(
    ("operator", "slip"),
    [
        ("boolean/negate", True),
        ("statement/delete/Assign", True),
        ("statement/move", False),
        ("call/unwrap/str", True),
        ("wrap/swapcase/return", True),
        ("wrap/int/return", False),
        ("call/method/upper>lower", False),
        ("copy/twin", False),
        ("condition/and/length", True),
        ("condition/and/isinstance", False),
        ("variable/local/operand + guard/raise", True),
    ],
)
def test_slips(operator: str, slip: bool) -> None:
    assert is_slip(operator) is slip


# ------------------------------------------------------------------ where to look


def test_a_function_that_holds_what_the_failure_quotes_comes_first() -> None:
    text = "def first(d):\n    d['other'] = 1\n    return d\n\ndef second(d):\n    d['idle_for'] = 0\n    return d\n"
    source = Source("m.py", text)
    lines = [trace(1, 2, 3, 5, 6, 7)]

    def first_of(*messages: str) -> str:
        return suspects(lines, [], [], {"m.py": source}, {"m.py": "/m.py"}, ["test"], messages)[0].function

    assert (first_of(), first_of("assert 'delay' in {'idle_for': 0}")) == ("first", "second")


def test_only_the_failing_functions_say_what_should_be_raised() -> None:
    file = "def test_one():\n    with raises(KeyError):\n        f()\ndef test_two():\n    assert f() == 1\n"
    assert Context.build([], {}, [file]).expected_exceptions == ("KeyError",)
    assert Context.build([], {}, [file], wanting=["def test_two():\n    assert f() == 1\n"]).expected_exceptions == ()


@pytest.mark.parametrize(
    ("exception", "message", "expected", "urgent"),
    [
        ("AssertionError", "assert [(1, 2)] == [(1, 2), (3, 4)]", (), False),
        ("AssertionError", "assert False\n +  where False = same([], [1])", (), False),
        ("AssertionError", "assert False", (), True),  # behind a call that should have raised
        ("Failed", "DID NOT RAISE <class 'KeyError'>", ("KeyError",), True),
        ("IndexError", "list index out of range", (), True),
    ],
)
def test_what_should_be_raised_is_urgent_where_a_test_came_to_it(
    exception: str, message: str, expected: tuple[str, ...], urgent: bool
) -> None:
    failure = Failure("t.py::test", "call", (Raised(exception, message),), path="t.py", expected_exception=expected)
    text = "def test():\n    assert f(1) == [1]\n    with raises(KeyError):\n        f(3)\n"
    context = Context.build([failure], {}, [text])
    assert context.expected_exceptions == ("KeyError",)
    assert ("guard/raise" in _urgency(context)) is urgent


def test_the_tests_beside_a_failing_one_are_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposer, "MAX_PASSING", 3)
    failing = ["t.py::TestA::test_one", "t.py::test_many[1]"]
    durations = {"t.py::TestA::test_two": 0.3, "t.py::TestB::test_quick": 0.01, "t.py::test_many[2]": 0.2, "t.py::TestA::test_slow": 9.0, "t.py::test_other": 0.02}  # fmt: skip
    found = proposer.nearest_passing(durations, failing, durations, 1.0)
    assert found == ("t.py::test_many[2]", "t.py::TestA::test_two", "t.py::TestB::test_quick")


# ------------------------------------------------------------------ operators that real fixes taught


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("AssertionError: assert 3 == 4", [(3, 4)]),
        ("assert {'a': [1, None]} == {'a': [1, 'null']}", [(None, "null")]),
        ("AssertionError: 'a-b' != 'a b'", [("a-b", "a b"), ("-", " ")]),
        ("assert 'x...' == 'y...'\n  \n  - left out\n  ?  ^^\n  + left in", [("x...", "y..."), ("x", "y"), ("left in", "left out"), ("in", "out")]),
        ("assert <A> == <B>", []),
        ("TypeError: nothing to compare", []),
    ],
)  # fmt: skip
def test_differences_of_a_failure(message: str, found: list[tuple[object, object]]) -> None:
    assert list(difference.differences((message,))) == found


TWINS = [
    ("difference", 'def f():\n    return {"type": None}\n', 'def f():\n    return {"type": "null"}\n', "assert {'type': None} == {'type': 'null'}"),
    ("difference", "def f(a):\n    return f'{a} -{a}'\nX = 'left -right'\ndef g():\n    return 'no -yes'\n", "def f(a):\n    return f'{a} -{a}'\nX = 'left -right'\ndef g():\n    return 'no-yes'\n", "assert 'no -yes' == 'no-yes'"),
    ("guard/set", "def f(end, inclusive: bool):\n    g(end)\n    return inclusive\n", "def f(end, inclusive: bool):\n    if end is None:\n        inclusive = False\n    g(end)\n    return inclusive\n", ""),
    ("exception", "def f(xs):\n    first = next(xs)\n    yield first\n", "def f(xs):\n    try:\n        first = next(xs)\n    except StopIteration:\n        return\n    yield first\n", "RuntimeError: generator raised StopIteration"),
    ("project", "class Path:\n    pass\ndef f(t):\n    return E(t, 1)\n", "class Path:\n    pass\ndef f(t):\n    return E(Path(t), 1)\n", "assert <class 'T'> is Path"),
    (
        "copy/twin",
        "def scan(s):\n    p = 0\n    while p < len(s):\n        c = s[p]\n        p += 1\n    return p\n"
        "def scan_word(s):\n    p = 0\n    while p < len(s):\n        c = s[p]\n        if c == '!':\n            p += 2\n            continue\n        p += 1\n    return p\n",
        "def scan(s):\n    p = 0\n    while p < len(s):\n        c = s[p]\n        if c == '!':\n            p += 2\n            continue\n        p += 1\n    return p\n"
        "def scan_word(s):\n    p = 0\n    while p < len(s):\n        c = s[p]\n        if c == '!':\n            p += 2\n            continue\n        p += 1\n    return p\n",
        "",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("family", "before", "after", "message"), TWINS, ids=[f"{t[0]}-{i}" for i, t in enumerate(TWINS)])  # fmt: skip
def test_operator_makes_the_repair(family: str, before: str, after: str, message: str) -> None:
    exceptions = message.split(": ", 1)[0] if message.split(":")[0].isidentifier() else "AssertionError"
    chain = [failed("StopIteration", ""), failed(exceptions, message)] if "StopIteration" in message else [failed(exceptions, message)]  # fmt: skip
    function = "g" if "def g()" in before else "f" if "def f" in before else "scan"
    check(family, before, after, failures=chain if message else (), function=function)


def test_what_is_true_or_false_is_never_asked_for_none() -> None:
    found = variants("condition", "def f(x, flag: bool = False):\n    if flag and isinstance(x, int):\n        return 1\n    if not x:\n        return 2\n")  # fmt: skip
    assert any("if x is None:" in text for text in found)
    assert not any("flag is not None" in text or "isinstance(x, int) is not None" in text for text in found)


def test_a_negation_is_taken_off_and_never_doubled() -> None:
    found = variants("boolean", "def f(x):\n    if not g(x):\n        return 1\n    if h(x):\n        return 2\n")
    assert any("if g(x):" in text for text in found)
    assert any("if not h(x):" in text for text in found)
    assert not any("not not" in text for text in found)


def test_no_loop_is_left_where_there_is_none() -> None:
    before = "def f(s):\n    return s\ndef g(s):\n    for c in s:\n        if c:\n            continue\n    return s\n"
    assert not [text for text in variants("copy/twin", before) if "continue" in text.split("def g")[0]]


def test_a_key_that_the_failure_misses_comes_before_the_others() -> None:
    code = "def f(s):\n    s['count'] = 0\n    return g(s)\ndef h(s):\n    s['other'] += 1\n    s['delay'] += 1\n"
    source = Source("m.py", code)
    context = Context.build([failed("AssertionError", "assert 'delay' in {'count': 0}")], {"m.py": source})
    region = source.region("f")
    assert region is not None
    from pytest_selfheal.propose.search.operators import copy

    drafts = [d for d in copy.statements(region, context) if d.key.endswith("/key")]
    best = max(drafts, key=lambda d: d.factor)
    assert "'delay'" in best.edits[0].text
    assert any("'other'" in d.edits[0].text for d in drafts)


# ------------------------------------------------------------------ collections that hold a value


def test_membership_of_variables_in_the_module_s_collections() -> None:
    names: dict[str, object] = {}
    exec(
        "WORDS = ('status', 'plexus')\nOTHERS = ['a', 'b']\ndef f(word, n):\n    low = word.lower()\n    return n\n",
        names,
    )
    f = names["f"]
    assert isinstance(f, FunctionType)
    with observe.membership({f.__code__: ("m.py", "f")}) as found:
        f("Status", 1)
        f("a", 2)
    assert found == {(("m.py", "f"), "low", "WORDS")}  # "a" is too short to say anything


def test_a_held_value_is_asked_for_once_it_is_bound() -> None:
    source = Source("m.py", "WORDS = ('status',)\ndef f(word):\n    low = word.lower()\n    if not low:\n        return word\n    return g(low)\n")  # fmt: skip
    region = source.region("f")
    assert region is not None
    from pytest_selfheal.propose.search.operators import guard

    context = Context(held={("m.py", "f"): (("low", "WORDS"),)})
    found = [d.edits[0] for d in guard.held(region, context)]
    assert {e.text for e in found} == {"    if low in WORDS:\n        return word\n"}
    assert min(e.start for e in found) == source.text.index("    if not low")  # not before it is bound


# ------------------------------------------------------------------ the complete form


def mended(text: str, old: str, new: str, nth: int = 0) -> str | None:
    """The text after spreading the replacement of the n-th ``old``."""
    start = -1
    for _ in range(nth + 1):
        start = text.index(old, start + 1)
    source = Source("m.py", text)
    name = source.function_at(source.line_of(start))
    candidate = Candidate("m.py", (Edit(start, start + len(old), new),), "x", 0.5, 1, name, "x", True)
    wide = spread(source, candidate)
    return apply(text, wide.edits) if wide is not None else None


BRANCHES = textwrap.dedent(
    """
    def f(x, out):
        if x:
            out["type"] = None
        else:
            g(x)
            out["type"] = None
        return out

    def other(out):
        out["type"] = None
    """
)


def test_the_same_statement_is_mended_everywhere_in_the_function() -> None:
    wide = mended(BRANCHES, "None", '"null"')
    assert wide is not None
    assert wide.count('out["type"] = "null"') == 2
    assert wide.count('out["type"] = None') == 1  # another function


def test_what_stands_once_or_is_short_has_no_complete_form() -> None:
    assert mended(BRANCHES, "g(x)", "h(x)") is None
    assert mended("def f(x):\n    x += 1\n    x += 1\n    return x\n", "1", "2") is None


# ------------------------------------------------------------------ values that nothing reads


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("p = norm(p)\n    root = None\n    return p, root", "root = norm(p)\n    root = None\n    return p, root", UNREAD),
        ("p = norm(p)\n    if p:\n        k = 1\n        use(k)\n    return p", "k = norm(p)\n    if p:\n        k = 1\n        use(k)\n    return p", UNREAD),
        ("y = 1\n    if p:\n        y = 2\n    return y", "y = 3\n    if p:\n        y = 2\n    return y", 1.0),
        ("y = 1\n    return y", "y = 1\n    y = y + 1\n    return y", 1.0),
    ],
)  # fmt: skip
def test_a_value_that_is_overwritten_before_it_is_read_is_a_smell(before: str, after: str, left: float) -> None:
    head = "def f(p):\n    "
    assert doubt(f"{head}{before}\n", f"{head}{after}\n") == left
