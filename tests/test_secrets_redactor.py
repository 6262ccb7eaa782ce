"""Secrets become placeholders and come back byte for byte; ordinary code stays as it is."""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from pytest_selfheal.judge.environment import child_environment, stripped_values
from pytest_selfheal.redact import Redactor, redactor_for
from pytest_selfheal.settings import Settings

# Put together here, so that no scanner takes this file for a leak.
KEY_BLOCK = "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIBOgIBAAJBAK\nzzzz\n-----END RSA PRIVATE KEY-----"
SECRETS = {
    "provider key": ('client = OpenAI(api_key="{}")', "sk-" + "proj4Jq8Zt2LmN0pRs6Uv8Wx"),
    "forge token": ("token: {}", "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a"),
    "cloud key": ("id {} used", "AKIA" + "IOSFODNN7EXAMPLE"),
    "chat token": ("{}", "xoxb-" + "2048-1337-abcdefXYZ"),
    "password": ("PASSWORD = '{}'", "correct-horse-7"),
    "password in JSON": ('{{"db_password": "{}"}}', "Tr0ub4dor&3x"),
    "password in a URL": ("postgresql://app:{}@db.example.org/main", "p4ss-w0rd"),
    "bearer": ("Authorization: Bearer {}", "abcdEFGH12345678ijkl"),
    "key block": ("{}", KEY_BLOCK),
    "key block in a repr": ("key = {}", repr(KEY_BLOCK)[1:-1]),
    "web token": ("{}", "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r"),
    "netrc": ("machine example.org login bob password {}", "hunter2hunter"),
    "password as an option": ("run --password {} now", "hunter22xyz"),
    "password of a user": ("curl -u bob:{} x", "hunter22x"),
    "package index": ("[global]\nindex-url = https://bob:{}@pypi.example.org/simple", "s3kretpw"),
    "remote of a repository": ("origin\thttps://bob:{}@git.example.org/r.git (fetch)", "s3kretpw2"),
    "random string": ("seen {} there", "f9Qz7LmXw2" + "Vb8NtRk4Hs6Yp3Dc"),
}
ORDINARY = (
    "password = os.environ['DATABASE_PASSWORD']",
    "token = get_token(user)",
    "def login(self, password: str, token: str | None = None) -> bool:",
    "assert password == expected_password",
    "tokens = tokenize(text); next_token = 'NUMBER'; token_type = 'bearer'",
    "ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'",
    "digest = 'd41d8cd98f00b204e9800998ecf8427e'",
    "from sentence_transformers.cross_encoder import CrossEncoderTrainingArguments2024",
    "/usr/lib/python3/dist-packages/some_package/module_with_a_long_name_1234.py",
    "parser.add_argument('--password', help='ask for it'); parser.add_argument('--token-type')",
    "usage: tool [-u USER] [--token TOKEN_FILE_NAME]",
    "https://user@example.org/path?x=1 and http://localhost:8080/",
    "assert digits_last('Send4quick19brown803foxjumps56over') == 'Sendquickbrownfoxjumpsover41980356'",
)


@pytest.mark.parametrize("name", SECRETS)
def test_hidden_and_restored(name: str):
    form, secret = SECRETS[name]
    text = f"before\n{form.format(secret)}\nafter"
    redactor = Redactor()
    hidden = redactor.hide(text)
    assert secret not in hidden
    assert hidden.startswith("before\n") and hidden.endswith("\nafter")
    assert redactor.restore(hidden) == text
    assert redactor.hide(hidden) == hidden


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_code_stays(text: str):
    assert Redactor().hide(text) == text


def test_what_was_recognised_once_is_hidden_without_its_surroundings():
    redactor = Redactor()
    redactor.learn("PASSWORD = 'correct-horse-7'")
    assert "correct-horse" not in redactor.hide("assert 'correct-horse-7' == ''")
    assert "correct-horse" not in redactor.hide("value='correct-horse...'")


QUEER = "p4ss 'wörd\\with&all+of/it"
SPELLINGS = {
    "as it stands in source": repr(QUEER)[1:-1],
    "as bytes": repr(QUEER.encode())[2:-1],
    "in JSON": json.dumps(QUEER)[1:-1],
    "in HTML": html.escape(QUEER),
    "in a URL": quote(QUEER),
    "in a form": quote_plus(QUEER),
    "base64": base64.b64encode(QUEER.encode()).decode().rstrip("="),
    "base64 behind a name": base64.b64encode(b"bob:" + QUEER.encode()).decode()[6:-4],
    "base64 for URLs": base64.urlsafe_b64encode(b"bobby:" + QUEER.encode()).decode()[8:-4],
    "hexadecimal": QUEER.encode().hex(),
    "in capitals": QUEER.upper(),
    "backwards": QUEER[::-1],
    "over two lines": f"{QUEER[:12]}\n{QUEER[12:]}",
    "over lines of a report": f"{QUEER[:12]}\nE     {QUEER[12:]}",
    "as adjacent literals": f"{QUEER[:5]}'\n    '{QUEER[5:12]}\" \"{QUEER[12:]}",
    "broken in a repr": f"{QUEER[:12]}\\n{QUEER[12:]}",
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_other_spellings_of_a_known_value(name: str):
    redactor = Redactor([QUEER])
    text = f"before {SPELLINGS[name]} after\n"
    hidden = redactor.hide(text)
    words = re.sub(r"<secret-\d+>", "", hidden).split()
    assert words[0] == "before" and words[-1] == "after"
    assert all(len(word) <= 4 for word in words[1:-1]), hidden  # what stood before it in the same encoding
    assert redactor.restore(hidden) == text
    assert redactor.hide(hidden) == hidden


def test_known_values_and_the_same_placeholder_for_the_same_secret():
    redactor = Redactor(["swordfish-1", "x"])
    assert redactor.hide("swordfish-1 x swordfish-1") == "<secret-1> x <secret-1>"
    assert redactor.restore("use <secret-1>, not <secret-99>") == "use swordfish-1, not <secret-99>"


def test_a_text_that_looks_like_a_placeholder_keeps_its_own():
    redactor = Redactor(["swordfish-1"])
    text = "literal <secret-1> and swordfish-1"
    assert redactor.restore(redactor.hide(text)) == text


def test_environment_of_children():
    base = {
        "PATH": "/bin",
        "HOME": "/home/me",
        "OPENAI_API_KEY": "k1-value",
        "GITHUB_TOKEN": "k2-value",
        "MY_SERVICE_SECRET": "k3-value",
        "DB_PASSWORD": "k4-value",
        "DATABASE_URL": "postgres://app:k5-value@db/x",
        "AWS_SESSION_TOKEN": "k6-value",
        "INNOCENT": "sk-" + "looks1like2a3key4",
        "KEPT_TOKEN": "k7-value",
        "MYSQL_PWD": "k8-value",
        "SECRET1": "k9-value",
        "SERVICE_KEY": "k10value98f7a6b5c4",
        "HARMLESS": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0.x",
        "SORT_KEY": "name",
        "PYTEST_ADDOPTS": "-x",
        "PYTEST_XDIST_WORKER": "gw0",
        "PYTEST_CURRENT_TEST": "x",
        "COVERAGE_PROCESS_START": "x",
        "COV_CORE_SOURCE": "x",
        "SELFHEAL_MODEL": "x",
        "TOKENIZERS_PARALLELISM": "false",
        "GIT_AUTHOR_NAME": "me",
    }
    settings = Settings(pass_env=("KEPT_*",))
    kept = child_environment(settings, base)
    assert sorted(kept) == [
        "GIT_AUTHOR_NAME",
        "HOME",
        "KEPT_TOKEN",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "SORT_KEY",
        "TOKENIZERS_PARALLELISM",
    ]
    values = stripped_values(settings, base)
    assert {"k1-value", "k2-value", "k3-value", "k4-value", "k6-value", "k7-value", "k8-value", "k9-value"} <= set(
        values
    )


def test_env_files_and_files_are_read_in_advance(tmp_path: Path):
    (tmp_path / ".env").write_text("# comment\nSTRANGE_NAME='longer-than-8'\nDEBUG=1\n")
    (tmp_path / "config.py").write_text("SECRET_KEY = 'django-insecure-7x'\n")
    redactor = redactor_for(Settings(), [tmp_path], [tmp_path / "config.py", tmp_path / "missing.py"])
    for secret in ("longer-than-8", "django-insecure-7x"):
        assert redactor.hide(f"assert {secret}") in ("assert <secret-1>", "assert <secret-2>")
