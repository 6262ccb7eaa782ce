"""Mutants, targets, choosing, varying, places and the judge's rules on text: the parts that need no child process."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from project_helpers import project_at

from pytest_selfheal.testgen import summary
from pytest_selfheal.testgen.common import Kept
from pytest_selfheal.testgen.inside import select
from pytest_selfheal.testgen.inside.lines import branching, taken
from pytest_selfheal.testgen.inside.mutants import mutants
from pytest_selfheal.testgen.inside.vary import Variation
from pytest_selfheal.testgen.job import Argument, Case, Found, Input, Target
from pytest_selfheal.testgen.judge import refused
from pytest_selfheal.testgen.place import Places
from pytest_selfheal.testgen.targets import of_changes, of_lines
from pytest_selfheal.testgen.write import Subject, write
from pytest_selfheal.types import FileChange

CODE = '''\
def clamp(value, low, high):
    """Limit."""
    if value < low and value is not None:
        return low
    return min(value, high + 1)


class Basket:
    def total(self, items):
        count = 0
        for item in items:
            count += item
        return count
'''

# --- mutants ----------------------------------------------------------------------------------------------------------


def test_mutants_are_small_and_each_one_behaves_in_its_own_way() -> None:
    found = mutants(CODE, "shop.py", "clamp")
    words = [fault.words for fault in found]
    assert "value < low with LtE" in words
    assert "value < low with GtE" in words
    assert "value < low and value is not None with or" in words
    assert "high + 1 with Sub" in words
    assert len(
        {fault.codes["clamp"].co_code + repr(fault.codes["clamp"].co_consts).encode() for fault in found}
    ) == len(found)
    assert all(fault.line in (3, 4, 5) for fault in found)


def test_mutants_of_a_method_keep_its_place_in_the_class() -> None:
    found = mutants(CODE, "shop.py", "Basket.total")
    assert found
    assert all("Basket.total" in fault.codes for fault in found)


def test_mutants_leave_messages_and_docstrings_alone() -> None:
    text = 'def f(x):\n    """Doc 1."""\n    if x:\n        raise ValueError(f"bad {x}", "1")\n    return x\n'
    words = [fault.words for fault in mutants(text, "a.py", "f")]
    assert not [shown for shown in words if "Doc" in shown or "becomes" in shown]
    assert "x is negated" in words


def test_mutants_are_no_more_than_asked_for() -> None:
    text = "def f(x):\n" + "".join(f"    x += {n} * x - {n}\n" for n in range(2, 60)) + "    return x\n"
    assert 15 <= len(mutants(text, "a.py", "f", limit=20)) <= 20


# --- targets ----------------------------------------------------------------------------------------------------------


def change(before: str, after: str, path: str = "shop.py") -> FileChange:
    return FileChange(path, before.encode(), after.encode())


def test_a_patch_names_the_functions_whose_code_it_changes() -> None:
    targets, outside = of_changes([change(CODE, CODE.replace("count = 0", "count = 1"))])
    assert [t.qualname for t in targets] == ["Basket.total"]
    assert not outside


def test_module_level_changes_make_every_function_a_target() -> None:
    targets, outside = of_changes([change(CODE, f"LIMIT = 1\n{CODE}")])
    assert {t.qualname for t in targets} == {"clamp", "Basket.total"}
    assert outside


def test_a_file_that_did_not_parse_is_repaired_as_a_whole() -> None:
    targets, outside = of_changes([change(CODE.replace("(value, low, high):", "(value, low, high)"), CODE)])
    assert {t.qualname for t in targets} == {"clamp", "Basket.total"}
    assert outside


def test_changed_lines_name_the_functions_that_hold_them() -> None:
    [target] = of_lines({"shop.py": CODE}, {"shop.py": frozenset({3, 7})})
    assert (target.qualname, target.changed) == ("clamp", frozenset({3}))


def test_branches_are_counted_two_a_line() -> None:
    lines = branching(CODE, "Basket.total")
    assert lines == {11}
    assert taken({(11, 12), (11, 13), (11, 0), (10, 11)}, lines) == {(11, 0), (11, 12)}


# --- choosing ---------------------------------------------------------------------------------------------------------


def test_the_cheapest_cases_that_prove_everything_are_chosen() -> None:
    proofs = [frozenset({1, 2, 3}), frozenset({1}), frozenset({4}), frozenset({4})]
    assert sorted(select.cover(proofs, [10, 1, 50, 5])) == [0, 3]


def test_a_case_that_others_make_superfluous_is_dropped() -> None:
    proofs = [frozenset({1, 2}), frozenset({1, 3, 4}), frozenset({2, 5, 6})]
    assert sorted(select.cover(proofs, [0, 30, 30])) == [1, 2]


def test_nothing_is_chosen_that_proves_nothing() -> None:
    assert select.cover([frozenset(), frozenset()], [1, 1]) == []


# --- inputs -----------------------------------------------------------------------------------------------------------


def given(*sources: str) -> Input:
    return Input(tuple(Argument(f"p{i}", source) for i, source in enumerate(sources)), observed=True)


def test_varied_inputs_stay_within_what_was_seen() -> None:
    known = [given("[3, 5, 9]", '"abc"'), given("[4]", '"b"')]
    variation = Variation(known, random.Random(1))
    made = [m for _ in range(200) if (m := variation.mutated(random.Random(_).choice(known))) is not None]
    assert len({m.key for m in made}) > 20
    for one in made:
        numbers = eval(one.arguments[0].source)
        assert numbers and all(isinstance(n, int) and n >= 3 for n in numbers)
        assert isinstance(eval(one.arguments[1].source), str)
        assert not one.observed


def test_literals_inside_constructor_calls_are_varied_too() -> None:
    known = [given('Item("tea", price=4)'), given('Item("milk", price=9)')]
    variation = Variation(known, random.Random(2))
    made = {m.arguments[0].source for _ in range(60) if (m := variation.mutated(known[0])) is not None}
    assert all(source.startswith("Item(") and "price=" in source for source in made)
    assert len(made) > 5


def test_smaller_inputs_are_smaller_and_not_empty_unless_that_was_seen() -> None:
    variation = Variation([given("[7, 8, 9]")], random.Random(0))
    smaller = variation.smaller(given("[7, 8, 9]"))
    assert smaller
    assert all(one.cost <= given("[7, 8, 9]").cost for one in smaller)
    assert "[]" not in [one.arguments[0].source for one in variation.smaller(given("[7]"))]
    seen_empty = Variation([given("[7]"), given("[]")], random.Random(0))
    assert "[]" in [one.arguments[0].source for one in seen_empty.smaller(given("[7]"))]


# --- places -----------------------------------------------------------------------------------------------------------


def places(tmp_path: Path, files: dict[str, str]) -> Places:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Places(project_at(tmp_path), tmp_path, list(files))


def test_tests_mirror_the_folders_of_the_code(tmp_path: Path) -> None:
    where = places(tmp_path, {"src/shop/cart/sums.py": "", "tests/cart/test_other.py": "", "tests/test_a.py": ""})
    assert where.file_for("src/shop/cart/sums.py") == "tests/cart/test_sums.py"


def test_an_existing_test_file_is_never_taken(tmp_path: Path) -> None:
    where = places(tmp_path, {"sums.py": "", "tests/test_sums.py": ""})
    assert where.near("sums.py") == "tests/test_sums.py"
    assert where.file_for("sums.py") == "tests/test_sums_selfheal.py"
    assert where.file_for("sums.py") == "tests/test_sums_selfheal_2.py"


def test_the_projects_naming_is_followed(tmp_path: Path) -> None:
    where = places(tmp_path, {"sums.py": "", "tests/a_test.py": "", "tests/b_test.py": ""})
    assert where.file_for("sums.py") == "tests/sums_test.py"


def test_names_are_imported_as_the_projects_tests_do(tmp_path: Path) -> None:
    where = places(tmp_path, {"shop/_impl.py": "", "tests/test_a.py": "from shop import add\nfrom other import mul\n"})
    assert where.imported_as(("shop._impl", "add")) == ("shop", "add")
    assert where.imported_as(("shop._impl", "mul")) == ("shop._impl", "mul")


# --- report -----------------------------------------------------------------------------------------------------------


def test_the_report_tells_figures_before_and_after_and_why_tests_were_dropped() -> None:
    target = Target("shop.py", "clamp")
    found = Found(target, lines=4, lines_before=1, lines_after=3, missed=(7,), branches=2, branches_after=1)
    found.mutants, found.killed_before, found.killed_after, found.killed_alone = 5, 1, 4, 3
    kept = Kept(
        tests={target.label: ["test_shop.py::test_a"]}, dropped={target.label: {"test_b": "fails now and then"}}
    )
    function = summary.entry(found, kept)
    made = summary.report([function], "changed", ["test_shop.py"])
    assert made["table"][1] == ["shop.py::clamp", "1 of 1", "1 → 3 of 4", "0 → 1 of 2", "1 → 4 of 5"]
    assert "generated tests: 1 kept, 1 dropped" in made["words"]
    assert "dropped test_b: fails now and then" in made["words"]
    assert function["lines"] == {"total": 4, "before": 1, "after": 3, "missed": [7]}
    assert function["mutants"]["killed_alone"] == 3


# --- text -------------------------------------------------------------------------------------------------------------


def case(*sources: str, expected: str = "1", fails: bool = True, **more: object) -> Case:
    call = "clamp(" + ", ".join(f"{{{i}}}" for i in range(len(sources))) + ")"
    facts: dict[str, object] = {"kind": "value", "imports": frozenset({("shop", "clamp")}), **more}
    return Case(given(*sources), call, expected=expected, fails_before=fails, **facts)  # type: ignore[arg-type]


def written(*cases: Case) -> str:
    subject = Subject("clamp", "Wrong before clamp was repaired", cases, "What clamp does otherwise")
    return write("shop", [subject], lambda package: package == "shop", lambda name: name, 88).text


def test_like_cases_become_a_table_with_ids_that_say_what_they_pin() -> None:
    text = written(case("1", '"a"'), case("2", '"b"', expected="[3]"))
    compile(text, "test_shop.py", "exec")
    assert '("p0", "p1", "expected")' in text
    assert 'id="2, b gives (3)"' in text
    assert "assert clamp(p0, p1) == expected" in text


def test_arguments_of_a_function_that_came_back_keep_their_names() -> None:
    def chained(low: str, value: str) -> Case:
        called = Input((Argument("low", low), Argument("()value", value)), levels=1)
        imports = frozenset({("shop", "clamp")})
        return Case(called, "clamp({0})({1})", "value", "1", imports=imports, fails_before=True)

    text = written(chained("1", "2"), chained("3", "4"))
    assert '("low", "value", "expected")' in text
    assert "assert clamp(low)(value) == expected" in text


def test_a_lone_case_becomes_a_plain_assert() -> None:
    text = written(case("5"))
    assert "parametrize" not in text
    assert "import pytest" not in text
    assert "def test_clamp_of_5():" in text
    assert "    assert clamp(5) == 1\n" in text


def test_iterators_are_made_anew_for_each_run() -> None:
    text = written(case("iter([1])"), case("iter([2])"))
    assert "parametrize" not in text
    assert "assert clamp(iter([2])) == 1" in text


def test_booleans_are_compared_by_identity_and_floats_approximately() -> None:
    assert "assert clamp(5) is True" in written(case("5", expected="True"))
    assert "pytest.approx(0.1234567891)" in written(case("5", expected="0.1234567891", approximate=True))


def test_exceptions_and_changed_arguments_have_their_own_shape() -> None:
    text = written(
        case("[]", kind="raises", expected="ValueError"),
        case("[2, 1]", expected="None", after=((0, "{0}", "[1, 2]"),)),
    )
    assert "with pytest.raises(ValueError):\n        clamp([])" in text
    assert "    p0 = [2, 1]\n    clamp(p0)\n    assert p0 == [1, 2]\n" in text


def test_long_values_are_broken_as_formatters_do(tmp_path: Path) -> None:
    words = "[" + ", ".join(f'"word number {n}"' for n in range(9)) + "]"
    text = written(case(words, expected=words), case(f"Box({words}, {{1: {words}}})", expected="1"))
    compile(text, "test_shop.py", "exec")
    assert max(len(line) for line in text.splitlines() if '"""' not in line) <= 88
    alone = written(case(words, expected=words))
    compile(alone, "test_shop.py", "exec")
    assert "    assert result == expected\n" in alone


def test_characterisation_is_called_by_its_name_unless_somebody_backs_the_value() -> None:
    assert '"""Wrong before clamp was repaired (characterisation)."""' in written(case("5"))
    assert '"""Wrong before clamp was repaired (as documented)."""' in written(case("5", backed="docstring"))
    assert '"""What clamp does otherwise (characterisation)."""' in written(case("5", fails=False))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def test_a():\n    pass\n", "asserts nothing"),
        ("def test_a():\n    assert True\n", "asserts nothing"),
        ("import socket\ndef test_a():\n    assert socket\n", "imports socket"),
        ("from datetime import date\ndef test_a():\n    assert date.today()\n", "depends on the moment"),
        ("def test_a():\n    assert open('/etc/passwd')\n", ""),
        ("def test_a():\n    assert f('/home/me/x')\n", "absolute path"),
        ("from . import x\ndef test_a():\n    assert x\n", "imports relatively"),
        ("def test_a(:\n", "does not parse"),
        ("def test_a():\n    assert 1 + 1 == 2\n", ""),
    ],
)
def test_rules_on_text(text: str, words: str) -> None:
    if words:
        assert words in refused(text, {})
    elif "/etc" in text:
        assert "absolute path" in refused(text, {})
    else:
        assert refused(text, {}) == ""
