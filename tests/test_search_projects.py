"""The embedded engine on whole small projects: what it finds has to make a real pytest run pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from project_helpers import workshop_at
from search_helpers import after, gave_up, patch, proposals

from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.settings import Settings
from pytest_selfheal.types import GaveUp, Patch

CLAMP = "def clamp(x, low, high):\n    if x < low:\n        return low\n    if x > high:\n        return low\n    return x\n"
CLAMP_TEST = "from m import clamp\n\n\ndef test_it():\n    assert clamp(1, 0, 5) == 1\n    assert clamp(9, 0, 5) == 5\n    assert clamp(-1, 0, 5) == 0\n"

PROJECTS: dict[str, dict[str, str | bytes]] = {
    "a function under a decorator, imported by name": {
        "m.py": "import functools\n\n\ndef loud(f):\n    @functools.wraps(f)\n    def inner(*args):\n        return f(*args)\n\n    return inner\n\n\n@loud\n"
        + CLAMP,
        "test_m.py": CLAMP_TEST,
    },
    "a method, with fixtures of every scope": {
        "m.py": "class Cart:\n    def __init__(self):\n        self.prices = []\n\n    def add(self, price):\n        self.prices.append(price)\n\n    def total(self):\n        return sum(self.prices) - 1\n",
        "conftest.py": "import pytest\nfrom m import Cart\n\n\n@pytest.fixture(scope='session')\ndef price():\n    return 3\n\n\n@pytest.fixture\ndef cart(tmp_path, price):\n    cart = Cart()\n    cart.add(price)\n    yield cart\n    cart.prices.clear()\n",
        "test_m.py": "def test_one(cart):\n    assert cart.total() == 3\n\n\ndef test_two(cart):\n    cart.add(4)\n    assert cart.total() == 7\n    assert len(cart.prices) == 2\n",
    },
    "unittest": {
        "m.py": CLAMP,
        "test_m.py": "import unittest\nfrom m import clamp\n\n\nclass Clamp(unittest.TestCase):\n    def setUp(self):\n        self.top = 5\n\n    def test_it(self):\n        self.assertEqual(clamp(9, 0, self.top), 5)\n        self.assertEqual(clamp(-9, 0, self.top), 0)\n        self.assertTrue(clamp(1, 0, self.top))\n",
    },
    "parameters": {
        "m.py": CLAMP,
        "test_m.py": "import pytest\nfrom m import clamp\n\n\n@pytest.mark.parametrize('x, y', [(1, 1), (9, 5), (7, 5), (-1, 0)])\ndef test_it(x, y):\n    assert clamp(x, 0, 5) == y\n",
    },
    "an expected exception": {
        "m.py": "def root(x):\n    if x < 0:\n        raise KeyError(x)\n    return x**0.5\n",
        "test_m.py": "import pytest\nfrom m import root\n\n\ndef test_it():\n    assert root(4) == 2\n    with pytest.raises(ValueError):\n        root(-1)\n",
    },
    "a captured log": {
        "m.py": "import logging\n\n\ndef f(x):\n    logging.getLogger('m').warning('got %s', x)\n    return x - 1\n",
        "test_m.py": "from m import f\n\n\ndef test_it(caplog):\n    assert f(1) == 2\n    assert f(4) == 5\n    assert 'got 1' in caplog.text\n",
    },
    "an endless loop": {
        "pytest.ini": "[pytest]\ntimeout = 2\n",
        "m.py": "def digits(n):\n    count = 0\n    while n >= 0:\n        n //= 10\n        count += 1\n    return count\n",
        "test_m.py": "from m import digits\n\n\ndef test_it():\n    assert digits(7) == 1\n    assert digits(123) == 3\n",
    },
    "a wait for what never comes": {
        "pytest.ini": "[pytest]\ntimeout = 1\n",
        "m.py": "import queue\nimport threading\n\n\ndef squares(numbers):\n    todo, done = queue.Queue(), queue.Queue()\n\n    def work():\n        for _ in range(len(numbers) - 1):\n            done.put(todo.get() ** 2)\n\n    threading.Thread(target=work, daemon=True).start()\n    for number in numbers:\n        todo.put(number)\n    return [done.get() for _ in numbers]\n",
        "test_m.py": "from m import squares\n\n\ndef test_it():\n    assert squares([3, 2]) == [9, 4]\n    assert squares([1]) == [1]\n",
    },
    "a default, which only a fresh import carries": {
        "m.py": "LIMIT = 3\n\n\ndef first(items, count=2, *, limit=LIMIT):\n    return items[:count]\n",
        "test_m.py": "import inspect\nfrom m import first\n\n\ndef test_it():\n    assert inspect.signature(first).parameters['count'].default == 3\n    assert first([1, 2, 3, 4]) == [1, 2, 3]\n",
    },
    "a syntax error": {
        "m.py": "def double(x)\n    return 2 * x\n",
        "test_m.py": "from m import double\n\n\ndef test_it():\n    assert double(2) == 4\n",
    },
    "a value left for later, made of a collection": {
        "m.py": "def longest(words):\n    found = None\n    return found\n",
        "test_m.py": "from m import longest\n\n\ndef test_it():\n    assert longest(['a', 'bcd', 'ef']) == 3\n    assert longest(['four', '']) == 4\n    assert longest(['x']) == 1\n",
    },
    "a module-level cache that the first call fills": {
        "m.py": "_table = None\n\n\ndef table():\n    global _table\n    if _table is None:\n        _table = build()\n    return _table\n\n\ndef build():\n    return {n: n * n for n in range(3)}\n",
        "test_m.py": "from m import table\n\n\ndef test_it():\n    assert table()[2] == 4\n    assert table()[3] == 9\n",
    },
}


@pytest.mark.parametrize("name", PROJECTS)
def test_the_first_patch_makes_the_tests_pass(tmp_path: Path, name: str) -> None:
    found = patch(tmp_path, PROJECTS[name])
    with workshop_at(tmp_path, import_roots=(tmp_path.resolve(),)) as workshop, workshop.fresh(found.changes) as copy:
        run = run_tests(workshop, copy, None)
    assert run.outcomes and set(run.outcomes.values()) == {"passed"}, after(found)
    assert found.candidates_tried >= 1
    assert found.description


def test_bytes_that_the_edit_does_not_touch_survive(tmp_path: Path) -> None:
    source = b"# coding: latin-1\r\n# \xe9t\xe9\r\ndef f(x):\r\n    return x > 3"
    found = patch(
        tmp_path,
        {"m.py": source, "test_m.py": "from m import f\n\n\ndef test_it():\n    assert f(3)\n    assert not f(2)\n"},
    )
    (change,) = found.changes
    assert change.before == source
    assert change.after is not None
    assert change.after.startswith(b"# coding: latin-1\r\n# \xe9t\xe9\r\ndef f(x):\r\n    return ")
    assert not change.after.endswith(b"\n")


def test_a_patch_that_breaks_a_passing_test_is_not_proposed(tmp_path: Path) -> None:
    files = {
        "m.py": "def price(n):\n    return n * 2\n",
        "test_m.py": "from m import price\n\n\ndef test_new():\n    assert price(3) == 9\n\n\ndef test_old():\n    assert price(0) == 0\n    assert price(1) == 3 or price(1) == 2\n",
    }
    found = patch(tmp_path, files)
    namespace: dict[str, object] = {}
    exec(after(found), namespace)
    price = namespace["price"]
    assert callable(price)
    assert (price(3), price(0)) == (9, 0)


def test_tests_that_leave_it_open_are_told_apart_by_an_input(tmp_path: Path) -> None:
    files = {
        "m.py": "def adult(age):\n    return age > 21\n",
        "test_m.py": "from m import adult\n\n\ndef test_it():\n    assert adult(30)\n    assert not adult(5)\n    assert adult(19)\n",
    }
    found = patch(tmp_path, files)
    assert found.alternatives
    assert found.confidence != "high"
    assert "adult(" in found.alternatives[0].distinguishing_input


def test_what_no_test_used_tells_patches_apart_as_well(tmp_path: Path) -> None:
    files = {
        "m.py": "def capitals(text):\n    return sum(1 for c in text if c.islower())\n",
        "test_m.py": "from m import capitals\n\n\ndef test_it():\n    assert capitals('abAB') == 2\n    assert capitals('helloE') == 1\n    assert capitals('XaYbZ') == 3\n    assert capitals('') == 0\n",
    }
    found = patch(tmp_path, files)
    assert found.confidence != "high"  # not c.islower(), c.isupper(): alike for letters
    inputs = [other.distinguishing_input for other in found.alternatives]
    assert any(any(c in " 7" for c in re.sub(r" →.*", "", text)) for text in inputs), inputs


def test_what_no_small_change_heals_is_given_up_with_what_came_near(tmp_path: Path) -> None:
    files = {
        "m.py": "def secret(text):\n    return len(text)\n",
        "test_m.py": "import hashlib\nfrom m import secret\n\n\ndef test_it():\n    assert secret('') == 0\n    for word in ('a', 'bc', 'def'):\n        assert secret(word) == hashlib.md5(word.encode()).hexdigest()\n",
    }
    last = gave_up(tmp_path, files)
    assert last.reason == "no_candidate"
    assert last.candidates_tried > 100
    assert str(last.candidates_tried) in last.words


def test_files_under_protection_are_left_alone(tmp_path: Path) -> None:
    files = {"m.py": CLAMP, "test_m.py": CLAMP_TEST}
    last = gave_up(tmp_path, files, Settings(sandbox="process", effort="fast", protect=("m.py",)))
    assert last.candidates_tried == 0


def test_a_rejected_patch_is_followed_by_the_next(tmp_path: Path) -> None:
    found = proposals(tmp_path, {"m.py": CLAMP, "test_m.py": CLAMP_TEST}, count=3)
    patches = [p for p in found if isinstance(p, Patch)]
    assert len({p.changes for p in patches}) == len(patches) >= 1
    assert len(found) == 3 or isinstance(found[-1], GaveUp)


def test_without_fork_each_candidate_gets_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.fork")
    files = {
        "m.py": "def double(x):\n    return x - x\n",
        "test_m.py": "from m import double\n\n\ndef test_it():\n    assert double(2) == 4\n",
    }
    found = patch(tmp_path, files)
    namespace: dict[str, object] = {}
    exec(after(found), namespace)
    assert eval("double(2)", namespace) == 4


MIXED = {"pytest.ini": "[pytest]\npythonpath = .\n", "m.py": "def mixed(a, b):\n    return a - b\n"}


def test_what_repairs_the_failures_of_other_causes_too_is_chosen(tmp_path: Path) -> None:
    one = "from m import mixed\n\n\ndef test_one():\n    assert mixed(2, 2) == 4\n    assert mixed(0, 0) == 0\n"
    files = {**MIXED, "test_m.py": one}
    assert "a + b" not in after(patch(tmp_path / "alone", files))
    files["test_m.py"] += "\n\ndef test_other():\n    assert mixed(3, 5) == 8\n"
    [found] = proposals(tmp_path / "both", files, only="test_one")
    assert isinstance(found, Patch)
    assert "a + b" in after(found)


ON_FIRST_USE = {
    "an object remembers that a table was filled": """\
RATES = {}


class Table:
    def __init__(self):
        self.filled = False

    def fill(self):
        if not self.filled:
            self.filled = True
            RATES.update(low=2, high=3)


TABLE = Table()


def rate(name):
    TABLE.fill()
    return RATES[name]
""",
    "a function is replaced by one that was made for it": """\
MADE = {}


def lazily(function):
    def first(name, _function=function):
        return make(_function)(name)

    MADE[function] = first
    return first


def make(function):
    made, space = MADE[function], {}
    exec("def made(name, _function=None):\\n    return the_rate(name)\\n", space)
    globals()["the_rate"] = function
    made.__code__ = space["made"].__code__
    return made


@lazily
def rate(name):
    return {"low": 2, "high": 3}[name]
""",
}


ASSERTS = {
    "values": "    assert price(3, 'low') == 6\n    assert price(5, 'high') == 15\n    assert price(0, 'low') == 0\n",
    # It fails with and without what is made on first use, and comes no nearer either way.
    "a truth": "    prices = [price(3, 'low'), price(5, 'high'), price(0, 'low')]\n    assert all(map(int.__eq__, prices, [6, 15, 0]))\n",
}


@pytest.mark.parametrize("kind", ON_FIRST_USE)
@pytest.mark.parametrize("asserted", ASSERTS)
def test_what_is_made_on_first_use_is_there_for_each_candidate(tmp_path: Path, kind: str, asserted: str) -> None:
    files = {
        "rates.py": ON_FIRST_USE[kind],
        "price.py": "from rates import rate\n\n\ndef price(n, name):\n    return n + rate(name)\n",
        "test_price.py": (f"from price import price\n\n\ndef test_price():\n{ASSERTS[asserted]}"),
    }
    assert "return n * rate(name)" in after(patch(tmp_path, files))


@pytest.mark.parametrize(("seconds", "confidence"), [(60.0, "high"), (4.0, "medium")])
def test_confidence_is_lower_where_time_ended_the_search(tmp_path: Path, seconds: float, confidence: str) -> None:
    tests = (
        "import time\n\nfrom calc import span\n\n\ndef test_span():\n    time.sleep(0.1)\n"
        "    assert span([3, 9, 4]) == 6\n    assert span([-1, -5]) == 4\n    assert span([7]) == 0\n"
    )
    files = {"calc.py": "def span(values):\n    return max(values) + min(values)\n", "test_calc.py": tests}
    found = patch(tmp_path, files, Settings(sandbox="process", effort="fast", time_limit=seconds))
    assert "max(values) - min(values)" in after(found)
    assert found.confidence == confidence


LOOPS = {
    "alone": {},
    "beside a collection": {"m.py": f"KNOWN = {{7: 1}}\n\n\n{PROJECTS['an endless loop']['m.py']}"},
    "beside a passing test": {"test_ok.py": "from m import digits\n\n\ndef test_ok():\n    assert digits(-7) == 0\n"},
    "beside another test that never ends": {
        "test_more.py": "from m import digits\n\n\ndef test_more():\n    assert digits(0) == 0\n"
    },
}


@pytest.mark.parametrize("name", LOOPS)
def test_what_never_ends_is_waited_for_no_longer_than_needed(tmp_path: Path, name: str) -> None:
    found = patch(tmp_path, {**PROJECTS["an endless loop"], **LOOPS[name]}, only="test_it")
    assert "n > 0" in after(found)
    assert found.cpu_seconds < 12  # each run that waited for the end of the loop would cost six more
