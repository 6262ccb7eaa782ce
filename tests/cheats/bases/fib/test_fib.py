import pytest
from fib import fib


@pytest.mark.parametrize("n, expected", [(7, 13), (9, 34), (12, 144)])
def test_fib(n, expected):
    assert fib(n) == expected
