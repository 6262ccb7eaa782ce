"""The HTML report: whole, self-contained, and proof against what tests print."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from record_samples import healed_outcome, run_report, unhealed_outcome

from pytest_selfheal.record.diff import make_diff
from pytest_selfheal.record.html import render, side_by_side
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


def test_a_cause_that_took_no_time_is_on_the_timeline_and_an_unknown_price_is_no_sum() -> None:
    events = [
        {"t": 2.0, "event": "attempt", "id": "0001", "verdict": "still_failing", "cost_usd": 0.01},
        {"t": 4.0, "event": "attempt", "id": "0001", "verdict": "healed", "cost_usd": None},
        {"t": 4.0, "event": "outcome", "id": "0001"},
        {"t": 4.0, "event": "outcome", "id": "0002"},
    ]
    outcomes = [healed_outcome("0001"), unhealed_outcome("0002").but(seconds=0.0)]
    page = Page(render(run_report(outcomes), events=events))
    bars = [attributes for tag, attributes in page.tags if tag == "rect"]
    assert all(float(bar["x"] or 0) + float(bar["width"] or 0) <= 1000 for bar in bars)
    assert "at least $0.01" in page.text


@pytest.mark.parametrize(
    ("above", "code"),
    [
        ('>>> f(1)\n2\n"""\n', True),
        ('the end."""\n', True),
        ("", True),
        ('def f():\n    """Opens here,\n', False),
        ('def f():\n    """\n    Opens here,\n', False),
        ('X = f("""\n', False),
        ('def f():\n    """Whole."""\n', True),
    ],
)
def test_code_below_the_end_of_a_docstring_is_coloured_as_code(above: str, code: bool) -> None:
    change = FileChange("a.py", f"{above}return 1\n".encode(), f"{above}return 2\n".encode())
    (file,) = side_by_side(make_diff([change]).decode())
    kinds = [re.findall(r'class="(\w+)"', str(old)) for _, _, old, _, _ in file["hunks"][0]]
    assert (kinds[-1][:1] == ["k"]) == code
    assert len(kinds) == len(above.splitlines()) + 1


def test_how_to_run_a_test_again_starts_where_it_is_found(tmp_path: Path) -> None:
    report = run_report([healed_outcome()], top=str(tmp_path), rootdir=str(tmp_path / "packages/one"))
    assert "cd packages/one && python -m pytest tests/test_calc.py::test_add" in Page(render(report)).text
    assert "cd " not in Page(render(run_report([healed_outcome()], top=str(tmp_path), rootdir=str(tmp_path)))).text


def test_counts_and_verdicts_are_words(tmp_path: Path) -> None:
    one = healed_outcome("0001").but(candidates_tried=1)
    text = Page(render(run_report([one, unhealed_outcome("0002", reason="flaky").but(attempts=())]))).text
    assert "1 candidate tried" in text
    assert "Nothing was tried." in text
    again = replace(one.attempts[0], verdict="still_failing")
    assert "still failing" in Page(render(run_report([one.but(attempts=(again,))]))).text


def test_two_hundred_failures_fit_in_five_megabytes() -> None:
    outcomes = [
        (healed_outcome if n % 2 else unhealed_outcome)(f"{n:04}", text="assert 1 == 2\n" * 300) for n in range(1, 201)
    ]
    assert len(render(run_report(outcomes)).encode()) < 5_000_000
