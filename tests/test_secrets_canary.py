"""Planted secrets: where they stand in a project, and where none of them may ever be found."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

from project_helpers import workshop_at

from pytest_selfheal.judge.run import run_tests
from pytest_selfheal.settings import Settings
from pytest_selfheal.testing import Example, ScriptedModel

# The usual places. Each canary is unmistakable, and put together here so that no scanner takes this file for a leak.
IN_ENVIRONMENT = "sk-" + "canaryEnv1x2y3z4w5v6u7"
IN_SOURCE = "canary-source-8c1"
IN_URL = "canary-url-7d2"
IN_KEY_BLOCK = "MIIcanarykeyblock6e3"
IN_ENV_FILE = "canary+env&file=5f4"
IN_LOCALS = "canary-locals-4a5"
IN_OUTPUT = "canary-output-3b6"
IN_ASSERTION = "canary-assertion-2c7"
# Odd places: the id of a case, a fixture's name, a docstring, a note of an exception, a record of the log; and odd forms.
IN_AN_ID = "sk-" + "canaryParam9a8b7c6d5e"
IN_A_NAME = "ghp" + "_16C7e42F292c6912E7canaryFixture0a1b2c"
IN_A_DOCSTRING = "canary-docstring-1d8"
IN_A_NOTE = "canary-note-0e9"
IN_THE_LOG = "canary-log-9f0"
FORMS = (
    base64.b64encode(IN_SOURCE.encode()).decode(),
    base64.b64encode(f"app:{IN_SOURCE}".encode()).decode()[8:],
    IN_SOURCE.encode().hex(),
    IN_SOURCE.upper(),
    quote(IN_ENV_FILE),
    IN_ENV_FILE[:9],
    IN_ENV_FILE[9:],
)
ALL = (
    *(IN_ENVIRONMENT, IN_SOURCE, IN_URL, IN_KEY_BLOCK, IN_ENV_FILE, IN_LOCALS, IN_OUTPUT, IN_ASSERTION),
    *(IN_AN_ID, IN_A_NAME, IN_A_DOCSTRING, IN_A_NOTE, IN_THE_LOG, *FORMS),
)

FILES = {
    "shop.py": f'''
import os

API_KEY = "{IN_SOURCE}"
DATABASE = "postgresql://app:{IN_URL}@db.example.org/shop"
SIGNING = """-----BEGIN {"RSA"} PRIVATE KEY-----
{IN_KEY_BLOCK}
-----END RSA PRIVATE KEY-----"""


def connect(settings):
    """The address to connect to, without the password = '{IN_A_DOCSTRING}'."""
    password = settings["password"]
    print("token=" + settings["token"], API_KEY, DATABASE)
    address = DATABASE
    return {{"address": address, "password": password, "key": API_KEY, "env": os.environ.get("SHOP_API_KEY", "")}}
''',
    "test_shop.py": f'''
import base64
import logging
from pathlib import Path
from urllib.parse import quote

import pytest
from shop import API_KEY, SIGNING, connect


def env_file():
    return dict(line.split("=", 1) for line in Path(__file__).with_name(".env").read_text().splitlines())


@pytest.fixture
def {IN_A_NAME}():
    stored = env_file()["STRANGE"]
    print(base64.b64encode(API_KEY.encode()), base64.b64encode(b"app:" + API_KEY.encode()), API_KEY.encode().hex())
    print(API_KEY.upper(), quote(stored), stored[:9], stored[9:], sep="\\n")
    logging.getLogger("shop").warning("token: '%s'", "{IN_THE_LOG}")


@pytest.mark.parametrize("n", [pytest.param(1, id="{IN_AN_ID}")])
def test_address(n, {IN_A_NAME}):
    settings = {{"password": "{IN_LOCALS}", "token": "{IN_OUTPUT}"}}
    stored = env_file()["STRANGE"]
    print(stored, SIGNING)
    found = connect(settings)
    wanted = {{"address": "postgresql://db.example.org/shop", "secret_key": "{IN_ASSERTION}", "stored": stored}}
    try:
        assert found == wanted
    except AssertionError as error:
        error.__notes__ = ["password = '{IN_A_NOTE}'"]
        raise
''',
    ".env": f"STRANGE={IN_ENV_FILE}\n",
}


def test_no_canary_reaches_the_model_the_trace_or_a_report(tmp_path: Path):
    project = Example(FILES, tmp_path / "project").git()
    reply = "The address holds the password.\n```python\n# FILE: shop.py\ndef connect(settings):\n    return {'address': API_KEY}\n```"
    with ScriptedModel([reply] * 6) as model:
        result = project.run(
            "--selfheal",
            *model.options,
            "--selfheal-strategy=model",
            "--selfheal-attempts=2",
            "--selfheal-effort=fast",
            environment={"SHOP_API_KEY": IN_ENVIRONMENT, "OPENAI_API_KEY": "sk-" + "other1other2other3x"},
        )
        assert model.requests, result.stdout[-3000:]
        sent = "\n".join(repr(request.body) for request in model.requests)
    assert "def connect" in sent
    leaked = [canary for canary in ALL if canary in sent]
    assert leaked == []
    written = {
        path.relative_to(result.run_dir).as_posix(): path.read_text("utf-8", "replace")
        for path in result.run_dir.rglob("*")
        if path.is_file() and path.suffix != ".patch"
    }
    assert {"report.json", "report.md", "report.html", "trace.jsonl"} <= set(written)
    assert [(name, canary) for name, text in written.items() for canary in ALL if canary in text] == []
    assert [path.name for path in result.run_dir.rglob("*") if any(canary in path.name for canary in ALL)] == []


def test_the_environments_canary_never_reaches_a_child(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("SHOP_API_KEY", IN_ENVIRONMENT)
    monkeypatch.setenv("INNOCENT_NAME", IN_ENVIRONMENT)
    monkeypatch.setenv("HARMLESS", "kept")
    (tmp_path / "test_it.py").write_text(
        "import os\n\n\ndef test_it():\n"
        "    raise RuntimeError(repr(dict(os.environ)) + open('/proc/self/environ', errors='replace').read())\n"
        if Path("/proc/self/environ").exists()
        else "import os\n\n\ndef test_it():\n    raise RuntimeError(repr(dict(os.environ)))\n"
    )
    with workshop_at(tmp_path, Settings(selfheal=True, effort="fast")) as workshop:
        run = run_tests(workshop, workshop.pristine, None)
    said = run.failures[0].message + run.failures[0].text + run.output
    assert "HARMLESS" in said
    assert IN_ENVIRONMENT not in said
