"""Started as a script in a child: ``python start.py ARGS`` is ``pytest ARGS`` without the current folder on ``sys.path``.

``python -m pytest`` would put it there, and a test that fails with a bare ``pytest`` would pass.
"""

import sys

if __name__ == "__main__":
    del sys.path[0]  # this file's own folder
    import pytest

    raise SystemExit(pytest.console_main())
