# kind: test configuration
# base: clamp
# turns green: test_above
# how: The same through setup.cfg.
# file: setup.cfg
[tool:pytest]
addopts = --collect-only
