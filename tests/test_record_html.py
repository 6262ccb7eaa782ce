"""The HTML report: whole, self-contained, and proof against what tests print."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from record_samples import healed_outcome, run_report, unhealed_outcome

from pytest_selfheal.record.html import render
from pytest_selfheal.types import FileChange

HOSTILE = (
    "</pre></script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">\x00\ud800&lt;"
)


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile_page() -> str:
    change = FileChange("a.py", f"x = '{HOSTILE[:-6]}'\n".encode(), b"x = 2\n")
    outcomes = [
        healed_outcome(
            "0001", nodeid=f"tests/test_a.py::test_x[{HOSTILE}]", message=HOSTILE, changes=(change,), note=HOSTILE
        ),
        unhealed_outcome("0002", message=HOSTILE, words=HOSTILE, text=HOSTILE, evidence=(HOSTILE,)),
    ]
    return render(run_report(outcomes, notes=(HOSTILE,)))


def test_hostile_strings_are_text_and_never_markup() -> None:
    page = Page(hostile_page())
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not [tag for tag, _ in page.tags if tag in ("img", "iframe", "object", "link")]
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert "document.title='taken'" in page.text


def test_nothing_is_loaded_from_outside() -> None:
    html = render(run_report([healed_outcome("0001"), unhealed_outcome("0002")]))
    for tag, attributes in Page(html).tags:
        assert "src" not in attributes, tag
        assert not (attributes.get("href") or "").startswith(("http", "//")), tag
    assert "url(" not in html
    assert "@import" not in html


def test_every_cause_is_told_with_its_diff_and_its_next_step() -> None:
    page = Page(render(run_report([healed_outcome("0001"), unhealed_outcome("0002", reason="flaky")])))
    for words in ("return a - b", "return a + b", "medium confidence", "flaky", "make the test deterministic"):
        assert words in page.text
    ids = [attributes["id"] for _, attributes in page.tags if attributes.get("class") == "cause"]
    assert ids == ["c0001", "c0002"]


def test_the_timeline_shows_attempts_and_money() -> None:
    events = [
        {"t": 2.0, "event": "attempt", "id": "0001", "verdict": "still_failing", "cost_usd": 0.01},
        {"t": 4.0, "event": "attempt", "id": "0001", "verdict": "healed", "cost_usd": 0.03},
        {"t": 4.1, "event": "outcome", "id": "0001"},
    ]
    page = Page(render(run_report([healed_outcome("0001")]), events=events))
    assert [tag for tag, _ in page.tags].count("line") == 2
    assert "$0.04" in page.text
    points = next(attributes["points"] for tag, attributes in page.tags if tag == "polyline")
    assert points is not None
    assert points.split()[-1] == "1000.0,4.0"


def test_two_hundred_failures_fit_in_five_megabytes() -> None:
    outcomes = [
        (healed_outcome if n % 2 else unhealed_outcome)(f"{n:04}", text="assert 1 == 2\n" * 300) for n in range(1, 201)
    ]
    assert len(render(run_report(outcomes)).encode()) < 5_000_000


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Debian's chromium")
def test_a_browser_runs_the_report_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(hostile_page(), "utf-8")
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/profile",
        "--dump-dom",
    ]
    done = subprocess.run(
        [*command, path.as_uri() + "#c0002"], capture_output=True, text=True, timeout=120, check=False
    )
    page = Page(done.stdout)
    assert "<title>Self-heal: 1 of 2 causes healed" in done.stdout
    # Only our own script opens what the address names.
    assert any(a.get("id") == "c0002" and "open" in a for _, a in page.tags)
