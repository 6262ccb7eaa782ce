"""With ``--selfheal-model``: the model proposes tests where exploring found none; the same judges decide."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_selfheal import parsing
from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.judge.workspace import Workshop
from pytest_selfheal.settings import Settings
from pytest_selfheal.testgen.common import Kept, code_files, read
from pytest_selfheal.testgen.job import Found, Job, Measured, unpack
from pytest_selfheal.testgen.judge import judge, refused
from pytest_selfheal.testgen.place import Places
from pytest_selfheal.testgen.targets import functions
from pytest_selfheal.types import FileChange, Usage

PLUGIN = "pytest_selfheal.testgen.inside.measure"
STYLE_LINES = 60
SYSTEM = """\
You write pytest tests for one Python function. Reply with one fenced Python file and nothing else. Rules:
plain asserts and pytest.mark.parametrize; every test asserts something; names that say what they pin; absolute imports of
what exists; tmp_path, monkeypatch or mocker for files and other input/output; no network, clock, randomness or absolute
paths; no helper modules that do not exist. Each test is run: it has to pass on the code as it is, {proof}."""


class Asker:
    """Asks the run's model, out of the run's purse. Thread-safe as far as its parts are."""

    def __init__(
        self,
        settings: Settings,
        budget: Any,
        rootdir: Path,
        *,
        redactor: Any,
        trace: Callable[..., None],
        before: Callable[[], None],
    ) -> None:
        self.settings = settings
        self._budget = budget
        self._rootdir = rootdir
        self._seams = (redactor, trace)
        self._before = before
        self.usage = Usage()

    def ask(self, messages: Sequence[Mapping[str, str]], about: str, deadline: float) -> tuple[str, str]:
        """The answer's text, and why there is none (one of the two is empty)."""
        from pytest_selfheal.propose.model.budget import Refusal
        from pytest_selfheal.propose.model.chat import Chat
        from pytest_selfheal.propose.model.errors import ContextTooLong
        from pytest_selfheal.propose.model.paid import PaidChat

        self._before()
        chat = Chat(self.settings.model, self.settings, self._rootdir)
        redactor, trace = self._seams
        paid = PaidChat(chat, self._budget, redactor, trace, {"id": about, "role": "tests"})
        try:
            said = paid.ask(
                messages,
                max_tokens=self.settings.coder_max_tokens,
                temperature=self.settings.coder_temperature,
                deadline=deadline,
            )
        except ContextTooLong as error:
            return "", str(error)
        if isinstance(said, Refusal):
            return "", said.words
        self.usage = self.usage + said.answer.usage
        return ("", "the model's reply was cut off") if said.cut_off else (said.text, "")


@dataclass
class Setting:
    """What the tests are for."""

    workshop: Workshop
    places: Places
    patch: Sequence[FileChange]
    """On top of the pristine copy."""
    others: Sequence[str]
    before: bool
    """They have to fail without the patch."""
    diff: str = ""
    near: str = ""
    dropped: dict[str, str] = field(default_factory=dict)


def propose(asker: Asker, setting: Setting, found: Found) -> Kept:
    """At most ``--selfheal-attempts`` rounds for one function; what the judges say of a round goes into the next."""
    label = found.target.label
    kept = Kept()
    deadline = time.monotonic() + asker.settings.time_limit
    messages = [{"role": "system", "content": _system(setting)}, {"role": "user", "content": _question(setting, found)}]
    path = ""
    for _ in range(asker.settings.attempts):
        text, why = asker.ask(messages, label, deadline)
        if why:
            kept.dropped.setdefault(label, {})["model"] = why
            break
        code = _code(text)
        path = path or setting.places.file_for(
            found.target.path, setting.near or setting.places.near(found.target.path)
        )
        good, trouble = _judged(setting, found, path, code)
        if good is not None:
            kept.files = (good,)
            kept.tests[label] = _names(good, setting.workshop.project.prefix)
            kept.dropped.setdefault(label, {}).update(setting.dropped)
            break
        kept.dropped.setdefault(label, {})["model"] = trouble
        messages += [
            {"role": "assistant", "content": text[-6000:]},
            {
                "role": "user",
                "content": f"That was run, and nothing of it can stay: {trouble}. Send the whole file again.",
            },
        ]
    return kept


def _judged(setting: Setting, found: Found, path: str, code: str) -> tuple[FileChange | None, str]:
    """The file with those tests that earn their place, or why there is none."""
    prefix = setting.workshop.project.prefix
    for _ in range(2):
        if why := refused(code, {}):
            return None, why
        change = FileChange(path, None, code.encode())
        verdict = judge(setting.workshop, setting.patch, [change], setting.others, before=setting.before, prefix=prefix)
        if verdict.broken:
            return None, verdict.broken
        bad = dict(verdict.failed)
        worth = _proving(setting, found, change, verdict.passed)
        for nodeid in verdict.passed:
            if setting.before and nodeid not in verdict.fails_before:
                bad[nodeid] = "it passes on the code before the repair"
            elif not setting.before and nodeid not in worth:
                bad[nodeid] = "it covers nothing new or kills no mutant"
        names = {_function(nodeid): why for nodeid, why in bad.items()}
        setting.dropped.update(bad)
        if not names:
            return change, ""
        left = _without(code, set(names))
        if left is None:
            return None, "; ".join(f"{nodeid.partition('::')[2]}: {why}" for nodeid, why in list(bad.items())[:6])
        code = left
    return None, "what was left did not hold when it was run again"


def _proving(setting: Setting, found: Found, change: FileChange, passed: set[str]) -> set[str]:
    """Tests that execute something that no test did before and kill a mutant of the function."""
    if setting.before or not passed:
        return set()
    measured: dict[str, Measured] = {}

    def on_message(message: dict[str, Any]) -> None:
        if "measured" in message:
            measured.update(unpack(message["measured"]))

    workshop = setting.workshop
    with workshop.fresh([*setting.patch, change]) as workspace:
        job = Job(str(workspace.seen_top), (found.target,), code_files(workshop, workspace), "changed")
        names = sorted(passed)
        run_tests(workshop, workspace, names, plugins=[PLUGIN], config=job.to_json(), on_message=on_message)
    return {nodeid for nodeid, one in measured.items() if one.kills and one.reaches(found.wanted)}


# --- text -------------------------------------------------------------------------------------------------------------


def _system(setting: Setting) -> str:
    proof = (
        "and to fail on the code before the change"
        if setting.before
        else "and to execute lines that no test executes yet"
    )
    return SYSTEM.format(proof=proof)


def _question(setting: Setting, found: Found) -> str:
    top = setting.workshop.pristine.top
    patched = {c.path: (c.after or b"").decode("utf-8", "replace") for c in setting.patch}
    text = patched.get(found.target.path) or read(top, found.target.path) or ""
    try:
        node = functions(text).get(found.target.qualname)
    except SyntaxError:
        node = None
    lines = text.splitlines()
    source = "\n".join(lines[node.lineno - 1 : node.end_lineno]) if node is not None else text[:6000]
    parts = [f"Write tests for `{found.target.qualname}` in `{found.target.path}`:\n```python\n{source}\n```"]
    imports = [line for line in lines if line.startswith(("import ", "from "))][:30]
    if imports:
        parts.append("The module imports:\n```python\n" + "\n".join(imports) + "\n```")
    if setting.diff:
        parts.append(f"What changed:\n```diff\n{setting.diff[:6000]}\n```")
    near = setting.near or setting.places.near(found.target.path)
    if near and (style := read(top, near)):
        shown = "\n".join(style.splitlines()[:STYLE_LINES])
        parts.append(f"The project's own tests look like this (`{near}`):\n```python\n{shown}\n```")
    if found.reason:
        parts.append(f"Without help no test could be made, because {found.reason}.")
    return "\n\n".join(parts)


def _code(text: str) -> str:
    fenced = re.findall(r"```(?:python|py)?[^\n]*\n(.*?)```", text, re.DOTALL)
    return (max(fenced, key=len) if fenced else text).strip() + "\n"


def _function(nodeid: str) -> str:
    return nodeid.partition("::")[2].partition("[")[0].rpartition("::")[2]


def _without(code: str, names: set[str]) -> str | None:
    """The file without some of its test functions; ``None`` when no test would be left."""
    tree = parsing.parse(code)
    tests = [
        n
        for n in ast.walk(tree)
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name.startswith("test")
    ]
    gone = [n for n in tests if n.name in names]
    if len(gone) >= len(tests):
        return None
    lines = code.splitlines(keepends=True)
    for node in sorted(gone, key=lambda n: -n.lineno):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        del lines[first - 1 : node.end_lineno]
    return re.sub(r"\n{4,}", "\n\n\n", "".join(lines)).rstrip() + "\n"


def _names(change: FileChange, prefix: str) -> list[str]:
    file = change.path.removeprefix(f"{prefix}/") if prefix else change.path
    tree = parsing.parse(change.after or b"")
    return [f"{file}::{n.name}" for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.startswith("test")]


def with_model(asker: Asker | None, setting: Setting, found: Sequence[Found], kept: Kept) -> Kept:
    """``kept``, with what the model proposes for functions that have no test yet."""
    for one in found if asker is not None else ():
        assert asker is not None
        already_covered = not setting.before and one.covered
        if one.target.label in kept.tests or already_covered:
            continue
        more = propose(asker, setting, one)
        kept.files += more.files
        kept.tests.update(more.tests)
        for label, reasons in more.dropped.items():
            kept.dropped.setdefault(label, {}).update(reasons)
    return kept
