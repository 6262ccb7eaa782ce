"""The HTML report in a real browser: readable in light and dark, whole on a phone and on paper, usable by keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser import EXECUTABLE, Browser
from record_samples import CHANGE, healed_outcome, run_report, unhealed_outcome
from test_record_html import hostile_page

from pytest_selfheal.record.html import render
from pytest_selfheal.types import FileChange, Outcome

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="needs Debian's chromium")

LONG = "long_" * 60
EVENTS = [
    {"t": 2.0, "event": "attempt", "id": "0001", "verdict": "healed", "cost_usd": 0.01},
    *({"t": 4.0, "event": "outcome", "id": id} for id in ("0001", "0002", "0003")),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def outcomes() -> list[Outcome]:
    """Everything the page can show, with names that have nowhere to break."""
    change = FileChange(f"src/{LONG}.py", b"x = 1\n", f"x = '{LONG}'\n".encode())
    refused = unhealed_outcome(
        "0002", nodeid=f"tests/test_b.py::test[{LONG}]", message=LONG, words=LONG, evidence=(LONG,)
    )
    attempt = replace(refused.attempts[0], reason=LONG, feedback=LONG, description=LONG)
    return [
        healed_outcome("0001", nodeid=f"tests/{LONG}.py::test", changes=(change, CHANGE), note=LONG, description=LONG),
        refused.but(attempts=(attempt,)),
        unhealed_outcome("0003", reason="flaky").but(attempts=(), seconds=0.0),
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = {
        "words": LONG,
        "table": [["function", "why not"], ["a.py::f", "reads the clock"]],
        "patch": "patches/1.patch",
    }
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(run_report(outcomes(), test_generation=made, notes=(LONG,)), events=EVENTS), "utf-8")
    return path.as_uri()


OUTSIDE = """(() => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  const outside = (element) => {
    const box = element.getBoundingClientRect();
    return box.width && (box.right > innerWidth + 1 || box.left < -1);
  };
  return [...document.body.querySelectorAll("*")].filter(outside).map((element) => element.outerHTML.slice(0, 80));
})()"""


@pytest.mark.parametrize(("width", "media"), [(360, "screen"), (800, "screen"), (1200, "screen"), (690, "print")])
def test_nothing_is_cut_off_however_long_the_names(browser: Browser, page: str, width: int, media: str) -> None:
    browser.open(page, width=width, media=media)
    assert browser.js(OUTSIDE) == []
    # A column that is squeezed to a few letters is no better.
    narrow = "[...document.querySelectorAll('.overview .test')].filter(cell => cell.textContent.length > 99)"
    assert browser.js(f"{narrow}.every(cell => cell.getClientRects()[0].height < 40 * 19)")


CONTRAST = """(() => {
  const light = (colour) => {
    const part = (x) => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(colour[0]) + 0.7152 * part(colour[1]) + 0.0722 * part(colour[2]);
  };
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const colour = numbers(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const cell of document.querySelectorAll(".changed .old, .changed .new"))
    for (const kind of KINDS) cell.insertAdjacentHTML("beforeend", `<span class="${kind}">x</span>`);
  const faint = new Set(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || element.closest("script, style")) continue;
    const [one, other] = [numbers(getComputedStyle(element).color), behind(element)].map(light).sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < 4.5) faint.add(`${ratio.toFixed(2)} ${element.tagName} ${element.className}`);
  }
  return [...faint];
})()"""


@pytest.mark.parametrize(
    ("scheme", "clicks", "media"),
    [
        ("light", 0, "screen"),
        ("dark", 0, "screen"),
        ("light", 1, "screen"),
        ("dark", 1, "screen"),
        ("light", 1, "print"),
    ],
)
def test_every_text_is_readable(browser: Browser, page: str, scheme: str, clicks: int, media: str) -> None:
    """WCAG AA, 4.5 to 1, whichever way the theme was chosen; every kind of word that Pygments knows in Python."""
    from pygments.token import STANDARD_TYPES, Text, Token

    # Whitespace, and what no Python lexer makes (console output and the like), are no text to read.
    unread = (Text, Token.Generic, Token.Escape, Token.Other)
    kinds = [name for token, name in STANDARD_TYPES.items() if name and not any(token in other for other in unread)]
    browser.open(page, scheme=scheme, media=media)
    for _ in range(clicks):
        browser.js("document.getElementById('theme').click()")
    assert browser.js(CONTRAST.replace("KINDS", str(kinds))) == []


def test_old_and_new_are_told_apart_without_colours(browser: Browser, page: str) -> None:
    sign = "getComputedStyle(document.querySelector('{}'), '::after').content"
    for media in ("screen", "print"):
        browser.open(page, width=360, media=media)
        assert "−" in browser.js(sign.format(".changed .ln"))
        assert "+" in browser.js(sign.format(".changed .ln-new"))


OPEN = "[...document.querySelectorAll('.cause')].filter(cause => cause.open).map(cause => cause.id)"
SHOWN = "[...document.querySelectorAll('{}')].filter(element => element.offsetHeight).length"


def test_the_keyboard_is_enough(browser: Browser, page: str) -> None:
    browser.open(page)
    focused = "document.activeElement.parentElement.id"
    for key, id in (("j", "c0001"), ("j", "c0002"), ("j", "c0003"), ("j", "c0003"), ("k", "c0002")):
        browser.press(key)
        assert browser.js(focused) == id
    browser.press("o")
    assert browser.js(OPEN) == ["c0001", "c0003"]
    # A cause that was reached with the tabulator is the one meant.
    browser.js("document.querySelector('#c0003 > summary').focus()")
    browser.press("o")
    assert browser.js(OPEN) == ["c0001"]
    browser.press("a")
    assert browser.js(OPEN) == ["c0001", "c0002", "c0003"]
    browser.press("/")
    for letter in "flaky":
        browser.press(letter)
    assert browser.js(SHOWN.format(".cause")) == 1
    assert browser.js(SHOWN.format(".overview tr[data-status]")) == 1
    browser.press("Escape")
    assert browser.js("document.activeElement.id") != "search"


def test_a_search_shows_a_cause_in_both_places_or_says_that_there_is_none(browser: Browser, page: str) -> None:
    browser.open(page)
    search = "(() => {{ const box = document.getElementById('search'); box.value = {!r}; box.dispatchEvent(new Event('input')) }})()"
    for words, count in (("special-casing", 0), ("nothing helped", 1), ("no such words", 0), ("", 3)):
        browser.js(search.format(words))
        assert browser.js(SHOWN.format(".cause")) == count, words
        assert browser.js(SHOWN.format(".overview tr[data-status]")) == count, words
        assert browser.js(SHOWN.format("#nothing")) == (count == 0), words


def test_printing_opens_everything_and_leaves_the_page_as_it_was(browser: Browser, page: str) -> None:
    browser.open(page)
    browser.js("document.getElementById('c0002').open = false")
    before = browser.js("[...document.querySelectorAll('details')].map(details => details.open)")
    browser.js("dispatchEvent(new Event('beforeprint'))")
    assert browser.js("[...document.querySelectorAll('details')].every(details => details.open)")
    browser.js("dispatchEvent(new Event('afterprint'))")
    assert browser.js("[...document.querySelectorAll('details')].map(details => details.open)") == before


def test_the_browser_runs_the_report_and_nothing_else(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(hostile_page(), "utf-8")
    browser.open(path.as_uri() + "#c0002")
    assert re.match("Self-heal: 1 of 2 causes healed", browser.js("document.title"))
    # Our own script opens what the address names, and no other script would run.
    browser.js("document.getElementById('c0002').open = false")
    browser.js("dispatchEvent(new Event('hashchange'))")
    assert browser.js("document.getElementById('c0002').open")
    browser.js("document.body.append(Object.assign(document.createElement('script'), {text: 'document.title = 1'}))")
    assert re.match("Self-heal", browser.js("document.title"))


def test_two_hundred_causes_are_read_at_once(browser: Browser, tmp_path: Path) -> None:
    made = [
        (healed_outcome if n % 2 else unhealed_outcome)(f"{n:04}", text="assert 1 == 2\n" * 300) for n in range(1, 201)
    ]
    path = tmp_path / "report.html"
    path.write_text(render(run_report(made)), "utf-8")
    browser.open(path.as_uri())
    assert browser.js(SHOWN.format(".cause")) == 200
