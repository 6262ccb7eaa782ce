"""Write ``docs/options.md`` from the parsers: ``python docs/scripts/options.py``.

``tests/test_docs.py`` holds the committed page to what the parsers say now.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from pytest_selfheal.cli import build_parser
from pytest_selfheal.settings import OPTIONS, Option

PAGE = Path(__file__).parent.parent / "options.md"

HEAD = """# Options

<!-- Written by docs/scripts/options.py from the parsers; do not edit. -->

Every option of pytest is also an ini key (in `pytest.ini`, `tox.ini`, `setup.cfg` or `pyproject.toml`), some are
environment variables. The command line wins over the environment, that over the ini file. A wrong value is a usage
error (exit status 4) that names the option. `pytest --help` lists them under "self-heal".

An option that can be repeated takes one value a line in an ini file; a switch takes `true` or `false`.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD, "## Options of pytest\n"]
    parts += [_option(option) for option in OPTIONS if option.spelling is not None]
    parts.append("## Ini keys without an option\n\nWhat a project decides, not a person at the keyboard.\n")
    parts += [_option(option) for option in OPTIONS if option.spelling is None]
    parts.append("## Commands of `selfheal`\n\n`selfheal` and `python -m pytest_selfheal` are the same.\n")
    parser = build_parser(bench=True)
    parts.append(_arguments(parser))
    parts += [_command(*found) for found in _commands(parser)]
    return "\n".join(parts)


def _option(option: Option) -> str:
    name = option.dest if option.spelling is None else option.spelling
    if option.spelling is not None and option.metavar:
        name += f" {option.metavar}"
    facts = [] if option.spelling is None else [f"Ini key `{option.dest}`"]
    if option.env:
        facts.append(f"environment `{option.variable}`")
    if option.repeatable and "repeatable" not in option.help:
        facts.append("repeatable")
    if option.is_switch:
        facts.append("off by default")
    elif "(default" not in option.help:
        facts.append("no default" if option.default in (None, ()) else f"default `{option.default}`")
    told = "; ".join(facts)
    words = option.help.replace("'", "`") if option.help.count("'") % 2 == 0 else option.help
    return f"### `{name}`\n\n{_upper(words)}.\n\n" + (f"{_upper(told)}.\n" if told else "")


def _upper(words: str) -> str:
    return words[:1].upper() + words[1:]


def _commands(
    parser: argparse.ArgumentParser, prefix: str = "selfheal"
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Each command that does something: its whole name, what it is for, and its parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            about = {each.dest: each.help or "" for each in action._choices_actions}
            for name, command in action.choices.items():
                below = list(_commands(command, f"{prefix} {name}"))
                yield from below or [(f"{prefix} {name}", about[name], command)]


def _command(name: str, words: str, command: argparse.ArgumentParser) -> str:
    return f"### `{name}`\n\n{_upper(words)}.\n\n{_arguments(command)}".rstrip() + "\n"


def _arguments(parser: argparse.ArgumentParser) -> str:
    rows = [_argument(action) for action in parser._actions if action.dest not in ("help", "version")]
    return "".join(f"{row}\n" for row in rows if row)


def _argument(action: argparse.Action) -> str:
    if isinstance(action, argparse._SubParsersAction):
        return ""
    metavar = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    value = f" {metavar}" if action.nargs != 0 and action.option_strings else ""
    name = ", ".join(action.option_strings) + value if action.option_strings else str(metavar)
    words = action.help or ("" if action.default is None else f"default `{action.default}`")
    return f"- `{name}`: {words}" if words else f"- `{name}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
