"""The self-contained HTML page: the dashboard, the summary and each task's line, sortable and filterable."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.resources import files

from pytest_selfheal.bench.results import Results
from pytest_selfheal.bench.summary import COLUMNS, rows


def render(all_results: Sequence[Results], light: bytes, dark: bytes) -> str:
    """The page with both appearances of the picture (SVG). It loads nothing from anywhere."""
    import jinja2

    template = files("pytest_selfheal.bench").joinpath("templates/page.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        light=base64.b64encode(light).decode("ascii"),
        dark=base64.b64encode(dark).decode("ascii"),
        columns=COLUMNS,
        summary=rows(all_results),
        results=all_results,
        title=", ".join(sorted({results.benchmark for results in all_results})),
    )
