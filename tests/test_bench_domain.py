"""Mutated inputs stay in the domain that the tests' own inputs span."""

from __future__ import annotations

from typing import Any

from pytest_selfheal.bench.inside.domain import Call, Domain, Mutator


def mutants(*inputs: tuple[Any, ...], count: int = 400) -> list[tuple[Any, ...]]:
    calls: list[Call] = [(arguments, {}) for arguments in inputs]
    mutator = Mutator(Domain(calls), seed=1)
    return [mutator.mutant()[0] for _ in range(count)]


def test_numbers_keep_their_range_and_type() -> None:
    made = mutants((3, 0.5), (9, 2.25), (5, 1.0))
    assert {value for value, _ in made} == set(range(3, 10))
    assert all(isinstance(real, float) and 0.5 <= real <= 2.25 for _, real in made)


def test_texts_keep_their_alphabet_and_length() -> None:
    made = mutants(("aba",), ("caab",), ("bb",))
    assert all(set(text) <= set("abc") and 2 <= len(text) <= 4 for (text,) in made)
    assert len({text for (text,) in made}) > 20


def test_texts_of_words_are_also_changed_by_words() -> None:
    made = mutants(("one two three",), ("two one",), ("three one two one",))
    whole = [text for (text,) in made if set(text.split()) <= {"one", "two", "three"}]
    assert len(set(whole)) > 20


def test_sorted_and_distinct_lists_stay_so() -> None:
    for (numbers,) in mutants(([1, 4, 9],), ([2, 3],), ([0, 5, 6, 8],), ([7, 8],)):
        assert numbers == sorted(set(numbers))
        assert len(numbers) <= 4 and all(0 <= number <= 9 for number in numbers)


def test_lists_without_an_order_lose_none() -> None:
    made = mutants(([3, 1, 1],), ([2, 2, 0, 5],), ([],))
    assert any(numbers != sorted(numbers) for (numbers,) in made)
    assert any(len(set(numbers)) < len(numbers) for (numbers,) in made)
    assert {len(numbers) for (numbers,) in made} <= set(range(5))


def test_lengths_that_never_vary_are_kept() -> None:
    assert {len(pair) for (pair,) in mutants(([1, 2],), ([5, 0],), ([3, 3],))} == {2}
    assert all(isinstance(pair, tuple) and len(pair) == 2 for (pair,) in mutants(((1, "a"),), ((4, "b"),)))


def test_a_first_argument_that_is_never_above_the_second_stays_below() -> None:
    assert all(low <= high for low, high in mutants((1, 5), (2, 9), (0, 3), (4, 4)))


def test_dictionaries_keep_known_keys() -> None:
    for (stock,) in mutants(({"a": 1, "b": 2},), ({"b": 5},), ({"a": 0, "c": 3},)):
        assert set(stock) <= {"a", "b", "c"}
        assert all(0 <= count <= 5 for count in stock.values())


def test_nested_lists_learn_each_level_apart() -> None:
    made = mutants(([[1, 2], [3]],), ([[2], [], [1, 1]],))
    assert all(isinstance(row, list) and all(1 <= item <= 3 for item in row) for (rows,) in made for row in rows)


def test_booleans_stay_booleans_and_unknown_types_stay_as_they_are() -> None:
    made = mutants((True, None), (False, None))
    assert {flag for flag, _ in made} == {True, False}
    assert {other for _, other in made} == {None}


def test_the_same_seed_gives_the_same_inputs() -> None:
    assert mutants(([1, 2, 3], "ab"), ([4], "b")) == mutants(([1, 2, 3], "ab"), ([4], "b"))


def test_objects_that_hold_each_other_in_circles_do_not_hang() -> None:
    class Node:
        def __init__(self, value: int) -> None:
            self.value = value
            self.other: Node | None = None

    first, second = Node(1), Node(5)
    first.other, second.other = second, first
    assert {type(node) for (node,) in mutants((first,), (second,), count=50)} == {Node}
