"""Edits → bytes: which files a reply means, and what they become. Reads the pristine copy, writes nothing."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from pytest_selfheal import parsing
from pytest_selfheal.propose.model.match import swap
from pytest_selfheal.propose.model.reply import Edit, Reply, Rewrite, Swap, Unusable
from pytest_selfheal.propose.model.rewrite import Rewriter, minimise
from pytest_selfheal.propose.model.source import SourceFile, Unreadable, parse
from pytest_selfheal.types import FileChange


def resolve(reply: Reply, root: Path, shown: Sequence[str]) -> tuple[FileChange, ...]:
    """The changes that a reply means.

    ``shown``: paths of the files that the prompt showed code of, most suspicious first. Only text that a file really
    has is replaced, files outside of ``root`` are never read. Raises :class:`Unusable` with what the model should do.
    """
    texts: dict[str, str | None] = {}
    files: dict[str, SourceFile | None] = {}
    rewriters: dict[str, Rewriter] = {}
    hint_path, _, hint = reply.function.rpartition("::")
    for edit in reply.edits:
        path = _path_of(edit, root, shown, hint_path, files)
        if path not in texts:
            files[path] = _read(root, path)
            found = files[path]
            texts[path] = found.text if found else None
        texts[path] = _apply(edit, path, texts[path], rewriters, hint)
    changes = []
    for path, text in texts.items():
        before = files[path]
        assert text is not None
        changes.append(_change(path, before, text))
    return tuple(changes)


def _apply(edit: Edit, path: str, text: str | None, rewriters: dict[str, Rewriter], hint: str) -> str:
    if isinstance(edit, Rewrite):
        if text is None or not path.endswith((".py", ".pyi")):
            if text is not None:
                raise Unusable(f"{path} is no Python file: use SEARCH/REPLACE blocks for it")
            return edit.code.rstrip("\n") + "\n"
        if parse(text) is None:
            return _repaired_whole(path, text, edit.code)
        return rewriters.setdefault(path, Rewriter(path, hint)).apply(text, edit.code)
    if text is None:
        if edit.search.strip():
            raise Unusable(f"there is no file {path}")
        return edit.replace.rstrip("\n") + "\n"
    within = next(((one.first, one.last) for one in SourceFile.of(path, text).find(hint)), None)
    return swap(text, edit.search, edit.replace, path, within)


def _repaired_whole(path: str, text: str, code: str) -> str:
    """The file does not parse, so no function can be found in it; only a whole new file can be told from a piece."""
    if parse(code) is None:
        raise Unusable(f"the code for {path} does not parse; use a SEARCH/REPLACE block for the broken lines")
    old = [line for line in text.split("\n") if line.strip()]
    new = [line for line in code.split("\n") if line.strip()]
    shared = len(set(old) & set(new))
    if shared < 0.7 * len(set(old)):
        raise Unusable(f"{path} does not parse as it is: use a SEARCH/REPLACE block for the broken lines")
    return code.rstrip("\n") + "\n"


def _change(path: str, before: SourceFile | None, text: str) -> FileChange:
    if before is None:
        _must_parse(path, text)
        return FileChange(path, None, text.encode("utf-8"))
    text = minimise(before.text, text)
    if text == before.text:
        return FileChange(path, before.raw, before.raw)
    if before.tree is not None or parse(text) is None:
        _must_parse(path, text)
    try:
        return FileChange(path, before.raw, before.encode(text))
    except Unreadable as error:
        raise Unusable(str(error)) from None


def _must_parse(path: str, text: str) -> None:
    if not path.endswith((".py", ".pyi")):
        return
    try:
        parsing.parse(text)
    except SyntaxError as error:
        raise Unusable(f"after the change {path} does not parse (line {error.lineno}: {error.msg})") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unusable(f"after the change {path} does not parse ({error})") from None


# --- which file -------------------------------------------------------------------------------------------------------


def _path_of(edit: Edit, root: Path, shown: Sequence[str], hint_path: str, files: dict[str, SourceFile | None]) -> str:
    if edit.path is not None:
        path = _known(edit.path, root, shown)
    elif hint_path:
        path = _known(hint_path, root, shown)
    else:
        path = ""
    if isinstance(edit, Rewrite):
        names = _defined(edit.code)
        if path and (_defines(root, path, names) or not names):
            return path
        homes = [other for other in shown if _defines(root, other, names)]
        if len(homes) == 1 and (not path or path not in shown or len(names) == 1):
            return homes[0]
        if path:
            return path
        if len(homes) > 1:
            raise Unusable(
                f"{', '.join(sorted(names))} exists in {', '.join(homes)}; begin the block with '# FILE: path'"
            )
    else:
        if path:
            return path
        homes = [other for other in shown if _holds(root, other, edit)]
        if len(homes) == 1:
            return homes[0]
    if len(shown) == 1:
        return shown[0]
    raise Unusable("it does not say which file it changes; begin the block with '# FILE: path'")


def _known(path: str, root: Path, shown: Sequence[str]) -> str:
    """A path of the reply as a path below ``root``; a unique tail of a file that was shown is enough."""
    clean = path.strip().replace("\\", "/")
    if clean.startswith(f"{root.as_posix()}/"):
        clean = clean[len(root.as_posix()) + 1 :]
    clean = posixpath.normpath(clean)
    outside = clean.startswith(("/", "../", "~")) or clean in ("..", ".") or ":" in clean.partition("/")[0]
    if outside or "\0" in clean or any(part == ".git" for part in clean.split("/")):
        tails = [one for one in shown if clean.endswith(f"/{one}")]
        if len(tails) == 1:
            return tails[0]
        raise Unusable(f"{path} is not a file of the project; paths are relative and stay inside it")
    if (root / clean).is_file() or clean in shown:
        _inside(root, clean)
        return clean
    tails = [one for one in shown if one.endswith(f"/{clean}") or PurePosixPath(one).name == PurePosixPath(clean).name]
    if len(tails) == 1:
        return tails[0]
    _inside(root, clean)
    return clean


def _inside(root: Path, path: str) -> None:
    """Refuses ways out through symbolic links."""
    try:
        real = (root / path).resolve()
    except (OSError, RuntimeError):
        raise Unusable(f"{path} is not a file of the project") from None
    if not real.is_relative_to(root.resolve()):
        raise Unusable(f"{path} leads out of the project")
    if (root / path).is_dir():
        raise Unusable(f"{path} is a folder")


def _read(root: Path, path: str) -> SourceFile | None:
    try:
        return SourceFile.read(root, path)
    except FileNotFoundError:
        return None
    except (OSError, Unreadable, ValueError) as error:
        raise Unusable(f"{path} cannot be edited: {error}") from None


def _defined(code: str) -> set[str]:
    tree = parse(code)
    if tree is None:
        return set()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in tree.body if isinstance(node, kinds)}


def _defines(root: Path, path: str, names: set[str]) -> bool:
    try:
        file = SourceFile.read(root, path)
    except (OSError, Unreadable, ValueError):
        return False
    return bool(names & {one.qualname.rpartition(".")[2] for one in file.definitions})


def _holds(root: Path, path: str, edit: Swap) -> bool:
    try:
        file = SourceFile.read(root, path)
        swap(file.text, edit.search, edit.replace, path)
    except (OSError, Unreadable, ValueError, Unusable):
        return False
    return True
