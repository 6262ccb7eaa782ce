"""Best-first generation: order, laziness, duplicates, positions, what a code swap can carry, second edits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from pytest_selfheal.propose.search.candidate import Candidate, Draft, Edit, apply, compose, overlap, trimmed
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.generate import finish, generate, neighbours
from pytest_selfheal.propose.search.operators import FAMILIES, Family
from pytest_selfheal.propose.search.priors import Priors, load
from pytest_selfheal.propose.search.search import Search, is_small, pairs
from pytest_selfheal.propose.search.source import Region, Source
from pytest_selfheal.types import Suspect

CODE = '''"""Module."""

LIMIT = 3


class Basket:
    """A basket."""

    size = 2

    def fits(self, count, spare=1):
        """Whether count fits."""
        if count < LIMIT:
            return count + spare
        return [n for n in range(count) if n != spare]


def outer(xs):
    def inner(x):
        return x - 1

    return [inner(x) for x in xs]
'''


def candidates(code: str, *suspects: Suspect, **more: object) -> Iterator[Candidate]:
    source = Source("pkg/mod.py", code)
    return generate({"pkg/mod.py": source}, suspects, Context(), **more)  # type: ignore[arg-type]


def suspect(function: str, line: int = 0, score: float = 1.0) -> Suspect:
    return Suspect("pkg/mod.py", line, function, score)


def test_no_text_is_proposed_twice_and_every_candidate_changes_something() -> None:
    texts = [apply(CODE, c.edits) for c in itertools.islice(candidates(CODE, suspect("Basket.fits")), 3000)]
    assert CODE not in texts
    assert len(set(texts)) > 0.99 * len(texts)  # a rare pair of different edits may meet in one text


def test_weights_never_rise_by_more_than_the_bound_of_a_stream() -> None:
    weights = [c.weight for c in itertools.islice(candidates(CODE, suspect("Basket.fits")), 2000)]
    assert weights == sorted(weights, reverse=True)


def test_a_stream_that_is_not_needed_is_never_opened() -> None:
    opened: list[str] = []

    def cheap(region: Region, context: Context) -> Iterator[Draft]:
        opened.append("cheap")
        yield Draft((Edit(0, 0, "#"),), "cheap", "")

    def dear(region: Region, context: Context) -> Iterator[Draft]:
        opened.append("dear")
        yield Draft((Edit(0, 0, "##"),), "dear", "")

    priors = Priors({"cheap": 0.5, "dear": 0.01})
    families = (Family("dear", dear), Family("cheap", cheap))
    stream = candidates(CODE, suspect("Basket.fits"), priors=priors, families=families)
    assert next(stream).operator == "cheap"
    assert opened == ["cheap"]
    assert [c.operator for c in stream] == ["dear"]


def test_more_suspicious_function_comes_first() -> None:
    stream = candidates(CODE, suspect("outer", score=0.2), suspect("Basket.fits", score=1.0))
    first = next(c for c in stream if c.family == "compare")
    assert first.function == "Basket.fits"


def test_body_of_a_method_can_be_swapped_and_its_signature_cannot() -> None:
    found = list(itertools.islice(candidates(CODE, suspect("Basket.fits")), 4000))
    body = next(c for c in found if c.description == "replace < with <=")
    assert (body.function, body.line, body.body_only) == ("Basket.fits", 13, True)
    default = next(c for c in found if c.operator == "mining/default")
    assert (default.function, default.body_only) == ("Basket.fits", False)


def test_nested_function_is_part_of_the_outer_body() -> None:
    found = list(candidates(CODE, suspect("outer.<locals>.inner", line=20)))
    inner = next(c for c in found if c.description == "replace - with +")
    assert (inner.function, inner.body_only) == ("outer.<locals>.inner", True)


def test_module_level_is_a_place_too() -> None:
    found = list(candidates(CODE, suspect("<module>", line=3)))
    assert any(apply(CODE, c.edits) == CODE.replace("LIMIT = 3", "LIMIT = 4") and not c.body_only for c in found)
    assert any(apply(CODE, c.edits) == CODE.replace("size = 2", "size = 1") for c in found)


def test_only_the_functions_own_text_is_compiled_with_right_lines_and_closures() -> None:
    source = Source("pkg/mod.py", CODE)
    change = next(c for c in candidates(CODE, suspect("outer")) if c.description == "replace - with +")
    codes = source.compile(change)
    assert set(codes) >= {"outer", "outer.<locals>.inner"}
    assert codes["outer.<locals>.inner"].co_firstlineno == 19
    method = next(c for c in candidates(CODE, suspect("Basket.fits")) if c.description == "replace < with <=")
    code = source.compile(method)["Basket.fits"]
    assert (code.co_firstlineno, code.co_name, code.co_filename) == (11, "fits", "pkg/mod.py")


def test_candidate_that_is_no_python_is_a_syntax_error() -> None:
    source = Source("pkg/mod.py", CODE)
    at = CODE.index("count < LIMIT")
    broken = Candidate("pkg/mod.py", (Edit(at, at, ") ("),), "x", 1.0, 13, "Basket.fits", "", True)
    with pytest.raises(SyntaxError):
        source.compile(broken)


def test_neighbours_keep_the_first_edit_and_add_one_in_coordinates_of_the_original() -> None:
    source = Source("pkg/mod.py", CODE)
    first = next(c for c in candidates(CODE, suspect("Basket.fits")) if c.description == "replace < with <=")
    pairs = list(itertools.islice(neighbours(source, first, Context()), 2000))
    texts = [apply(CODE, p.edits) for p in pairs]
    assert CODE.replace("count < LIMIT", "count <= LIMIT").replace("count + spare", "count - spare") in texts
    assert all(p.operator.startswith(first.operator + " + ") for p in pairs)


def test_composed_edits_are_the_two_steps() -> None:
    text = "abcdefgh"
    first = (Edit(1, 3, "XYZ"), Edit(6, 6, "+"))
    middle = apply(text, first)
    for second in ((Edit(0, 1, ""),), (Edit(2, 3, "yy"),), (Edit(len(middle), len(middle), "!"),)):
        assert apply(text, compose(text, first, second)) == apply(middle, second)


def test_overlapping_edits_are_refused() -> None:
    assert overlap((Edit(0, 3, ""), Edit(2, 4, "")))
    assert not overlap((Edit(0, 3, ""), Edit(3, 4, "")))
    with pytest.raises(ValueError, match="overlap"):
        apply("abcdef", (Edit(0, 3, "x"), Edit(2, 4, "y")))


def test_trimmed_edit_is_the_difference_only() -> None:
    assert trimmed("a < b", Edit(0, 5, "a <= b")) == Edit(3, 3, "=")


def test_shipped_priors_know_every_family() -> None:
    priors = load()
    assert all(0 < priors.bound(family.name) <= 1 for family in FAMILIES)


def test_prior_falls_back_to_the_more_general_key() -> None:
    priors = Priors({"a": 0.5, "a/b": 0.1})
    assert (priors.of("a/b/c"), priors.of("a/x"), priors.bound("a")) == (0.1, 0.5, 0.5)


def test_context_reads_inputs_expected_values_and_wanted_exceptions_from_tests() -> None:
    test = "def test():\n    assert f('in', -2) == 'out'\n    with pytest.raises(KeyError):\n        f(3)\n"
    context = Context.build([], {"pkg/mod.py": Source("pkg/mod.py", CODE)}, [test])
    assert set(context.inputs) >= {"in", -2, 3}
    assert context.expected == ("out",)
    assert context.expected_exceptions == ("KeyError",)
    assert context.calls["f"] == (("in", -2), (3,))
    assert context.signatures["fits"][0].required == 2


def test_values_inside_f_strings_are_edited_only_where_positions_are_right() -> None:
    code = "def f(a, b):\n    return f'{a}: {b}'\n"
    for candidate in candidates(code, suspect("f")):
        compile(apply(code, candidate.edits), "x", "exec")


def test_what_nothing_reads_is_proposed_first() -> None:
    text = "def f(a, b, c):\n    return a + a - c\n"
    source = Source("m.py", text)
    stream = generate({"m.py": source}, [Suspect("m.py", 2, "f", 1.0)], Context.build([], {"m.py": source}, []))
    found = [apply(text, c.edits) for c in itertools.islice(stream, 400) if c.family == "variable"]
    assert all("b" in after.splitlines()[1] for after in found[:3]), found[:3]


def many(key: str, count: int) -> Family:
    """A family with so many candidates of one kind."""

    def propose(region: Region, context: Context) -> Iterator[Draft]:
        yield from (Draft((Edit(0, 0, f"# {key} {n}\n"),), f"{key}/kind", key) for n in range(count))

    return Family(key, propose)


def test_of_two_kinds_that_are_as_likely_the_one_with_thousands_of_candidates_comes_last() -> None:
    families = (many("wide", 3000), many("narrow", 20))
    stream = candidates(CODE, suspect("outer"), families=families, priors=Priors({"wide": 0.01, "narrow": 0.005}))
    assert {c.family for c in itertools.islice(stream, 20)} == {"narrow"}


def test_streams_that_are_still_closed_survive_when_the_heap_is_cut_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_selfheal.propose.search.generate.HEAP", 10)
    families = (many("likely", 200), many("rare", 3))
    stream = candidates(CODE, suspect("outer"), families=families, priors=Priors({"likely": 0.5, "rare": 0.0001}))
    assert [c.family for c in stream].count("rare") == 3


def test_wrap_that_the_function_uses_elsewhere_comes_before_the_others() -> None:
    code = "def f(size, gnu):\n    if size == 1:\n        return show(size)\n    return show(int(size), gnu)\n"
    source = Source("m.py", code)
    wraps = [family for family in FAMILIES if family.name == "wrap"]
    stream = generate({"m.py": source}, [Suspect("m.py", 0, "f", 1.0)], Context(), Priors({"wrap": 0.01}), wraps)
    assert [c.edits[0].text for c in itertools.islice(stream, 2)] == ["int(size)", "int(size)"]


def test_an_operator_that_stumbles_does_not_end_the_search(caplog: pytest.LogCaptureFixture) -> None:
    def stumbles(region: Region, context: Context) -> Iterator[Draft]:
        yield Draft((Edit(0, 0, "# first\n"),), "stumbles", "first")
        raise ValueError("edits overlap")

    families = (Family("stumbles", stumbles), many("other", 3))
    found = [c.family for c in candidates(CODE, suspect("outer"), families=families)]
    assert found.count("other") == 3 and found.count("stumbles") == 1
    assert "operator stumbles failed on outer" in caplog.text


def small(start: int, weight: float, text: str = "9", function: str = "f") -> Candidate:
    edit = Edit(start, start + 1, text)
    return Candidate("m.py", (edit,), f"constant/{start}", weight, 1, function, f"at {start}", True)


def test_two_small_edits_are_paired_likely_ones_first() -> None:
    found = list(pairs([small(0, 0.5), small(4, 0.4), small(9, 0.1)]))
    assert [tuple(e.start for e in one.edits) for one in found] == [(0, 4), (0, 9), (4, 9)]
    assert found[0].operator == "constant/0 + constant/4"
    assert found[0].weight == pytest.approx(0.2)


def test_edits_of_one_place_or_of_two_functions_are_no_pair() -> None:
    assert not list(pairs([small(0, 0.5), small(0, 0.4, "8"), small(9, 0.1, function="g")]))


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (small(0, 1.0), True),
        (small(0, 1.0, "a much longer piece of code than a slip is"), False),
        (small(0, 1.0).but(body_only=False), False),
        (small(0, 1.0).but(edits=(Edit(0, 1, "a"), Edit(3, 4, "b"))), False),
    ],
)
def test_only_small_edits_are_paired(candidate: Candidate, expected: bool) -> None:
    assert is_small(candidate) is expected


@pytest.mark.parametrize(
    ("code", "old", "new", "made"),
    [
        ("def f(x):\n    return x is None\n", "x is", "type(x)", False),
        ("def f(x):\n    return (x) != None\n", "x) !=", "str(x)", False),
        ("def f(x):\n    return x is None\n", "x is", "Wrong('text')", False),
        ("def f(x):\n    return x is None\n", "x is", "x.get(1)", True),
        ("def f(x):\n    return x is True\n", "x is", "bool(x)", True),
    ],
)
def test_what_is_never_none_is_not_compared_with_it(code: str, old: str, new: str, made: bool) -> None:
    start = code.index(old)
    found = finish(Source("m.py", code), Draft((Edit(start, start + 1, new),), "a/b", ""), 1.0)
    assert (found is not None) is made


def test_pairs_that_compile_to_known_code_do_not_hide_the_others() -> None:
    search = object.__new__(Search)
    search._paired = None
    search._small = [(0.5, n, small(3 * n, 0.5)) for n in range(8)]
    # An empty batch ends the search, so that a batch must be able to look at all of them.
    assert len(list(search._pairs(1))) == 28
