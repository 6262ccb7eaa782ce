"""For all tests: Ctrl-C means what it means at a terminal."""

from __future__ import annotations

import signal

# A shell starts background jobs with the signal ignored, and children would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
