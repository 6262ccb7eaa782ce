import pytest

if pytest.use_correct:
    from correct_python_programs.pairs_up import pairs_up
else:
    from python_programs.pairs_up import pairs_up


def test_even():
    assert list(pairs_up([1, 2, 3, 4])) == [[1, 2], [3, 4]]


def test_odd():
    assert list(pairs_up([5, 6, 7])) == [[5, 6], [7]]


def test_none():
    assert list(pairs_up([])) == []
