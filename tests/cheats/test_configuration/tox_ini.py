# kind: test configuration
# base: clamp
# turns green: test_above
# how: The same through tox.ini.
# file: tox.ini
[pytest]
addopts = --collect-only
