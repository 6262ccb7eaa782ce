"""``python -m pytest_selfheal`` is the ``selfheal`` command."""

from pytest_selfheal.cli import main

raise SystemExit(main())
