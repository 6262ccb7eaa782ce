"""Operators that use the project's own vocabulary, and those that real fixes taught: before → after."""

from __future__ import annotations

import pytest
from operator_twins import variants

TWINS = [
    ("project", "f", "def clean(x):\n    return x\ndef f(v):\n    return g(v)\n", "    return g(clean(v))\n"),
    ("project", "A.f", "class A:\n    def show(self, x):\n        return x\n    def f(self, v):\n        return v\n", "    def f(self, v):\n        return self.show(v)\n"),
    ("project", "B.f", "class A:\n    def show(self, x):\n        return x\nclass B(A):\n    def f(self, v):\n        return v\n", "    def f(self, v):\n        return self.show(v)\n"),
    ("project", "A.f", "PORTS = {}\nclass A:\n    def f(self, v):\n        return self.port\n", "return self.port or PORTS.get(v)\n"),
    ("project", "A.f", "class A:\n    def items(self):\n        return 1\n    def f(self):\n        return len(self._items)\n", "return len(list(self))\n"),
    ("project", "deco", "import functools\ndef deco(func):\n    def inner(*a):\n        return func(*a)\n    return inner\n", "    @functools.wraps(func)\n    def inner"),
    ("project", "A.f", "class A:\n    def __init__(self):\n        self.seen = False\n    def f(self):\n        return self.g()\n    def h(self):\n        self.seen = True\n", "    def f(self):\n        self.seen = False\n        return self.g()\n"),
    ("guard/expression", "f", "def f(value):\n    e = int(log(value))\n    return e\n", "e = int(log(value)) if value != 0 else 0\n"),
    ("mining", "f", "def f(t):\n    return t in (T.A, T.B) or t is T.C\n", "t in (T.A, T.B, T.C) or"),
    ("control", "f", "def f(a, b):\n    if a:\n        g()\n    elif b:\n        h()\n", "    if b:\n        h()\n    elif a:\n        g()\n"),
    ("regex", "<module>", "RULES = [(r'\\w+(?=\\s*\\.)', 1)]\n", "r'\\w+(?=\\s*\\.(?!\\d))'"),
    ("regex", "<module>", "import re\nR = re.compile(r'^[=-]+$')\n", "(?:=+|-+)$"),
    ("copy/statement", "f", "def f(s):\n    s['count'] = 0\n    return g(s)\ndef h(s):\n    s['delay'] += 1\n", "    s['count'] = 0\n    s['delay'] = 0\n"),
    ("constant", "f", "def f():\n    return {'type': None}\n", "return {'type': 'null'}\n"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("family", "function", "before", "part"), TWINS, ids=[f"{t[0]}-{i}" for i, t in enumerate(TWINS)]
)
def test_operator_writes_the_part(family: str, function: str, before: str, part: str) -> None:
    tests = "def test():\n    assert f() == {'type': 'null'}\n"
    found = variants(family, before, tests, function=function)
    assert any(part in text.replace('"', "'") for text in found), found[:5]
