"""What people are told beforehand, and what ``selfheal check`` says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from model_helpers import connections, settings

from pytest_selfheal.errors import UsageError
from pytest_selfheal.propose.model import check_model, host_notice, validate, worst_case
from pytest_selfheal.propose.model.chat import Chat
from pytest_selfheal.propose.model.params import read_env_file
from pytest_selfheal.settings import Settings, resolve
from pytest_selfheal.testing import ScriptedModel

__all__ = ["connections"]


@pytest.mark.parametrize(
    ("model", "base", "host"),
    [
        ("gpt-4o", None, "api.openai.com"),
        ("openai/gpt-4o", "https://llm.example.org:8443/v1", "llm.example.org"),
        ("anthropic/claude-sonnet-4-5", None, "api.anthropic.com"),
        ("deepseek/deepseek-chat", None, "api.deepseek.com"),
        ("dashscope/qwen-plus", None, "dashscope.aliyuncs.com"),
        ("gemini/gemini-2.5-flash", None, "generativelanguage.googleapis.com"),
        ("bedrock/anthropic.claude-3-haiku-20240307-v1:0", None, "bedrock"),
        ("ollama/qwen2.5-coder", None, None),
        ("openai/coder", "http://127.0.0.1:8077/v1", None),
        ("openai/coder", "http://localhost:8077/v1", None),
        ("openai/coder", "http://[::1]:8077/v1", None),
        ("builtin", None, None),
    ],
)
def test_hosts(model: str, base: str | None, host: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.endswith(("_API_BASE", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    line = host_notice(Settings(model=model, api_base=base))
    assert line is None if host is None else (line is not None and host in line)


def test_the_critics_host_is_named_too() -> None:
    line = host_notice(Settings(model="gpt-4o", critic="deepseek/deepseek-chat"))
    assert line is not None
    assert "api.openai.com and api.deepseek.com" in line


def test_a_critic_of_the_engine_is_announced_too() -> None:
    chosen = Settings(critic="deepseek/deepseek-chat")
    assert "api.deepseek.com" in (host_notice(chosen) or "")
    assert "$" in worst_case(chosen, 1)


def test_an_address_from_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", "https://proxy.example.org/v1")
    assert "proxy.example.org" in (host_notice(Settings(model="gpt-4o")) or "")


def test_the_worst_case() -> None:
    prices = ("openai/x = 10, 20",)
    line = worst_case(
        Settings(model="openai/x", prices=prices, prompt_tokens=1000, coder_max_tokens=500, max_cost=9.0), 2
    )
    # 2 failures, 3 rounds, 2 calls: 12 times 1000 tokens in and 500 out
    assert "$0.24" in line
    assert "18,000 tokens" in line
    assert "$9.00" in line
    assert "where the cap ends it" in worst_case(Settings(model="openai/x", prices=prices, max_cost=0.1), 50)
    assert "not known" in worst_case(Settings(model="openai/x"), 1)
    with_critic = worst_case(Settings(model="openai/x", critic="openai/x", prices=prices, max_cost=9.0), 1)
    assert with_critic > worst_case(Settings(model="openai/x", prices=prices, max_cost=9.0), 1)


def test_check() -> None:
    with ScriptedModel([]) as model:
        chosen = settings(model, prices=("openai/scripted = 1, 2",))
        lines = check_model(chosen)
    assert any("is reachable" in line for line in lines)
    assert any("$1 in, $2 out" in line for line in lines)
    assert not any(line.startswith("problem") for line in lines)
    assert model.requests == []
    lines = check_model(chosen)
    assert any(line.startswith("problem") and "cannot be reached" in line for line in lines)


def test_check_finds_missing_keys_and_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    assert any("DEEPSEEK_API_KEY" in line for line in check_model(Settings(model="deepseek/deepseek-chat")))
    lines = check_model(Settings(model="deepsek-chat"))
    assert "no such provider" in lines[0]
    assert "deepseek-chat" in lines[0]


def test_unknown_prices_are_not_nothing(tmp_path: Path) -> None:
    for name in ("openai/never-heard-of", "ollama/qwen2.5-coder"):
        chosen = Settings(model=name, api_base="https://llm.example.org/v1")
        assert Chat(name, chosen, tmp_path).price() is None


@pytest.mark.parametrize("prices", ["x", "x = 1", "x = a, b", "= 1, 2", "x = -1, 2", "x = nan, 1", "x = 1e9, 1"])
def test_wrong_prices(prices: str) -> None:
    with pytest.raises(UsageError, match="selfheal_prices"):
        validate(Settings(prices=(prices,)))


@pytest.mark.parametrize("params", ["x", "x =", "2x = 3", "a-b = 1", "n = 5", "max_tokens = 9"])
def test_wrong_parameters_are_usage_errors(params: str) -> None:
    with pytest.raises(UsageError, match="selfheal_model_params"):
        resolve({}, {}, {"selfheal_model_params": [params]})


def test_env_files_give_provider_settings_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ".env"
    path.write_text("XYZ_API_KEY='k1'\nexport ABC_API_BASE=http://x\nDATABASE_URL=postgres://\nKEPT_API_KEY=new\n")
    for name in ("XYZ_API_KEY", "ABC_API_BASE", "DATABASE_URL"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("KEPT_API_KEY", "old")
    read_env_file(path)
    found = {name: os.environ.pop(name, None) for name in ("XYZ_API_KEY", "ABC_API_BASE", "DATABASE_URL")}
    assert found == {"XYZ_API_KEY": "k1", "ABC_API_BASE": "http://x", "DATABASE_URL": None}
    assert os.environ["KEPT_API_KEY"] == "old"


def test_importing_touches_neither_network_nor_env_file(tmp_path: Path) -> None:
    """In a fresh interpreter: no connection is opened, the folder's .env is not read, the environment is as before."""
    (tmp_path / ".env").write_text("STOLEN_API_KEY=x\n")
    script = """
import os, socket, sys
import pytest_selfheal.propose.model
assert "litellm" not in sys.modules
def refuse(*args, **kwargs): raise SystemExit("a connection was opened")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
before = dict(os.environ)
from pytest_selfheal.propose.model.loading import library
assert library().model_cost
assert library().token_counter(model="anthropic/claude-sonnet-4-5", messages=[{"role": "user", "content": "x"}])
assert library().token_counter(model="gpt-4o", messages=[{"role": "user", "content": "x"}])
changed = {name for name in os.environ if os.environ.get(name) != before.get(name)}
assert "STOLEN_API_KEY" not in os.environ
assert not {name for name in changed if name.startswith("LITELLM")}, changed
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_only_one_module_names_the_library() -> None:
    package = Path(__file__).parent.parent / "pytest_selfheal"
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "import litellm" in path.read_text("utf-8") or 'import_module("litellm")' in path.read_text("utf-8")
    }
    assert users == {"propose/model/loading.py"}
