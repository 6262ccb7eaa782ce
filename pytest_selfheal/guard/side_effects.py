"""Side effects that were not there: programs, the network, written files, threads, code made from text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_selfheal.guard.facts import Facts, Finding, Module, calls, imports, starts_with

_FACILITIES: dict[str, tuple[str, ...]] = {
    "starts programs": ("subprocess", "os.system", "os.popen", "os.spawnl", "os.spawnv", "os.posix_spawn", "os.fork", "pty",
                        "multiprocessing", "os.startfile", "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell"),
    "uses the network": ("socket", "http", "urllib.request", "requests", "httpx", "aiohttp", "ftplib", "smtplib", "poplib",
                         "imaplib", "telnetlib", "xmlrpc", "websockets", "urllib3", "ssl", "socketserver", "webbrowser"),
    "starts threads": ("threading.Thread", "threading.Timer", "_thread", "concurrent.futures", "sched"),
    "changes files": ("os.remove", "os.unlink", "os.rename", "os.replace", "os.rmdir", "os.removedirs", "os.truncate",
                      "os.chmod", "os.chown", "os.link", "os.symlink", "os.mkdir", "os.makedirs", "os.open", "os.write",
                      "shutil", "tempfile", "mmap", "shelve", "dbm", "sqlite3", "fcntl"),
    "unpacks foreign objects": ("pickle", "marshal", "dill", "cloudpickle", "shelve"),
}  # fmt: skip
_EXPECTED_BY_TESTS: dict[str, tuple[str, ...]] = {
    "starts programs": ("subprocess", "multiprocessing", "os.system"),
    "uses the network": ("socket", "http", "requests", "urllib", "server", "smtp", "ssl"),
    "starts threads": ("thread", "Thread", "concurrent"),
    "changes files": ("tmp_path", "tmpdir", "tempfile", "sqlite", "mkdir", "unlink"),
    "opens files": ("tmp_path", "tmpdir", "tempfile", "open(", "listdir", "scandir", "walk(", "glob", "iterdir"),
    "unpacks foreign objects": ("pickle", "marshal", "dill", "shelve"),
}
"""Words in the failing tests that show that this is what they are about."""
_CODE_FROM_TEXT = ("builtins.eval", "builtins.exec", "builtins.compile", "code.interact", "code.InteractiveInterpreter",
                   "runpy", "ast.unparse", "types.new_class")  # fmt: skip
_WRITING_METHODS = frozenset(
    ("write_text", "write_bytes", "unlink", "touch", "rmdir", "symlink_to", "hardlink_to", "rename")
)


def check(facts: Facts) -> str | None:
    found = facts.new(_code_from_text)
    if found:
        return f"new code {found[0].words}"
    for finding in facts.new(_used):
        facility = finding.key.partition(":")[0]
        if facts.tests.mentions(*_EXPECTED_BY_TESTS[facility]) or _had_it(facts, facility):
            continue
        return f"new code {facility} ({finding.words}), which the code did not do before"
    return None


def _code_from_text(module: Module) -> Iterator[Finding]:
    for node in module.nodes:
        if isinstance(node, ast.Name | ast.Attribute):
            origin = module.origin(node)
            if starts_with(origin, _CODE_FROM_TEXT):
                yield Finding(f"text {origin}", f"runs text as code ({origin.removeprefix('builtins.')})", node.lineno)


def _used(module: Module) -> Iterator[Finding]:
    for facility, names in _FACILITIES.items():
        for node, name in imports(module):
            if starts_with(name, names):
                yield Finding(f"{facility}:{name}", name, node.lineno)
        for call, origin in calls(module):
            if starts_with(origin, names):
                yield Finding(f"{facility}:{origin}", origin, call.lineno)
    for call, origin in calls(module):
        if origin in ("builtins.open", "io.open", "os.fdopen", "codecs.open"):
            writes = any(set(str(mode)) & set("wax+") for mode in _modes(call))
            facility = "changes files" if writes else "opens files"
            yield Finding(f"{facility}:{origin}", origin.removeprefix("builtins."), call.lineno)
        elif starts_with(origin, ("os.listdir", "os.scandir", "os.walk", "glob")):
            yield Finding(f"opens files:{origin}", origin, call.lineno)
        elif isinstance(call.func, ast.Attribute):
            if call.func.attr in _WRITING_METHODS and not (call.func.attr == "rename" and len(call.args) != 1):
                yield Finding(f"changes files:.{call.func.attr}", f".{call.func.attr}()", call.lineno)
            elif call.func.attr in ("read_text", "read_bytes", "iterdir", "glob", "rglob"):
                yield Finding(f"opens files:.{call.func.attr}", f".{call.func.attr}()", call.lineno)


def _modes(call: ast.Call) -> list[object]:
    given = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return [node.value if isinstance(node, ast.Constant) else "w" for node in given]


def _had_it(facts: Facts, facility: str) -> bool:
    """A changed file did such things before the patch."""
    return any(
        finding.key.startswith(facility + ":")
        for source in facts.sources
        if source.before is not None
        for finding in _used(source.before)
    )
