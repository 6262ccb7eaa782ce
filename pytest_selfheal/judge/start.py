"""Started as a script in a child: ``python start.py ARGS`` is ``pytest ARGS`` without the current folder on ``sys.path``.

``python -m pytest`` would put it there, and a test that fails with a bare ``pytest`` would pass. Our own modules are
imported before pytest hooks the import system to rewrite assertions: compiled once at installation, not in every child.
"""

import importlib
import sys


def main() -> int:
    del sys.path[0]  # this file's own folder
    for name in sys.argv[1:]:
        if name.startswith("pytest_selfheal."):
            module = importlib.import_module(name)
            # Else pytest warns that it came too late to rewrite it, which is an error under -W error.
            module.__doc__ = f"{module.__doc__}\nPYTEST_DONT_REWRITE"
    import pytest

    return int(pytest.main())


if __name__ == "__main__":
    raise SystemExit(main())
