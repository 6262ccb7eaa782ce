"""Small facts about Python source that the loaders need."""

from __future__ import annotations

import ast
import re
import textwrap

MODULE = "solution"
MODULE_PATH = f"{MODULE}.py"
TEST_PATH = f"test_{MODULE}.py"


def syntax_problem(source: str) -> str | None:
    """Why ``source`` does not parse, in words; ``None`` when it does."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError) as error:
        where = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
        return f"{getattr(error, 'msg', None) or error}{where}"
    return None


def function(source: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The last top-level definition of ``name``."""
    found = None
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            found = node
    return found


def with_docstring(header: str, text: str, body: str) -> str:
    """A function's source from its header (``def …:``), documentation and body, all as they are."""
    return f"{header.rstrip()}\n{quoted(text)}\n{body}"


def quoted(text: str, indent: str = "    ") -> str:
    """``text`` as an indented docstring that evaluates to it."""
    text = textwrap.dedent(text).strip("\n")
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"'):
        escaped = escaped[:-1] + '\\"'
    if "\n" not in escaped:
        return f'{indent}"""{escaped}"""'
    lines = [f"{indent}{line}".rstrip() for line in escaped.splitlines()]
    return f'{indent}"""{lines[0].lstrip()}\n' + "\n".join(lines[1:]) + f'\n{indent}"""'


def check_test(test: str, entry_point: str) -> str | None:
    """A pytest file from a ``def check(candidate): …`` block: the call at its end becomes a test.

    ``None`` when the block has no such call.
    """
    tree = ast.parse(test)
    calls = [node for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    if not calls or not any(isinstance(node, ast.FunctionDef) for node in tree.body):
        return None
    call = calls[-1]
    lines = test.splitlines()
    statement = "\n".join(lines[call.lineno - 1 : call.end_lineno])
    rest = "\n".join([*lines[: call.lineno - 1], *lines[call.end_lineno :]]).strip("\n")
    return f"{_imports(entry_point)}\n\n{rest}\n\n\ndef test_{entry_point}():\n{textwrap.indent(statement, '    ')}\n"


def assert_tests(asserts: list[str], entry_point: str, setup: str = "") -> str:
    """A pytest file with one test for each assert."""
    head = _imports(entry_point)
    if setup.strip():
        head += f"\n\n{_lines(setup)}"
    tests = [
        f"def test_{entry_point}_{number}():\n{textwrap.indent(_lines(text), '    ')}\n"
        for number, text in enumerate(asserts, 1)
    ]
    return "\n\n".join([f"{head}\n", *tests])


def changed_test(entry_point: str, digest: str) -> str:
    """The only test where nothing is visible: it holds as soon as the function is another than the one given."""
    return (
        "import hashlib\nfrom pathlib import Path\n\n"
        f"import {MODULE}\n\n\n"
        f"def test_{entry_point}_was_revised():\n"
        f'    """{entry_point} does not do what its docstring says; no test shows where."""\n'
        f"    source = Path({MODULE}.__file__).read_bytes()\n"
        f"    assert hashlib.sha256(source).hexdigest() != {digest!r}\n"
    )


def implemented_test(entry_point: str) -> str:
    """The only test of a stub where nothing is visible: something has to be there."""
    return (
        f"import inspect\n\nimport {MODULE}\n\n\n"
        f"def test_{entry_point}_is_implemented():\n"
        f'    """{entry_point} is to be written from its docstring; no test shows what it returns."""\n'
        f'    if "raise NotImplementedError" in inspect.getsource({MODULE}.{entry_point}):\n'
        f"        raise NotImplementedError({entry_point!r})\n"
    )


def _imports(entry_point: str) -> str:
    # The star brings helper functions that published tests use; the name itself may begin with an underscore.
    return f"from {MODULE} import *\nfrom {MODULE} import {entry_point}"


def _lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


_ARROW = re.compile(r"\s*(?:==|=>|➞|->|→|#\s*=>|\breturns?\b|\bis\b)\s*")


def docstring_examples(text: str, entry_point: str) -> list[str]:
    """``assert`` lines for the examples that a docstring shows: doctests, and ``call == value`` in its usual spellings."""
    lines = [line.strip() for line in text.splitlines()]
    found: list[str] = []
    for index, line in enumerate(lines):
        call = line.removeprefix(">>>").strip()
        start = call.find(f"{entry_point}(")
        if start < 0:
            continue
        if line.startswith(">>>"):
            expected = lines[index + 1] if index + 1 < len(lines) else ""
            candidates = [(call.partition("#")[0].strip(), expected), (call, expected)]
        else:
            candidates = [
                (call[start : match.start()], call[match.end() :].rstrip(".,;"))
                for match in _ARROW.finditer(call, start)
            ]
        for left, right in candidates:
            if _is_call(left, entry_point) and _is_literal(right):
                found.append(f"assert {left.strip()} == {right.strip()}")
                break
    return list(dict.fromkeys(found))


def _is_call(text: str, entry_point: str) -> bool:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == entry_point
        for node in ast.walk(tree)
    )


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return False
    return True
