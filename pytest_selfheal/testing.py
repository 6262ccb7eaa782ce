"""Public helpers for tests of this plugin and of plugins for it: a throw-away project, and a model that says what it is told.

::

    project = Example({"calc.py": "def add(a, b):\\n    return a - b\\n", "test_calc.py": "..."}, tmp_path)
    with ScriptedModel(["```python\\n# FILE: calc.py\\ndef add(a, b):\\n    return a + b\\n```"]) as model:
        result = project.run("--selfheal", *model.options)
    assert result.report["totals"]["healed"] == 1

The server speaks the chat completions protocol over real HTTP on loopback, so that a test goes through the whole of
the client library, its parsing and its errors. Nothing here imports pytest or a model library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Answer", "Example", "Request", "Result", "ScriptedModel"]


# --- a model ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """One scripted answer of the server."""

    text: str = ""
    """The assistant's message."""
    finish: str = "stop"
    """``stop``, ``length`` (cut off), ``content_filter``, …"""
    status: int = 200
    """HTTP status; other than 200 sends an error object with ``text`` as its message."""
    code: str | None = None
    """``error.code`` of an error object (``insufficient_quota``, ``context_length_exceeded``, …)."""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the answer."""
    body: bytes | None = None
    """Sent instead of a well-formed body: HTML, half a JSON object, nothing."""
    hang_up: bool = False
    """Close the connection after half of the body."""
    prompt_tokens: int | None = None
    """Usage to report; ``None``: words of the request. See :attr:`ScriptedModel.prompt_tokens`."""
    completion_tokens: int | None = None
    usage: bool = True
    """Whether usage is reported at all."""


@dataclass(frozen=True)
class Request:
    """One request that the server received."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages", ()))

    @property
    def prompt(self) -> str:
        """All messages' texts, in order."""
        return "\n\n".join(str(message.get("content")) for message in self.messages)

    @property
    def last(self) -> str:
        """The last message's text."""
        return str(self.messages[-1].get("content")) if self.messages else ""


Script = Iterable["Answer | str"] | Callable[[Request], "Answer | str"]


class ScriptedModel:
    """An OpenAI-compatible server on loopback that gives scripted answers.

    ``script`` is a sequence of answers (a text stands for ``Answer(text)``), used up in the order of the requests, or
    a function from :class:`Request` to an answer, called in the server's threads. A request beyond the script is
    answered with status 500, so that a call too many shows. ``with`` starts and stops it.
    """

    def __init__(self, script: Script = (), name: str = "openai/scripted") -> None:
        self.name = name
        self.requests: list[Request] = []
        self.prompt_tokens = 0
        """Sum of the prompt tokens that the server has reported."""
        self.completion_tokens = 0
        self._lock = threading.Lock()
        self._script = script if callable(script) else iter(list(script))
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """The API base, ending in ``/v1``."""
        if self._server is None:
            raise RuntimeError("the scripted model is not running: use it in a with statement")
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def options(self) -> tuple[str, ...]:
        """Command line options that point pytest at this model."""
        return ("--selfheal-model", self.name, "--selfheal-api-base", self.url)

    def __enter__(self) -> ScriptedModel:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Without these, small answers wait 40 ms for the client's delayed acknowledgement.
            wbufsize = -1
            disable_nagle_algorithm = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                _send(self, Answer(body=json.dumps({"object": "list", "data": [{"id": model.name}]}).encode()))

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                request = Request(self.path, dict(self.headers.items()), json.loads(raw or b"{}"))
                _send(self, model._answer(request), request)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _answer(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            if callable(self._script):
                found: Answer | str | None = None
            else:
                found = next(self._script, Answer("the script has no more answers", status=500))
        if found is None and callable(self._script):
            found = self._script(request)
        answer = Answer(found) if isinstance(found, str) else found
        assert answer is not None
        if answer.status != 200 or answer.body is not None or not answer.usage:
            return answer
        sent = len(request.prompt.split()) if answer.prompt_tokens is None else answer.prompt_tokens
        said = len(answer.text.split()) if answer.completion_tokens is None else answer.completion_tokens
        with self._lock:
            self.prompt_tokens += sent
            self.completion_tokens += said
        return Answer(**{**vars(answer), "prompt_tokens": sent, "completion_tokens": said})


def _send(handler: BaseHTTPRequestHandler, answer: Answer, request: Request | None = None) -> None:
    time.sleep(answer.delay)
    body = answer.body if answer.body is not None else json.dumps(_payload(answer, request)).encode()
    try:
        handler.send_response(answer.status)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **answer.headers}
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        if answer.hang_up:
            handler.wfile.write(body[: len(body) // 2])
            handler.close_connection = True
        else:
            handler.wfile.write(body)
        handler.wfile.flush()
    except (BrokenPipeError, ConnectionResetError):
        handler.close_connection = True  # the client gave up waiting, which is what some tests want


def _payload(answer: Answer, request: Request | None) -> dict[str, Any]:
    if answer.status != 200:
        return {"error": {"message": answer.text or "scripted error", "type": "scripted", "code": answer.code}}
    payload: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": request.body.get("model", "scripted") if request else "scripted",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": answer.text}, "finish_reason": answer.finish}
        ],
    }
    if answer.usage:
        sent, said = answer.prompt_tokens or 0, answer.completion_tokens or 0
        payload["usage"] = {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}
    return payload


# --- a project -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """What one run in a child process did."""

    code: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def run_dir(self) -> Path:
        """The newest run's folder."""
        return (self.folder / ".selfheal" / "latest").resolve()

    @property
    def report(self) -> dict[str, Any]:
        """``report.json`` of the newest run; an :class:`AssertionError` with all output when there is none."""
        path = self.run_dir / "report.json"
        assert path.is_file(), f"no report; exit status {self.code}\n{self.stdout}\n{self.stderr}"
        loaded: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return loaded

    @property
    def trace(self) -> list[dict[str, Any]]:
        """The events of the newest run's ``trace.jsonl``."""
        lines = (self.run_dir / "trace.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]


class Example:
    """A small project in a folder, on which pytest runs in a child process.

    ``files`` maps paths to text (written as UTF-8) or bytes.
    """

    def __init__(self, files: Mapping[str, str | bytes], folder: Path) -> None:
        self.folder = folder
        self.write(files)

    def write(self, files: Mapping[str, str | bytes]) -> Example:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return self

    def git(self) -> Example:
        """Make the folder a git repository with everything committed."""
        for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
            subprocess.run(["git", *command], cwd=self.folder, check=True, env=_git_environment(), capture_output=True)
        return self

    def run(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        python: Sequence[str] = (sys.executable, "-m", "pytest"),
        timeout: float = 300.0,
    ) -> Result:
        """Run ``python -m pytest ARGUMENTS`` (or another command, ``python``) in the folder."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "SELFHEAL_", "COV_CORE_", "COVERAGE_PROCESS_"))
        }
        done = subprocess.run(
            [*python, *arguments],
            cwd=self.folder,
            env={**inherited, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8", **(environment or {})},
            capture_output=True,
            timeout=timeout,
        )
        stdout, stderr = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        return Result(done.returncode, stdout, stderr, self.folder)

    def bytes(self) -> dict[str, bytes]:
        """Every file below the folder except git's and our own, for comparing before and after."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not {".git", ".selfheal", "__pycache__", ".pytest_cache"} & set(path.parts)
        }


def _git_environment() -> dict[str, str]:
    identity = {"NAME": "Example", "EMAIL": "example@example.org"}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in identity.items()},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
