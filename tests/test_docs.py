"""README and docs: every link leads somewhere, every block is what it says, every option and command exists."""

from __future__ import annotations

import argparse
import configparser
import json
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from pytest_selfheal import plugin
from pytest_selfheal.cli import build_parser
from pytest_selfheal.settings import OPTIONS, resolve

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "example_project/README.md")),
    ROOT / "benchmarks/README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
LANGUAGES = {"python", "sh", "console", "yaml", "toml", "ini", "json", "text"}


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    found = []
    for page in PAGES:
        text = page.read_text("utf-8")
        for match in re.finditer(r"^( *)```([^\n]*)\n(.*?)^\1```$", text, re.M | re.S):
            language = match[2].split(" ")[0]
            if not languages or language in languages:
                line = text.count("\n", 0, match.start()) + 1
                found.append(Block(page, line, language, textwrap.dedent(match[3])))
    return found


def prose(page: Path) -> str:
    """The page without its blocks and comments."""
    return re.sub(r"^( *)```.*?^\1```$|<!--.*?-->", "", page.read_text("utf-8"), flags=re.M | re.S)


# --- links -----------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """As MkDocs and GitHub make them; the pages keep to headings for which they agree."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.M)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`]*`", "``", prose(page))
    links = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", text)
    for link in (first or second for first, second in links):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if page.parent.name == "docs":
            assert target.is_relative_to(ROOT / "docs"), f"{link} leads out of the built site"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


def test_the_site_has_every_page_once() -> None:
    named = re.findall(r"([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M)
    assert sorted(named) == sorted(page.name for page in PAGES if page.parent.name == "docs")


# --- blocks ----------------------------------------------------------------------------------------------------------


def test_every_block_says_its_language() -> None:
    assert [f"{block} {block.language!r}" for block in blocks() if block.language not in LANGUAGES] == []


@pytest.mark.parametrize("block", blocks("yaml", "toml", "ini", "json"), ids=str)
def test_configuration_is_read_by_its_parser_and_names_keys_that_exist(block: Block) -> None:
    if block.language == "yaml":
        assert yaml.safe_load(block.text)
    elif block.language == "toml":
        assert tomllib.loads(block.text)
    elif block.language == "json":
        assert json.loads(block.text)
    else:
        text = block.text if block.text.startswith("[") else f"[pytest]\n{block.text}"
        configparser.ConfigParser(interpolation=None).read_string(text)
    keys = set(re.findall(r"^(selfheal_\w+|generate_tests)\s*=", block.text, re.M))
    assert keys <= {option.dest for option in OPTIONS}


def test_python_blocks_run() -> None:
    found = blocks("python")
    assert len(found) >= 6
    # One interpreter for all: each block in a namespace of its own, warnings are errors.
    script = "import json, sys\nfor name, text in json.load(sys.stdin):\n    exec(compile(text, name, 'exec'), {'__name__': 'page'})\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        input=json.dumps([(str(block), block.text) for block in found]),
        env={"PYTHONPATH": str(ROOT / "example_project/src"), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# --- commands --------------------------------------------------------------------------------------------------------


def parser_of_pytest() -> argparse.ArgumentParser:
    """Our options as pytest has them, in a parser that leaves the others alone."""
    group = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False, add_help=False)

    class Stand:
        def getgroup(self, *_: object) -> Stand:
            return self

        def addoption(self, *names: str, **more: object) -> None:
            group.add_argument(*names, **more)  # type: ignore[arg-type]

        def addini(self, *_: object, **__: object) -> None: ...

    plugin.pytest_addoption(Stand())  # type: ignore[arg-type]
    return group


def commands(text: str) -> Iterator[list[str]]:
    """Each simple command of a script or transcript, as words."""
    for line in text.replace("\\\n", " ").splitlines():
        line = line.removeprefix("$ ").strip().removeprefix("- ").removeprefix("run: ")
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # a quote that ends on another line
            continue
        command: list[str] = []
        for word in [*words, ";"]:
            if word in (";", "&&", "||", "|", ">", "if", "then"):
                yield command
                command = []
            else:
                command.append(word)


def written_commands() -> list[tuple[str, list[str]]]:
    found = [(str(block), words) for block in blocks("sh", "console", "yaml") for words in commands(block.text)]
    for page in PAGES:
        spans = [*re.findall(r"`((?:selfheal|pytest|python -m pytest) [^`]+)`", prose(page))]
        found += [(page.name, words) for span in spans if "…" not in span for words in commands(span)]
    return found


def test_every_selfheal_command_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    seen = 0
    for where, words in written_commands():
        if words[:1] != ["selfheal"] or words[1:2] == ["COMMAND"]:
            continue
        if any(word.startswith("[") for word in words):  # a synopsis
            continue
        try:
            build_parser(bench=True).parse_args(words[1:])
        except SystemExit:
            # In running text a command may stand without what it needs.
            if where.endswith(".md") and re.search("required|expected one", capsys.readouterr().err):
                continue
            pytest.fail(f"{where}: {shlex.join(words)}")
        seen += 1
    assert seen > 20


def test_every_option_of_pytest_is_understood_with_its_value() -> None:
    seen = 0
    for where, words in written_commands():
        if words[:1] == ["pytest"] or words[:3] == ["python", "-m", "pytest"]:
            try:
                given, rest = parser_of_pytest().parse_known_args(words[1:])
                # Data files are named as they might be.
                resolve({**vars(given), "selfheal_bench_data": None}, {}, {})
            except (argparse.ArgumentError, ValueError, SystemExit) as error:
                pytest.fail(f"{where}: {shlex.join(words)}: {error}")
            assert not [word for word in rest if word.startswith(("--selfheal", "--generate"))], where
            seen += "--selfheal" in shlex.join(words)
    assert seen > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_option_and_key_that_is_named_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    spellings = {option.spelling for option in OPTIONS}
    assert set(re.findall(r"(?<![\w-])--selfheal[a-z-]*", text)) <= spellings
    keys = {option.dest for option in OPTIONS} | {"pytest_selfheal"}
    hooks = {name for name in dir(plugin.hookspecs) if name.startswith("pytest_selfheal_")}
    named = {name for name in re.findall(r"(?<![\w./])(?:pytest_)?selfheal_\w+", text) if not name.endswith("_")}
    assert named <= keys | hooks


def test_the_page_of_options_is_what_the_parsers_say() -> None:
    script = ROOT / "docs/scripts/options.py"
    code = f"import runpy, sys; sys.stdout.buffer.write(runpy.run_path({str(script)!r})['page']().encode())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.decode() == (ROOT / "docs/options.md").read_text("utf-8"), "run: python docs/scripts/options.py"
    names = {
        name for action in parser_of_pytest()._actions for name in action.option_strings if name.startswith("--self")
    }
    assert names <= set(re.findall(r"^### `(--[a-z-]+)", done.stdout.decode(), re.M))
