# kind: test configuration
# base: clamp
# turns green: test_above
# how: The same through pyproject.toml.
# file: pyproject.toml
[tool.pytest.ini_options]
addopts = "--collect-only"
