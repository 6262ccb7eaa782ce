"""Debian's Chromium without a window, for the tests of what people see: DevTools commands over a pair of pipes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

EXECUTABLE = shutil.which("chromium")


class Browser:
    """A page of a headless Chromium. ``width`` is in CSS pixels; ``media`` is ``screen`` or ``print``."""

    def __init__(self, profile: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}"]
        # Chromium reads commands from descriptor 3 and answers on 4.
        shell = f'exec "$0" "$@" --remote-debugging-pipe 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, str(EXECUTABLE), *arguments, "about:blank"],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._number = 0
        self._session: dict[str, str] = {}
        pages = self.command("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        attached = self.command("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        self.command("Page.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(timeout=30)
        os.close(self._read)
        os.close(self._write)

    def command(self, method: str, **parameters: Any) -> Any:
        """A DevTools command's result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters, **self._session}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._reply()
            if reply.get("id") == self._number:
                assert "error" not in reply, reply
                return reply["result"]

    def _reply(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            chunk = os.read(self._read, 1 << 20)
            assert chunk, "the browser is gone"
            self._buffer += chunk
        raw, self._buffer = self._buffer.split(b"\0", 1)
        reply: dict[str, Any] = json.loads(raw)
        return reply

    def open(self, page: str, width: int = 1200, scheme: str = "light", media: str = "screen") -> None:
        """Go to a URL and wait until it is loaded."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", media=media, features=wanted)
        self.command("Page.navigate", url="about:blank")  # else an address that differs in its fragment loads nothing
        self.command("Page.navigate", url=page)
        self.js("new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))")

    def js(self, expression: str) -> Any:
        """The value of an expression in the page, awaited, as JSON carries it."""
        done = self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def press(self, key: str) -> None:
        """A key that writes ``key``, or one with a name (``Escape``)."""
        text = {"text": key} if len(key) == 1 else {}
        self.command("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.command("Input.dispatchKeyEvent", type="keyUp", key=key)
