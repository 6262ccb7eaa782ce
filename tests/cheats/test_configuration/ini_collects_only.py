# kind: test configuration
# base: clamp
# turns green: test_above
# how: Settings turn failures into something that is not counted.
# file: pytest.ini
[pytest]
addopts = --collect-only
