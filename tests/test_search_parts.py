"""Parts of the embedded engine on their own: swapping, state, fitness, inputs, examples, the order of plausible patches."""

from __future__ import annotations

import builtins
import functools
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_selfheal.propose.search import decided, fitness, inputs
from pytest_selfheal.propose.search.behaviour import Behaviour, Comparison, answer_of, canonical
from pytest_selfheal.propose.search.candidate import Candidate, Edit, apply
from pytest_selfheal.propose.search.choose import choose
from pytest_selfheal.propose.search.decided import Asked, Outcome, probed
from pytest_selfheal.propose.search.editable import editable_files
from pytest_selfheal.propose.search.examples import of_function, passes
from pytest_selfheal.propose.search.files import Files, decode, encode
from pytest_selfheal.propose.search.fork import Timer
from pytest_selfheal.propose.search.observe import Call, recording, tracing
from pytest_selfheal.propose.search.search import Plausible
from pytest_selfheal.propose.search.smells import reads_of, rewrites
from pytest_selfheal.propose.search.source import Source
from pytest_selfheal.propose.search.swap import LiveFunctions, State, code_key, swap
from pytest_selfheal.settings import Settings

MODULE = """\
import functools

seen = []
level = 1


def loud(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)

    return inner


@loud
def twice(x):
    return x + x


class Base:
    size = 2

    def area(self):
        return self.size


class Square(Base):
    def area(self):
        return super().area() * self.size


@functools.lru_cache
def slow(x):
    return x + level
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    path = tmp_path / "swapped.py"
    path.write_text(MODULE)
    made = ModuleType("swapped")
    made.__file__ = str(path)
    exec(compile(MODULE, str(path), "exec"), vars(made))
    sys.modules["swapped"] = made
    yield made
    del sys.modules["swapped"]


def swapped(module: ModuleType, function: str, old: str, new: str) -> bool:
    start = MODULE.index(old)
    candidate = Candidate("swapped.py", (Edit(start, start + len(old), new),), "x/y", 1.0, 1, function, "", True)
    live = LiveFunctions([str(module.__file__)])
    return swap(live.of(str(module.__file__), MODULE), Source("swapped.py", MODULE).compile(candidate))


def test_a_swap_reaches_what_a_decorator_holds(module: ModuleType) -> None:
    kept = module.twice
    assert swapped(module, "twice", "x + x", "x * 10")
    assert kept(3) == 30


def test_a_swap_keeps_the_cell_that_super_needs(module: ModuleType) -> None:
    square = module.Square()
    assert swapped(module, "Square.area", "* self.size", "+ self.size")
    assert square.area() == 4


def test_a_swap_reaches_closures_that_exist_already(module: ModuleType) -> None:
    assert swapped(module, "loud.<locals>.inner", "return f(*args)", "return -f(*args)")
    assert module.twice(1) == -2


def test_equal_behaviour_has_equal_keys_and_true_is_not_one() -> None:
    def key(text: str) -> object:
        return code_key(compile(text, "f.py", "eval"))

    assert key("x + 1") == key("\n\nx + 1")
    assert key("x + 1") != key("x + True")
    assert key("x + 1") != key("x + 1.0")
    assert key("(x, -0.0)") != key("(x, 0.0)")


def test_state_is_put_back(module: ModuleType) -> None:
    state = State([module])
    state.save()
    module.seen.append(1)
    vars(module)["level"] = 5
    vars(module)["extra"] = 1
    module.Base.size = 9
    assert state.restored()
    assert (module.seen, module.level, module.Base.size, hasattr(module, "extra")) == ([], 1, 2, False)


def test_caches_are_emptied(module: ModuleType) -> None:
    assert module.slow(1) == 2
    vars(module)["level"] = 5
    LiveFunctions([str(module.__file__)]).clear_caches()
    assert module.slow(1) == 6


# Fitness

NEARER: dict[str, tuple[Any, Any, Any]] = {
    "numbers": (9, 5, 10),
    "a type beats another type": (1, "1", 7),
    "strings": ("hello wurld", "xyz", "hello world"),
    "sequences": ([1, 2, 4], [9, 9], [1, 2, 3]),
    "one element too many in front": ([0, 1, 2, 3], [3, 2, 1, 0], [1, 2, 3]),
    "nested": ({"a": [1, 2]}, {"b": 1}, {"a": [1, 3]}),
    "sets": ({1, 2, 3}, {7, 8}, {1, 2}),
    "something beats nothing": ("x", None, "abc"),
}


@pytest.mark.parametrize("name", NEARER)
def test_the_nearer_value_scores_higher(name: str) -> None:
    near, far, expected = NEARER[name]
    assert 1 > fitness.near(near, expected) > fitness.near(far, expected)
    assert fitness.near(expected, expected) == 1


def test_a_value_that_refuses_comparison_costs_nothing_but_its_share() -> None:
    class Rude:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError

    score = fitness.Soft()
    score.miss("==", Rude(), Rude())
    assert (score.misses, score.closeness) == (1, 0.0)


def soft_run(text: str, **names: Any) -> fitness.Soft:
    score = fitness.Soft()
    setattr(builtins, fitness.NAME, score)
    try:
        codes = fitness.soften(text, "test_x.py")
        namespace: dict[str, Any] = {**names}
        exec(compile(text, "test_x.py", "exec"), namespace)
        namespace["test"].__code__ = codes["test"]
        namespace["test"]()
    finally:
        delattr(builtins, fitness.NAME)
    return score


def test_soft_assertions_go_on_and_count() -> None:
    text = "def test():\n    assert f(1) == 1\n    assert f(2) == 3\n    for n in range(3):\n        assert f(n) == n, 'no'\n    assert boom()\n"
    score = soft_run(text, f=lambda x: x)
    assert (score.passed, score.misses) == (4, 2)
    assert score.value(6) > 4 / 6


def test_an_expected_exception_is_one_assertion() -> None:
    text = "def test():\n    with raises(ValueError):\n        int('x')\n    with raises(KeyError):\n        pass\n"
    fitness.Soft.caught = (Exception, pytest.fail.Exception)
    score = soft_run(text, raises=pytest.raises)
    assert (score.passed, score.misses) == (1, 1)


# Observing


def entry(a: int, *rest: int, b: int = 1, **more: int) -> int:
    return _inner(a + b)


def _inner(x: int) -> int:
    if x > 100:
        return 0
    return x


def test_calls_from_outside_are_recorded_with_copies_and_inner_ones_are_not() -> None:
    here = entry.__code__.co_filename
    data = [1, 2]
    outside = eval(compile("lambda f, data: f(1, 2, 3, b=4, c=data)", "elsewhere.py", "eval"))
    with recording(lambda name: name == here) as calls:
        outside(entry, data)
    data.append(3)
    (call,) = calls
    assert call.key[1] == entry.__code__.co_firstlineno
    assert call.arguments == {"a": 1, "b": 4, "rest": (2, 3), "more": {"c": [1, 2]}}


def test_lines_that_ran_are_traced() -> None:
    here = entry.__code__.co_filename
    with tracing(lambda name: name == here) as trace:
        entry(1)
    (lines,) = [trace.lines[path] for path in trace.lines]
    first = _inner.__code__.co_firstlineno
    assert {first + 1, first + 3} <= lines
    assert first + 2 not in lines


# Inputs and behaviour


def test_mutants_keep_types_and_ranges_and_are_deterministic() -> None:
    calls = [
        Call(("m.py", 1), {"xs": [3, 4], "word": "abc"}, ("xs", "word")),
        Call(("m.py", 1), {"xs": [9], "word": "z"}, ("xs", "word")),
    ]
    made = list(inputs.mutants(calls, 40))
    assert len(made) >= 20
    assert [m.arguments for m in made] == [m.arguments for m in inputs.mutants(calls, 40)]
    for call in made:
        assert all(isinstance(x, int) for x in call.arguments["xs"])
        assert isinstance(call.arguments["word"], str)
    assert calls[0].arguments == {"xs": [3, 4], "word": "abc"}


def test_objects_are_mutated_by_their_fields() -> None:
    class Cart:
        def __init__(self) -> None:
            self.items = [1, 2]
            self.limit = 3

    call = Call(("m.py", 1), {"self": Cart()}, ("self",))
    shown = {canonical(m.arguments["self"]) for m in inputs.mutants([call], 20)}
    assert len(shown) >= 3
    assert canonical(call.arguments["self"]) == "Cart(items=[1, 2], limit=3)"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (2.0, 2, True),
        (0.1 + 0.2, 0.3, True),
        ([1], (1,), False),
        ({2, 1}, {1, 2}, True),
        (True, 1, False),
        (iter([1]), iter([1]), True),
    ],
)
def test_values_that_mean_the_same_have_the_same_text(one: Any, other: Any, same: bool) -> None:
    assert (canonical(one) == canonical(other)) is same


def test_examples_of_a_docstring() -> None:
    def double(x: int) -> int:
        """Twice x.

        >>> double(2)
        4

        double(5) == 10, and double([1]) ➞ [1, 1]
        """
        return x * 2

    found = list(of_function(double))  # type: ignore[arg-type]
    assert [e.expected for e in found] == [4, 10, [1, 1]]
    assert all(passes(type(e)(e.expression, e.expected, {"double": double})) for e in found)
    assert not passes(type(found[0])("1 == 1", 1, {}))


# Choosing


def plausible(operator: str, weight: float, n: int = 1) -> Plausible:
    return Plausible(Candidate("m.py", (Edit(0, 0, str(n)),), operator, weight, 1, "f", operator, True), {}, {}, n)


def compared(*answers: list[str], examples: tuple[int, ...] = ()) -> Comparison:
    held = [0, *(examples or (0,) * len(answers))]
    versions = [Behaviour(a, held[i]) for i, a in enumerate([["?"] * len(answers[0]), *answers])]
    return Comparison([f"f({i})" for i in range(len(answers[0]))], 3, versions)


SAME = [str(i) for i in range(20)]
OTHER = [*SAME[:-1], "other"]


def test_patches_that_agree_are_one_group_of_high_confidence() -> None:
    choices = choose([plausible("a/x", 0.1), plausible("b/y", 0.05)], compared(SAME, SAME))
    assert [c.confidence for c in choices] == ["high", "high"]
    assert choices[0].alternatives == ()


def test_where_time_ended_the_search_for_others_nothing_is_of_high_confidence() -> None:
    found = [plausible("a/x", 0.1), plausible("b/y", 0.05)]
    assert [c.confidence for c in choose(found, compared(SAME, SAME), settled=False)] == ["medium", "medium"]


def test_a_difference_is_shown_and_lowers_confidence() -> None:
    choices = choose([plausible("a/x", 0.1), plausible("b/y", 0.09)], compared(SAME, OTHER))
    assert choices[0].confidence == "medium"
    ((other, shown),) = choices[0].alternatives
    assert other.candidate.operator == "b/y"
    assert shown == "f(19) → other here, 19 in the chosen patch"


def test_docstring_examples_outweigh_the_prior() -> None:
    choices = choose([plausible("a/x", 0.1), plausible("b/y", 0.05)], compared(SAME, OTHER, examples=(0, 2)))
    assert choices[0].plausible.candidate.operator == "b/y"


def test_one_answer_to_everything_comes_last() -> None:
    comparison = compared(["7"] * 20, SAME)
    comparison.versions[0].answers = OTHER
    choices = choose([plausible("return/constant", 0.1), plausible("b/y", 0.02)], comparison)
    assert choices[0].plausible.candidate.operator == "b/y"


def test_what_answers_everything_alike_shows_nothing_of_what_it_does() -> None:
    assert choose([plausible("a/x", 0.1)], compared(["None"] * 20))[0].confidence == "medium"


def test_what_a_call_prints_is_part_of_its_answer() -> None:
    def speak(words):
        sys.stdout.write(" ".join(words) + "\n")

    arguments = {"words": ["a", "b"]}
    said = [answer_of(Timer(), speak, Call(("m.py", 1), given, ("words",))) for given in (arguments, {"words": []})]
    assert said == ["None, prints 'a b\\n'", "None, prints '\\n'"]


def test_an_operand_that_may_matter_is_not_dropped_with_high_confidence() -> None:
    found = [plausible("operands/drop", 0.2, 1), plausible("arithmetic/bin/Sub>Add", 0.1, 2)]
    read = {"1": Counter({"m": 1}), "2": Counter({"m": 1, "n": 1})}

    def confidence(order: list[Plausible], **unpatched: int) -> str:
        def reads(candidate: Candidate) -> Counter[str]:
            return read[candidate.edits[0].text] if candidate.edits else Counter(unpatched)

        return choose(order, compared(SAME, SAME), reads=reads)[0].confidence

    assert confidence(found, m=1, n=1) == "medium"
    assert confidence([plausible("operands/drop", 0.01, 1), found[1]], m=1, n=1) == "high"
    assert confidence(found[:1], m=1, n=1) == "high"
    # What another patch adds was never there.
    assert confidence(found, m=1) == "high"
    assert confidence(found, m=1, k=1) == "high"


def test_a_single_observed_input_is_enough_only_where_all_that_passes_answers_alike() -> None:
    found = [plausible("a/x", 0.1), plausible("b/y", 0.01)]

    def confidence(observed: int, other: list[str]) -> str:
        comparison = compared(SAME, other)
        comparison.observed = observed
        return choose(found, comparison)[0].confidence

    assert confidence(1, SAME) == "high"
    assert confidence(1, OTHER) == "medium"
    assert confidence(2, OTHER) == "high"


def test_a_decision_that_the_tests_do_not_look_at_is_never_of_high_confidence() -> None:
    found = [plausible("a/x", 0.1)]
    assert choose(found, compared(SAME))[0].confidence == "high"
    assert choose(found, compared(SAME), pinned=lambda one: False)[0].confidence == "medium"


def test_reads_are_counted_in_the_function_that_changes() -> None:
    text = "def f(n, m):\n    return g(n - 8, m)\n\n\ndef g(a, b):\n    return a\n"
    start = text.index("n - 8")
    drop = Candidate("m.py", (Edit(start, start + 5, "8"),), "operands/drop", 0.1, 2, "f", "drop", True)
    assert reads_of(Source("m.py", text), drop) == Counter({"g": 1, "m": 1})


def test_edits_found_together_are_never_of_high_confidence() -> None:
    assert choose([plausible("a/x + b/y", 0.1)], compared(SAME))[0].confidence == "medium"


LOOP = "def f(xs):\n    n = 0\n    while (n < 1\n           and xs):\n        n += xs.pop()\n    if n > 1: return 1\n    return (2 if n else 3) + sum(x for x in xs if x)\n"


@pytest.mark.parametrize(
    ("old", "new", "after", "before"),
    [
        ("n < 1", "n <= 1", {(0, True), (0, False)}, {(0, True), (0, False)}),
        ("and xs", "or xs", {(0, True), (0, False)}, {(0, True), (0, False)}),
        ("n > 1", "n > 0", {(0, True)}, {(0, False)}),
        ("2 if n else", "2 if n and n - 1 else", {(0, False)}, {(0, True)}),
        ("xs if x)", "xs if not x)", {(0, False)}, {(0, True)}),
        ("xs if x)", "xs if xs if x)", {(0, True)}, None),
        ("    if n", "    if not n:\n        n = 2\n    if n", {(0, False)}, None),
        ("return 1", "return 3", None, None),
        ("    n = 0\n    while (n < 1", "    n  = 0\n    while (n < 1", None, None),  # the very test that it was
        ("n = 0", "n =", None, None),
    ],
)
def test_outcomes_of_the_decisions_that_an_edit_touches(
    old: str, new: str, after: set[Outcome] | None, before: set[Outcome] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source("m.py", LOOP)
    start = LOOP.index(old)
    edit = Edit(start, start + len(old), new)
    probes = probed(source, Candidate("m.py", (edit,), "a/b", 1.0, 2, "f", "", True))
    asked = Asked()
    monkeypatch.setattr(builtins, decided.NAME, asked, raising=False)

    def outcomes(candidate: Candidate | None) -> set[Outcome] | None:
        if candidate is None:
            return None
        names: dict[str, Any] = {}
        exec(apply(LOOP, candidate.edits), names)
        names["f"]([5, 1])  # n becomes 1, and what is left is [5]
        return asked.taken()

    assert (outcomes(probes.after if probes else None), outcomes(probes.before if probes else None)) == (after, before)
    if probes is not None and after is not None:
        assert probes.count == len({number for number, _ in after})


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("return float(fmt % x) == y", "return ceil(x) == y", True),
        ("return fmt % x == y", "return fmt % y == y", False),
        ("return sorted(set(xs))", "return sorted(xs)", False),
        ("return lower(x)", "return upper(x)", False),
    ],
)
def test_a_new_formula_is_told_from_a_slip(before: str, after: str, expected: bool) -> None:
    source = Source("m.py", f"def f(x, y, fmt, xs):\n    {before}\n")
    start = source.text.index("return")
    edit = Edit(start, start + len(before), after)
    assert rewrites(source, Candidate("m.py", (edit,), "a/b", 1.0, 2, "f", "", True)) is expected


def test_what_repairs_other_failures_too_comes_first() -> None:
    found = [plausible("a/x", 0.5), plausible("b/y", 0.1)]
    found[1].repairs = 0.5
    order = [c.plausible.candidate.operator for c in choose(found, compared(SAME, OTHER))]
    assert order == ["b/y", "a/x"]


def test_without_answers_nothing_is_certain() -> None:
    assert choose([plausible("a/x", 0.1)], Comparison())[0].confidence == "medium"


def test_one_of_each_behaviour_comes_before_the_second_of_any() -> None:
    found = [plausible("a/x", 0.5), plausible("a/y", 0.4), plausible("b/z", 0.01)]
    order = [c.plausible.candidate.operator for c in choose(found, compared(SAME, SAME, OTHER))]
    assert order == ["a/x", "b/z", "a/y"]


# Files


@pytest.mark.parametrize(
    "raw",
    [b"x = 1\r\ny = 2", b"\xef\xbb\xbfx = '\xc3\xa9'\n", b"# coding: latin-1\nx = '\xe9'\n", b"x = 1\ny = 2\r\n"],
)
def test_bytes_survive_the_way_to_text_and_back(raw: bytes) -> None:
    assert encode(decode(raw), raw) == raw


def test_new_lines_end_as_the_file_s_lines_do_and_the_others_stay(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_bytes(b"x = 1\r\ny = 2\r\nz = 3\n")
    files = Files(str(tmp_path), ["m.py"])
    assert files.source("m.py") is not None
    candidate = Candidate("m.py", (Edit(0, 0, "w = 0\n"),), "a/b", 1.0, 1, "<module>", "", False)
    assert files.after(candidate) == b"w = 0\r\nx = 1\r\ny = 2\r\nz = 3\n"


def test_tests_and_protected_files_are_not_editable(tmp_path: Path) -> None:
    for name in ("a.py", "tests/test_a.py", "conftest.py", "pkg/b.py", "pkg/secret.py", "venv/lib/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert editable_files(tmp_path, "", Settings(protect=("pkg/secret.py",))) == ("a.py", "pkg/b.py")
    assert editable_files(tmp_path, "", Settings(allow=("pkg/**",))) == ("pkg/b.py", "pkg/secret.py")


def test_a_pool_without_knowledge_changes_nothing_unknown() -> None:
    marker = functools.partial(print)
    assert inputs.Pool([], random.Random(0)).mutated("x", marker) is marker
