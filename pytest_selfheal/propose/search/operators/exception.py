"""Exceptions: the type raised or caught, tuples widened, a statement wrapped in ``try``, re-raised as what callers expect."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.propose.search.candidate import Draft, Edit
from pytest_selfheal.propose.search.context import Context
from pytest_selfheal.propose.search.operators.block import insert, lines, reindent, text_of, unit
from pytest_selfheal.propose.search.operators.edit import short, swap
from pytest_selfheal.propose.search.source import Region, Source

_COMMON = ("ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "RuntimeError", "NotImplementedError")
_MORE = (
    "OSError",
    "StopIteration",
    "ZeroDivisionError",
    "OverflowError",
    "LookupError",
    "UnicodeDecodeError",
    "ImportError",
)


def propose(region: Region, context: Context) -> Iterator[Draft]:
    source = region.source
    seen = [m.partition(":")[0].rpartition(".")[2] for m in context.messages]
    raised = [n for n in dict.fromkeys(seen) if n.isidentifier() and n not in ("AssertionError", "Failed")]
    wanted = list(context.expected_exceptions)
    own = [n for n in context.names if n.endswith(("Error", "Exception", "Warning"))][:12]
    types = list(dict.fromkeys([*wanted, *raised, *own, *_COMMON]))
    for node in region.nodes:
        if isinstance(node, ast.Raise) and node.exc is not None:
            target = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(target, (ast.Name, ast.Attribute)):
                for name in types:
                    factor = 4.0 if name in wanted else 1.0
                    yield swap(source, target, name, "exception/raise", factor)
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            yield from _handler(region, node, [*raised, *wanted, *own, *_COMMON, *_MORE], raised)
        elif isinstance(node, ast.Return) and wanted:
            for name in wanted[:2]:
                edit = Edit(
                    *source.span(node), f'raise {name}("{short(source.segment(node)).replace(chr(34), chr(39))}")'
                )
                yield Draft((edit,), "exception/instead", f"raise {name}")
    if not isinstance(region.node, ast.Module):
        yield from _wrapped(region, raised, wanted, context.raised_through(source.path))


def _handler(region: Region, node: ast.ExceptHandler, types: list[str], raised: list[str]) -> Iterator[Draft]:
    source = region.source
    assert node.type is not None
    text = source.segment(node.type)
    for name in dict.fromkeys(types):
        if name in text.replace("(", " ").replace(")", " ").replace(",", " ").split():
            continue
        factor = 4.0 if name in raised else 1.0
        wide = f"{text[:-1].rstrip().rstrip(',')}, {name})" if isinstance(node.type, ast.Tuple) else f"({text}, {name})"
        if isinstance(node.type, ast.Tuple) and not text.startswith("("):
            wide = f"({text}, {name})"
        yield Draft((Edit(*source.span(node.type), wide),), "exception/widen", f"catch {name} too", factor)
        yield Draft((Edit(*source.span(node.type), name),), "exception/catch", f"catch {name}", factor * 0.5)
    step = source.indent_of(node.body[0])
    place = insert(source, node.body[-1], "raise", after=True)
    if place is not None and not isinstance(node.body[-1], (ast.Raise, ast.Return)):
        yield Draft((place,), "exception/reraise", "raise again")
    for word in ("pass", "continue", "return None", "return False", "raise"):
        span = lines(source, node.body[0]), lines(source, node.body[-1])
        if span[0] and span[1]:
            edit = Edit(span[0][0], span[1][1], f"{step}{word}{source.newline}")
            yield Draft((edit,), "exception/action", f"{word} in the handler")


def _wrapped(region: Region, raised: list[str], wanted: list[str], crashed: frozenset[int]) -> Iterator[Draft]:
    """One statement in ``try``; the handler raises what the test wants, or returns, skips or sets a default.

    Far likelier (``exception/crash``) where the failure's own exception went through the statement.
    """
    source = region.source
    step = unit(source)
    within: dict[ast.AST | None, list[ast.AST]] = {}
    caught = raised[:3] or ["Exception"]
    inner = [n for n in (*caught, *(() if raised else _COMMON[:5])) if n != "Exception"]
    for node in region.statements:
        if not isinstance(node, (ast.Assign, ast.Expr, ast.Return, ast.AugAssign, ast.For, ast.With)):
            continue
        span, text = lines(source, node), text_of(source, node)
        if (
            span is None
            or text is None
            or '"""' in text
            or not any(isinstance(n, (ast.Call, ast.Subscript, ast.Attribute)) for n in ast.walk(node))
        ):
            continue
        indent = source.indent_of(node)
        here = not isinstance(node, (ast.For, ast.With)) and not crashed.isdisjoint(
            range(node.lineno, (node.end_lineno or node.lineno) + 1)
        )
        # The end of a generator is a return, whatever next() makes of it.
        function = next((a for a in source.ancestors(node) if isinstance(a, _FUNCTIONS)), None)
        own = within.get(function)
        if own is None:
            own = within[function] = _own(source, function)
        yields = any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in own)
        asked = [name for name in wanted if not (yields and name == "StopIteration")]
        # What callers catch may be a standard type, whatever the test sees of it in the end.
        targets = [*asked[:2], *(n for n in ("ValueError", "TypeError") if here and n not in (*asked, *raised))]
        actions = [f'raise {w}("{_words(source.segment(node))}") from error' for w in targets]
        if not wanted:
            looped = any(isinstance(a, (ast.For, ast.AsyncFor, ast.While)) for a in source.ancestors(node))
            if yields:
                actions += ["return", "pass"]
            elif not any(isinstance(n, ast.Return) and n.value is not None for n in own):
                # What gives nothing back is called for what it does: in a loop, the other turns are still to be made.
                actions += ["pass"] if looped else ["return", "pass"]
            else:
                actions += ["return None", "return False", "pass", "return []", 'return ""', "return 0"]
                actions += [f"return {p}" for p in region.parameters[:3] if p not in ("self", "cls")]
            if isinstance(node, ast.Assign):
                actions += [f"{source.segment(node.targets[0])} = {v}" for v in ("None", "[]", '""', "0", "{}")]
            actions += ["continue", "break"] if looped else []
        body = reindent(text, indent, indent + step)
        nl = source.newline
        for name in [n for n in inner if n not in asked][:5]:
            for action in actions:
                translated = action.endswith("from error")
                head = f"except {name} as error" if translated else f"except {name}"
                new = f"{indent}try:{nl}{body}{indent}{head}:{nl}{indent}{step}{action}{nl}"
                key = "exception/crash" if here else "exception/wrap/translate" if translated else "exception/wrap"
                likely = (
                    bool(asked) if translated else action.startswith(("return None", "continue")) or action == "return"
                )
                factor = (4.0 if likely else 1.5) if here else 1.0
                yield Draft((Edit(*span, new),), key, f"on {name}: {action}", factor)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _own(source: Source, function: ast.AST | None) -> list[ast.AST]:
    """The nodes of a function without those of functions in it."""
    if function is None:
        return []
    return [
        n
        for n in ast.walk(function)
        if next((a for a in source.ancestors(n) if isinstance(a, _FUNCTIONS)), None) is function
    ]


def _words(text: str) -> str:
    return "failed: " + short(text, 40).replace("\\", "").replace('"', "'")
