"""What the rules must let pass, and paths that no patch may name."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from pytest_selfheal.guard import Review, review
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import Diagnosis, Failure, FileChange, Frame, Patch, Raised

TEST = """
import os
import pytest
from code import f

@pytest.mark.parametrize("given, wanted", [(7, 13), ("abc", 3), ([], 0)])
def test_f(given, wanted):
    assert f(given) == wanted
"""


def judged(
    folder: Path,
    before: str,
    after: str,
    test: str = TEST,
    message: str = "",
    expected: tuple[str, ...] = (),
    chain: Raised | None = None,
) -> Review:
    old, new = dedent(before).encode(), dedent(after).encode()
    (folder / "code.py").write_bytes(old)
    (folder / "test_code.py").write_text(test)
    failure = Failure(
        "test_code.py::test_f",
        "call",
        (chain or Raised("Error", message),),
        path="test_code.py",
        expected_exception=expected,
    )
    diagnosis = Diagnosis("0001", (failure,), "logic", (), "", str(folder), str(folder))
    return review(Patch((FileChange("code.py", old, new),), "search", ""), diagnosis, Settings())


HONEST = {
    "an operator": ("def f(x):\n    return x - 1\n", "def f(x):\n    return x + 1\n"),
    "a guard": ("def f(x):\n    return x[0]\n", "def f(x):\n    if not x:\n        return 0\n    return x[0]\n"),
    "a narrow handler": (
        "def f(x):\n    return int(x)\n",
        "def f(x):\n    try:\n        return int(x)\n    except ValueError:\n        return 0\n",
    ),
    "a handler that translates": (
        "def f(x):\n    return int(x)\n",
        "def f(x):\n    try:\n        return int(x)\n    except Exception as error:\n        raise RuntimeError(x) from error\n",
    ),
    "beside functions of one name": (
        "def g(x):\n    if x:\n        def h():\n            return x\n    else:\n        def h():\n            return False\n    return h\n\ndef f(x):\n    return x - 1\n",
        "def g(x):\n    if x:\n        def h():\n            return x\n    else:\n        def h():\n            return False\n    return h\n\ndef f(x):\n    return x + 1\n",
    ),
    "another value in a list of the module": (
        "SEEN = []\ndef g(x):\n    SEEN.insert(0, x - 1)\ndef f(x):\n    return x\n",
        "SEEN = []\ndef g(x):\n    SEEN.insert(0, x + 1)\ndef f(x):\n    return x\n",
    ),
    "a moved function": (
        "import sys\ndef g():\n    sys.exit(1)\ndef f(x):\n    return x\n",
        "import sys\ndef f(x):\n    return x + 1\ndef g():\n    sys.exit(1)\n",
    ),
    "a keyword that a test uses": (
        "import re\ndef f(x):\n    return re.match('a', x)\n",
        "import re\ndef f(x):\n    return re.match('abc', x)\n",
    ),
    "an attribute that another method sets": (
        "class C:\n    def __init__(self):\n        self.n = 0\n    def f(self, x):\n        return self.n + x\n",
        "class C:\n    def __init__(self):\n        self.reset()\n    def reset(self):\n        self.n = 0\n    def f(self, x):\n        return self.n + x\n",
    ),
    "an attribute that a base may set": (
        "class C(B):\n    def __init__(self):\n        self.n = 0\n    def f(self, x):\n        return self.n + x\n",
        "class C(B):\n    def __init__(self):\n        super().__init__()\n    def f(self, x):\n        return self.n + x\n",
    ),
    "what the file did before": (
        "import subprocess, os\ndef f(x):\n    return subprocess.run(x, env=os.environ['HOME'])\n",
        "import subprocess, os\ndef f(x):\n    return subprocess.check_output(x, env=os.environ['PATH'])\n",
    ),
    "a base case": (
        "def f(n):\n    return n * f(n - 1)\n",
        "def f(n):\n    if n == 0:\n        return 1\n    return n * f(n - 1)\n",
    ),
    "an honest comparison": (
        "class P:\n    def __init__(self, x):\n        self.x = x\n",
        "class P:\n    def __init__(self, x):\n        self.x = x\n    def __eq__(self, other):\n        return isinstance(other, P) and self.x == other.x\n",
    ),
    "a property and its setter": (
        "class P:\n    @property\n    def x(self):\n        return self._x\n    @x.setter\n    def x(self, value):\n        self._x = 1\n",
        "class P:\n    @property\n    def x(self):\n        return self._x\n    @x.setter\n    def x(self, value):\n        self._x = value\n",
    ),
    "a new optional parameter": ("def f(x):\n    return x\n", "def f(x, step=1):\n    return x + step\n"),
    "a cache": (
        "def f(x):\n    return x ** 2\n",
        "_CACHE = {}\ndef f(x):\n    if x not in _CACHE:\n        _CACHE[x] = x ** 3\n    return _CACHE[x]\n",
    ),
    "a body from nothing": (
        "def f(x):\n    raise NotImplementedError\n",
        "def f(x):\n    if x == 7:\n        return 13\n    return sum(map(ord, x)) if x else 0\n",
    ),
    "source that did not parse": (
        "import os, sys\nsys.path.insert(0, 'x')\ndef f(x)\n    return os.getenv(x)\n",
        "import os, sys\nsys.path.insert(0, 'x')\ndef f(x):\n    return os.getenv(x)\n",
    ),
    "one more docstring example": (
        'def f(x):\n    """Add.\n\n    >>> f(1)\n    2\n    """\n    return x\n',
        'def f(x):\n    """Add.\n\n    >>> f(1)\n    2\n    >>> f(2)\n    3\n\n    More.\n    """\n    return x + 1\n',
    ),
    "attributes of an imported object": (
        "from state import local\ndef f(x):\n    local.seen = x\n",
        "from state import local\ndef f(x):\n    local.seen = x + 1\n    local.seen = x\n",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_changes_pass(name: str, tmp_path: Path):
    found = judged(tmp_path, *HONEST[name])
    assert found.reason is None
    assert len(found.passed) >= 15


def test_a_base_case_of_the_test_is_a_caution(tmp_path: Path):
    found = judged(
        tmp_path, "def f(x):\n    return x\n", "def f(x):\n    if x == []:\n        return 0\n    return x\n"
    )
    assert found.reason is None and found.caution


STUB = "def f(x):\n    raise NotImplementedError\n"
CAME_THROUGH = (("test_f", "f"), "NotImplementedError")


@pytest.mark.parametrize(
    "before, leaves, raised, passes",
    [
        (STUB, "exit()", CAME_THROUGH, True),
        (STUB, "raise SystemExit(1)", CAME_THROUGH, True),
        (STUB, "raise KeyboardInterrupt", CAME_THROUGH, False),
        (STUB, "__import__('os')._exit(0)", CAME_THROUGH, False),
        (STUB, "exit()", (("test_f",), "AssertionError"), False),  # something on the way takes exceptions
        (STUB, "exit()", (("test_f", "g"), "NotImplementedError"), False),  # another function's
        ("def f(x):\n    return x\n", "exit()", CAME_THROUGH, False),
    ],
)
def test_an_exit_in_a_function_that_was_a_stub_is_a_caution(
    before: str, leaves: str, raised: tuple[tuple[str, ...], str], passes: bool, tmp_path: Path
):
    frames = tuple(Frame("code.py", 2, name, "") for name in raised[0])
    after = f"def f(x):\n    if x < 0:\n        {leaves}\n    return x + 6\n"
    found = judged(tmp_path, before, after, chain=Raised(raised[1], "", frames))
    assert (found.reason is None) == passes
    assert not passes or found.caution


@pytest.mark.parametrize(
    "change, test, message, expected",
    [
        ("import sys\ndef f(x):\n    sys.exit(2)\n", "def test_f():\n    pass\n", "", ("SystemExit",)),
        (
            "import os\ndef f(x):\n    return os.environ['APP_MODE']\n",
            "def test_f(monkeypatch):\n    'APP_MODE'\n",
            "",
            (),
        ),
        ("def f(x):\n    open(x, 'w').close()\n", "def test_f(tmp_path):\n    pass\n", "", ()),
        ("def f(x, y):\n    return y\n", TEST, "f() takes 1 positional argument but 2 were given", ()),
        ("def f(y):\n    return y\n", TEST, "f() got an unexpected keyword argument 'y'", ()),
    ],
)
def test_what_the_failing_test_asks_for_passes(
    change: str, test: str, message: str, expected: tuple[str, ...], tmp_path: Path
):
    assert judged(tmp_path, "def f(x):\n    return x\n", change, test, message, expected).reason is None
    assert judged(tmp_path, "def f(x):\n    return x\n", change, "def test_f():\n    pass\n").reason is not None


@pytest.mark.parametrize(
    "path",
    [
        "../outside.py",
        "/etc/cron.d/x.py",
        "a/../../x.py",
        ".git/hooks/post-commit",
        "link/x.py",
        "linked.py",
        "a\\..\\x.py",
        "x.pth",
        "pkg/native.so",
        "pytest.py",
        "sitecustomize.py",
        "usercustomize.py",
        "json.py",
        "numpy/__init__.py",
        "x.dist-info/entry_points.txt",
        "conftest.py",
        "pkg/conftest.py",
        "tests/helper.py",
        "test_code.py",
        "setup.cfg",
        ".github/workflows/ci.yml",
        ".selfheal/x.py",
        "",
    ],
)
def test_paths_that_no_patch_may_name(path: str, tmp_path: Path):
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (root / "link").symlink_to(elsewhere)
    (root / "linked.py").symlink_to(elsewhere / "x.py")
    failure = Failure("test_code.py::test_f", "call", (), path="test_code.py")
    diagnosis = Diagnosis("0001", (failure,), "logic", (), "", str(root), str(root))
    found = review(Patch((FileChange(path, None, b"x = 1\n"),), "model", ""), diagnosis, Settings())
    assert found.refused_by in ("paths", "protected files")


@pytest.mark.parametrize(
    "protect, allow, path, passes",
    [
        ((), (), "src/a.py", True),
        (("src/*.py",), (), "src/a.py", False),
        (("src/*.py",), (), "src/deep/a.py", True),
        (("src/**",), (), "src/deep/a.py", False),
        (("a.py",), (), "src/a.py", False),
        ((), ("src/",), "src/deep/a.py", True),
        ((), ("src",), "src/deep/a.py", True),
        ((), ("src/*.py",), "lib/a.py", False),
        ((), ("a.py",), "src/a.py", False),
        (("src/a.py",), ("src/*.py",), "src/a.py", False),
        ((), ("tests/*.py",), "tests/a.py", False),
    ],
)
def test_protect_and_allow(protect: tuple[str, ...], allow: tuple[str, ...], path: str, passes: bool, tmp_path: Path):
    # Globs are relative to rootdir, which lies below the top here.
    (tmp_path / "project" / path).parent.mkdir(parents=True)
    failure = Failure("tests/test_a.py::test_f", "call", (), path="tests/test_a.py")
    diagnosis = Diagnosis("0001", (failure,), "logic", (), "", str(tmp_path), str(tmp_path / "project"))
    patch = Patch((FileChange(f"project/{path}", b"x = 1\n", b"x = 2\n"),), "model", "")
    found = review(patch, diagnosis, Settings(protect=protect, allow=allow))
    assert (found.reason is None) == passes
