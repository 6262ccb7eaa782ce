"""``selfheal bench summary | compare | plot``."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_selfheal.bench import plot
from pytest_selfheal.bench.cli import load
from pytest_selfheal.bench.line import Line
from pytest_selfheal.bench.results import Writer
from pytest_selfheal.cli import main

HOSTILE = "<script>alert(1)</script>"


def run(folder: Path, model: str, rate: float, seed: int, tasks: int = 60, **more: Any) -> Path:
    """A results file of a made-up run."""
    chance = random.Random(seed)
    metadata = {
        "benchmark": "humanevalfix",
        "data_sha256": "0" * 64,
        "visible": "tests",
        "num_problems": tasks,
        "runs": 1,
    }
    metadata["timestamp"] = f"2026-01-0{seed}T00:00:00Z"
    models = {"coder": model, "critic": more.pop("critic", None), "strategy": "auto"}
    made = Writer(folder, {**metadata, **more.pop("metadata", {})}, models)
    for number in range(tasks):
        right = chance.random() < rate
        data: dict[str, Any] = {
            "task_id": f"Python/{number}",
            "run": 1,
            "entry_point": f"f{number}",
            "is_complete": right,
            "zero_shot": right and chance.random() < 0.8,
            "equivalent": True if right else None,
            "confidence": "high" if right else None,
            "termination_reason": "healed" if right else "no_candidate",
            "diff": f"+{HOSTILE}\n",
            "reason": "" if right else HOSTILE,
            **more,
        }
        made.add(Line(**data))
    return made.close()


PAID = {"token_usage": {"coder": 900, "critic": 200}, "cost": {"coder": 0.002, "critic": 0.0005}}


def test_summary_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run(tmp_path, "acme|large", 0.7, 1, **PAID)
    assert main(["bench", "summary", str(path)]) == 0
    text = capsys.readouterr().out
    assert "acme|large" in text and "right" in text and "95%" in text and "per pass" in text
    assert main(["bench", "summary", str(path), "--format", "csv"]) == 0
    [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["tasks"] == "60" and row["cost"] == "$0.1500"
    assert main(["bench", "summary", str(path), "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "acme\\|large" in lines[2] and len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert main(["bench", "summary", str(path), "--format", "json"]) == 0
    [data] = json.loads(capsys.readouterr().out)
    assert data["benchmark_summary"]["problems"]["total"] == 60


def test_summary_extracts_what_is_not_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run(tmp_path, "m", 0.5, 1)
    assert main(["-C", str(tmp_path), "bench", "summary", path.name, "--failed", "failed.jsonl"]) == 0
    failed = [json.loads(line) for line in (tmp_path / "failed.jsonl").read_text().splitlines()]
    assert failed and not any(line["is_complete"] for line in failed)


def test_compare_names_what_flipped_and_exits_1_when_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("scipy")
    good, bad = run(tmp_path / "a", "m", 0.95, 1), run(tmp_path / "b", "m", 0.6, 2)
    assert main(["bench", "compare", str(good), str(bad)]) == 1
    text = capsys.readouterr().out
    assert text.startswith("worse: m of 2026-01-02")
    lost = re.search(r"^  lost: (.+)$", text, re.MULTILINE)
    before, after = ({line.task_id: line.is_complete for line in load([str(path)])[0].lines} for path in (good, bad))
    assert lost and lost[1].split(", ") == [task for task in before if before[task] and not after[task]]
    assert "McNemar" in text and "Cohen's h" in text and "paired bootstrap" in text
    assert main(["bench", "compare", str(bad), str(good), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["is_worse"] is False and data["difference"] > 0 and data["p_exact"] < 0.05
    assert main(["bench", "compare", str(good), str(good), "--format", "markdown"]) == 0
    assert "as good as the baseline" in capsys.readouterr().out


def test_what_cannot_be_compared_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = run(tmp_path / "a", "m", 0.9, 1)
    other = run(tmp_path / "b", "m", 0.9, 2, metadata={"data_sha256": "1" * 64})
    assert main(["bench", "compare", str(first), str(other)]) == 2
    assert "different versions" in capsys.readouterr().err
    another = run(tmp_path / "c", "m", 0.9, 3, metadata={"benchmark": "mbpp"})
    assert main(["bench", "compare", str(first), str(another)]) == 2
    assert "one suite" in capsys.readouterr().err
    assert main(["bench", "compare", str(first), str(tmp_path / "none.json")]) == 2
    assert "Traceback" not in capsys.readouterr().err
    run(tmp_path / "a", "another", 0.9, 4)
    assert main(["bench", "compare", str(tmp_path / "a"), str(first)]) == 2
    assert "2 configurations" in capsys.readouterr().err


def several(folder: Path) -> None:
    run(folder, "builtin", 0.9, 1)
    run(folder, "acme/a-model-with-quite-a-long-name-2026-instruct", 0.8, 2, critic="acme/critic", **PAID)
    run(folder, "private", 0.6, 3, token_usage={"coder": 500, "critic": 0}, cost={"coder": None, "critic": 0.0})


@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_plots_in_every_format(tmp_path: Path, ending: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    several(tmp_path)
    target = tmp_path / f"plot{ending}"
    assert main(["bench", "plot", str(tmp_path), "-o", str(target)]) == 0
    assert target.read_bytes().startswith(start)
    assert target.stat().st_size > 10_000


def test_the_page_is_self_contained_and_hostile_texts_stay_texts(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    several(tmp_path)
    target = tmp_path / "plot.html"
    assert main(["bench", "plot", str(tmp_path), "-o", str(target)]) == 0
    page = target.read_text(encoding="utf-8")
    assert HOSTILE not in page and "&lt;script&gt;alert(1)" in page
    assert not re.search(r"""(?:src|href|srcset)=["'](?!data:)""", page)
    assert page.count("<tr data-state") == 180
    assert "prefers-color-scheme: dark" in page


@pytest.mark.parametrize("theme", [plot.LIGHT, plot.DARK])
def test_no_label_lies_on_another_and_none_is_cut(
    tmp_path: Path, theme: plot.Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    several(tmp_path)
    seen: list[Figure] = []
    save = Figure.savefig

    def keep(self: Figure, *arguments: Any, **named: Any) -> None:
        seen.append(self)
        save(self, *arguments, **named)

    monkeypatch.setattr(Figure, "savefig", keep)
    plot.picture(load([str(tmp_path)]), "png", theme)
    [figure] = seen
    width, height = figure.canvas.get_width_height()
    boxes = []
    for axis in figure.axes:
        texts = [*axis.texts, *axis.get_xticklabels(), *axis.get_yticklabels(), axis.xaxis.label, axis.yaxis.label]
        texts += [axis._left_title] if hasattr(axis, "_left_title") else []
        legend = axis.get_legend()
        texts += legend.get_texts() if legend else []
        # A tick beyond the axis' limits keeps a label that is never drawn.
        low, high = axis.get_xlim()
        for text in texts:
            if not text.get_text() or not text.get_visible():
                continue
            if text in axis.get_xticklabels() and not low <= text.get_position()[0] <= high:
                continue
            boxes.append((text.get_text(), text.get_window_extent()))
    assert len(boxes) > 30
    for name, box in boxes:
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, f"{name!r} is cut off"
    for index, (name, box) in enumerate(boxes):
        for other, another in boxes[index + 1 :]:
            apart = box.x1 <= another.x0 or another.x1 <= box.x0 or box.y1 <= another.y0 or another.y1 <= box.y0
            assert apart, f"{name!r} overlaps {other!r}"


def test_colours_can_be_told_apart_without_seeing_red_or_green() -> None:
    """Viénot, Brettel and Mollon (1999): what a protanope and a deuteranope see of the two series colours and the paper."""
    for theme in (plot.LIGHT, plot.DARK):
        first, second, paper = (_rgb(colour) for colour in (theme.series[0], theme.series[1], theme.paper))
        for matrix in (PROTANOPE, DEUTERANOPE):
            a, b, c = (_seen(colour, matrix) for colour in (first, second, paper))
            assert min(_distance(a, b), _distance(a, c), _distance(b, c)) > 0.25


PROTANOPE = ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0))
DEUTERANOPE = ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0))


def _rgb(colour: str) -> tuple[float, ...]:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def _seen(colour: tuple[float, ...], matrix: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    return tuple(sum(weight * part for weight, part in zip(row, colour, strict=True)) for row in matrix)


def _distance(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) ** 0.5


def test_wrong_plot_targets_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run(tmp_path, "m", 0.5, 1, tasks=3)
    assert main(["bench", "plot", str(path), "-o", str(tmp_path / "x.gif")]) == 2
    assert ".png, .pdf, .svg or .html" in capsys.readouterr().err
    pytest.importorskip("matplotlib")
    assert main(["bench", "plot", str(path), "-o", str(tmp_path / "nowhere" / "x.png")]) == 2
    assert "cannot write" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["bench", "summary", str(tmp_path / "empty")]) == 2
    assert "holds no benchmark results" in capsys.readouterr().err


def test_without_scipy_figures_come_without_intervals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in ("scipy", "scipy.stats"):
        monkeypatch.setitem(sys.modules, name, None)
    first, second = run(tmp_path / "a", "m", 0.9, 1), run(tmp_path / "b", "m", 0.5, 2)
    assert json.loads(first.read_text())["benchmark_summary"]["problems"]["ci95"] is None
    assert main(["bench", "summary", str(first)]) == 0
    assert "pip install 'pytest-selfheal[bench]'" in capsys.readouterr().out
    assert main(["bench", "compare", str(first), str(second)]) == 1
    assert "need SciPy" in capsys.readouterr().out
