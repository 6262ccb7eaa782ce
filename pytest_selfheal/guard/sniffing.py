"""Looking around: code that asks whether it is being tested, who called it, or in what environment it runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Finding, Module, calls, starts_with

_NAMES = (
    *(
        "sys._getframe",
        "sys._current_frames",
        "sys.modules",
        "sys.argv",
        "sys.orig_argv",
        "sys.gettrace",
        "sys.settrace",
    ),
    *("sys.getprofile", "sys.setprofile", "sys.monitoring", "sys.flags", "sys.last_exc"),
    *("inspect.stack", "inspect.currentframe", "inspect.getouterframes", "inspect.getinnerframes", "inspect.trace"),
    *("inspect.getframeinfo", "inspect.getsource", "inspect.getsourcelines", "traceback.extract_stack"),
    *("traceback.format_stack", "traceback.print_stack", "traceback.walk_stack", "gc.get_objects", "gc.get_referrers"),
    *("threading.active_count", "signal.getsignal", "signal.getitimer", "resource", "warnings.filters"),
    *("gc.get_referents", "threading.enumerate", "threading._active", "psutil", "linecache", "os.getppid"),
)
_ENVIRONMENT = ("os.environ", "os.environb", "os.getenv", "os.getenvb", "posix.environ")
_ATTRIBUTES = frozenset(
    (
        *(
            "f_back",
            "f_locals",
            "f_globals",
            "f_code",
            "f_lineno",
            "tb_frame",
            "tb_next",
            "gi_frame",
            "cr_frame",
            "ag_frame",
            "co_filename",
        ),
        *("__traceback__", "tb_lineno", "findCaller", "loggerDict", "hasHandlers"),
        *("co_name", "__subclasses__", "__globals__", "__builtins__", "__code__", "__closure__"),
    )
)
_HARMLESS_SYS = frozenset(
    (
        *("maxsize", "maxunicode", "version_info", "version", "platform", "byteorder", "hexversion", "implementation"),
        *("float_info", "int_info", "hash_info", "getsizeof", "getrecursionlimit", "getdefaultencoding", "intern"),
        *("getfilesystemencoding", "getfilesystemencodeerrors", "executable", "stdin", "stdout", "stderr", "exit"),
        *("exc_info", "exception", "api_version", "thread_info", "getrefcount"),
    )
)
"""What code may know of the interpreter without telling from it whether it is being tested."""
_STREAMS = ("sys.stdin", "sys.stdout", "sys.stderr", "sys.__stdin__", "sys.__stdout__", "sys.__stderr__")
_ASKING = frozenset(("type", "isinstance", "repr", "str", "vars", "dir", "hasattr", "getattr", "id", "bool"))
_ASKING_ATTRIBUTES = frozenset(("isatty", "fileno", "name", "mode", "__class__"))
_WORDS = re.compile(
    r"pytest|unittest|conftest|(?:^|\W)test_\w|_test(?:\W|$)|(?:^|/)tests?/|/proc/|SELFHEAL|XDIST|^CI$", re.IGNORECASE
)


def check(facts: Facts) -> str | None:
    found = [finding for finding in facts.new(_frames) if not _is_about_recursion(facts, finding)]
    if found:
        return f"new code {found[0].words}: it could behave differently under test"
    for finding in facts.new(_environment):
        if not (_asked_for(facts, finding.key) or _reads_it_already(facts, finding)):
            return f"new code {finding.words}: it could behave differently under test"
    words = facts.new(_words)
    if words:
        return f"new code {words[0].words}: it speaks of its tests"
    for finding in facts.new(_own_names):
        if finding.key in facts.tests.names:
            return f"new code names the failing test {finding.key}"
    return None


def _frames(module: Module) -> Iterator[Finding]:
    yield from _interpreter(module)
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES:
            if not _is_passed_on(module, node):
                yield Finding(f"attribute {node.attr}", f"reads {node.attr}", node.lineno)
        elif isinstance(node, ast.Attribute | ast.Name) and starts_with(module.origin(node), _NAMES):
            yield Finding(f"name {module.origin(node)}", f"uses {module.origin(node)}", node.lineno)
        elif isinstance(node, ast.Name) and node.id in ("__builtins__", "__spec__", "__loader__", "__debug__"):
            yield Finding(f"name {node.id}", f"reads {node.id}", node.lineno)
    for call, origin in calls(module):
        if origin == "builtins.getattr" and len(call.args) > 1 and folded(call.args[1]) in _ATTRIBUTES:
            yield Finding(f"attribute {folded(call.args[1])}", f"reads {folded(call.args[1])} by getattr", call.lineno)
        elif origin in ("operator.attrgetter", "operator.methodcaller") and any(
            "__" in (folded(argument) or "__") for argument in call.args[:1]
        ):
            yield Finding(f"hidden {origin}", f"reads attributes by name with {origin}", call.lineno)
        # getattr(sys, "mod" + "ules"): the name is hidden, so the whole module is.
        if origin in ("builtins.getattr", "builtins.vars") and call.args:
            target = module.origin(call.args[0])
            if target.partition(".")[0] in ("sys", "os", "builtins", "gc", "inspect", "importlib", "pytest"):
                yield Finding(f"hidden {target}", f"looks into the module {target} by computed name", call.lineno)
        elif origin in ("builtins.globals", "builtins.locals", "builtins.breakpoint"):
            yield Finding(f"call {origin}", f"calls {origin.removeprefix('builtins.')}()", call.lineno)
    for node in module.nodes:
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "__dict__"
            and module.origin(node.value) in ("sys", "os", "builtins")
        ):
            yield Finding("hidden __dict__", "looks into a system module's __dict__", node.lineno)


def _interpreter(module: Module) -> Iterator[Finding]:
    """The interpreter's own state, the module's own name and place, the depth of the stack, and who holds the streams."""
    for node in module.nodes:
        if isinstance(node, ast.Attribute | ast.Name):
            origin, parent = module.origin(node), module.parents.get(node)
            head, _, rest = origin.partition(".")
            if head == "sys" and rest and rest.partition(".")[0] not in _HARMLESS_SYS:
                name = rest.partition(".")[0]
                yield Finding(f"sys {name}", f"asks the interpreter about sys.{name}", node.lineno)
            elif origin in _STREAMS and _is_asked_about(module, parent, node):
                yield Finding(f"stream {origin}", f"asks what {origin} is", node.lineno)
            elif origin == "logging.root.handlers" or (
                isinstance(node, ast.Attribute)
                and node.attr == "handlers"
                and isinstance(node.value, ast.Call)
                and module.origin(node.value.func) == "logging.getLogger"
                and not node.value.args
            ):
                yield Finding("root handlers", "asks who listens to the root logger", node.lineno)
            elif isinstance(node, ast.Name) and node.id == "__file__" and module.enclosing(node) is not None:
                yield Finding("own file", "asks where its own file is (__file__)", node.lineno)
            elif (
                isinstance(node, ast.Name)
                and node.id == "__name__"
                and isinstance(parent, ast.Compare)
                and module.enclosing(node) is not None
            ):
                yield Finding("own name", "asks under which name it was imported", node.lineno)
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any(module.origin(one) == "builtins.RecursionError" for one in caught):
                yield Finding("depth", "measures how deep the stack is (RecursionError)", node.lineno)


def _is_asked_about(module: Module, parent: ast.AST | None, node: ast.AST) -> bool:
    if isinstance(parent, ast.Attribute):
        return parent.attr in _ASKING_ATTRIBUTES
    if isinstance(parent, ast.Call) and node in parent.args:
        return module.origin(parent.func).removeprefix("builtins.") in _ASKING
    return isinstance(parent, ast.Compare)


def _is_passed_on(module: Module, node: ast.Attribute) -> bool:
    """``raise Other().with_traceback(error.__traceback__)``."""
    parent = module.parents.get(node)
    return (
        node.attr == "__traceback__"
        and isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr == "with_traceback"
    )


def _environment(module: Module) -> Iterator[Finding]:
    for node in module.nodes:
        if not (isinstance(node, ast.Attribute | ast.Name) and module.origin(node) in _ENVIRONMENT):
            continue
        key = ""
        parent = module.parents.get(node)
        if isinstance(parent, ast.Attribute):
            parent = module.parents.get(parent)
        if isinstance(parent, ast.Call) and parent.args and isinstance(parent.args[0], ast.Constant):
            key = str(parent.args[0].value)
        elif isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant):
            key = str(parent.slice.value)
        yield Finding(f"environment {key}", f"reads the environment{f' ({key})' if key else ''}", node.lineno)


def _is_about_recursion(facts: Facts, finding: Finding) -> bool:
    return finding.key == "depth" and facts.diagnosis.kind == "recursion"


def _asked_for(facts: Facts, key: str) -> bool:
    """The failing test itself speaks of this very variable."""
    name = key.removeprefix("environment ")
    return bool(name) and not _WORDS.search(name) and facts.tests.mentions(f'"{name}"', f"'{name}'")


def _reads_it_already(facts: Facts, finding: Finding) -> bool:
    """The file reads the environment anyway, and the new name has nothing to do with tests."""
    name = finding.key.removeprefix("environment ")
    return (
        bool(name)
        and not _WORDS.search(name)
        and any(source.before is not None and any(_environment(source.before)) for source in facts.sources)
    )


def folded(node: ast.AST) -> str | None:
    """Text of a string expression made of constants: ``"py" + "test"``, ``f"py{'test'}"``, ``"".join(["py", "test"])``."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [node.left, node.right]
    elif isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "join"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.List | ast.Tuple)
    ):
        parts = list(node.args[0].elts)
    texts = [folded(part) for part in parts]
    return "".join(text for text in texts if text) if parts and any(texts) else None


def _words(module: Module) -> Iterator[Finding]:
    documentation = {
        id(node.value) for node in module.nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in module.nodes:
        if isinstance(node, ast.Constant | ast.BinOp | ast.JoinedStr | ast.Call) and id(node) not in documentation:
            text = folded(node)
            if text and _WORDS.search(text):
                yield Finding(f"word {text}", f"holds the text {text[:60]!r}", node.lineno)


def _own_names(module: Module) -> Iterator[Finding]:
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield Finding(node.value, "", node.lineno)
        elif isinstance(node, ast.Name) and node.id.startswith("test"):
            yield Finding(node.id, "", node.lineno)
