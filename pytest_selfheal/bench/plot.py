"""A dashboard of four panels. Colours are Okabe and Ito's, which colour-blind people can tell apart."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_selfheal.bench import figures, statistics
from pytest_selfheal.bench.results import Results
from pytest_selfheal.errors import UsageError

FORMATS: Final = (".png", ".pdf", ".svg", ".html")


@dataclass(frozen=True)
class Theme:
    """Colours of one appearance."""

    paper: str
    ink: str
    faint: str
    series: tuple[str, ...]


LIGHT: Final = Theme(
    "#ffffff", "#222222", "#d5d5d5", ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
)
DARK: Final = Theme("#16181c", "#e8e8e8", "#3c4047", ("#56B4E9", "#E69F00", "#33C79B", "#E3A1C6", "#F0803C", "#7FC4EE"))


@dataclass(frozen=True)
class Bar:
    """What the panels show of one configuration."""

    label: str
    rate: float
    interval: tuple[float, float] | None
    zero_shot: float
    cost: float
    """Known US dollars for each task."""
    cost_known: bool
    tokens: tuple[float, float]
    """For each task: coder, critic."""
    costs: tuple[float, float]


def bars(all_results: Sequence[Results]) -> list[Bar]:
    """One for each configuration; the suite is named where there are several."""
    several = len({results.benchmark for results in all_results}) > 1
    made = []
    for results in all_results:
        summary = figures.summarise(results.lines)
        problems, cost = summary["problems"], summary["cost"]
        count = max(1, problems["total"])
        interval = problems["ci95"]
        made.append(
            Bar(
                label=f"{results.benchmark}: {results.name}" if several else results.name,
                rate=problems["pass_rate"],
                interval=(interval[0], interval[1]) if interval else None,
                zero_shot=problems["zero_shot_rate"],
                cost=cost["known"] / count,
                cost_known=cost["total"] is not None,
                tokens=(summary["token_usage"]["coder"] / count, summary["token_usage"]["critic"] / count),
                costs=((cost["coder"] or 0.0) / count, (cost["critic"] or 0.0) / count),
            )
        )
    return made


def write(all_results: Sequence[Results], target: Path, dark: bool = False) -> None:
    """Draw the dashboard into ``target``; its ending says how.

    Raises :class:`UsageError` for an unknown ending, :class:`MissingExtra` when Matplotlib is missing.
    """
    if target.suffix.lower() not in FORMATS:
        raise UsageError(f"-o {target}: give a file that ends with {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
    if target.suffix.lower() == ".html":
        from pytest_selfheal.bench.page import render

        target.write_text(
            render(all_results, picture(all_results, "svg"), picture(all_results, "svg", DARK)), encoding="utf-8"
        )
    else:
        target.write_bytes(picture(all_results, target.suffix.lower()[1:], DARK if dark else LIGHT))


def picture(all_results: Sequence[Results], kind: str, theme: Theme = LIGHT) -> bytes:
    """The dashboard as ``png``, ``pdf`` or ``svg``."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise statistics.MissingExtra("Plots need Matplotlib: run pip install 'pytest-selfheal[plots]'.") from None
    shown = bars(all_results)
    settings: Any = {
        "font.size": 10,
        "text.color": theme.ink,
        "axes.labelcolor": theme.ink,
        "axes.edgecolor": theme.faint,
        "xtick.color": theme.ink,
        "ytick.color": theme.ink,
        "svg.hashsalt": "selfheal",
        "text.parse_math": False,  # two dollar signs in a label are money
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
    }
    with matplotlib.rc_context(settings):
        # No pyplot: nothing global, no window, works in any thread.
        figure = Figure(figsize=(12.5, 5.0 + 0.75 * len(shown)), layout="constrained", facecolor=theme.paper, dpi=150)
        # Each row is laid out on its own: the legend beside one panel must not narrow the one below.
        halves: Any = figure.subfigures(2, 1)
        axes: list[Any] = []
        for row in halves:
            row.set_facecolor(theme.paper)
            axes += list(row.subplots(1, 2))
        panels: tuple[Callable[[Any, list[Bar], Theme], None], ...] = (_rates, _costs, _lift, _roles)
        for axis, panel in zip(axes, panels, strict=True):
            axis.set_facecolor(theme.paper)
            axis.set_axisbelow(True)
            for side in ("top", "right"):
                axis.spines[side].set_visible(False)
            panel(axis, shown, theme)
        layout: Any = figure.get_layout_engine()
        layout.set(w_pad=0.12, h_pad=0.14)
        figure.suptitle(_title(all_results), x=0.01, ha="left", fontsize=13, fontweight="bold", color=theme.ink)
        stream = io.BytesIO()
        # No date: the same results give the same bytes.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(stream, format=kind, facecolor=theme.paper, metadata=metadata)
    return stream.getvalue()


def _title(all_results: Sequence[Results]) -> str:
    names = sorted({results.benchmark for results in all_results})
    counts = sorted({len({line.task_id for line in results.lines}) for results in all_results})
    tasks = f"{counts[0]} tasks" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} tasks"
    return f"{', '.join(names)}: {tasks}"


def _rows(axis: Any, shown: list[Bar], theme: Theme) -> list[int]:
    """One row for each configuration, the first on top."""
    places = list(range(len(shown)))[::-1]
    axis.set_yticks(places, [_wrapped(bar.label) for bar in shown])
    axis.set_ylim(-0.6, len(shown) - 0.4)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color=theme.faint, linewidth=0.8)
    return places


def _wrapped(label: str, width: int = 26) -> str:
    import textwrap

    lines = textwrap.wrap(label, width, break_on_hyphens=True) or [""]
    return "\n".join(lines if len(lines) <= 3 else [*lines[:2], lines[2][: width - 1] + "…"])


def _percent_axis(axis: Any) -> None:
    axis.set_xlim(0, 1)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])


def _rates(axis: Any, shown: list[Bar], theme: Theme) -> None:
    axis.set_title(
        "Right, with 95% intervals" if any(bar.interval for bar in shown) else "Right (install SciPy for intervals)"
    )
    for place, bar in zip(_rows(axis, shown, theme), shown, strict=True):
        axis.plot([0, bar.rate], [place, place], color=theme.faint, linewidth=2)
        if bar.interval:
            axis.plot(bar.interval, [place, place], color=theme.series[0], linewidth=3, solid_capstyle="butt")
            for end in bar.interval:
                axis.plot([end, end], [place - 0.1, place + 0.1], color=theme.series[0], linewidth=2, clip_on=False)
        axis.plot(bar.rate, place, "o", markersize=9, color=theme.series[0], markeredgecolor=theme.paper, clip_on=False)
        axis.text(bar.rate, place + 0.2, f"{100 * bar.rate:.1f}%", ha="center", va="bottom", fontsize=9)
    _percent_axis(axis)


def _costs(axis: Any, shown: list[Bar], theme: Theme) -> None:
    axis.set_title("Cost against right; line: Pareto front")
    paid = [bar.cost for bar in shown if bar.cost > 0]
    axis.set_ylabel("right")
    axis.set_xlabel("US dollars a task (log scale)" if paid else "US dollars a task")
    axis.set_ylim(-0.04, 1.12)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    axis.grid(color=theme.faint, linewidth=0.8)
    # A logarithm has no place for what is free: it gets the axis' left end, named as such.
    free = min(paid) / 10 if paid else 0.0
    points = [(bar.cost if bar.cost > 0 else free, bar.rate) for bar in shown]
    if paid:
        axis.set_xscale("log")
        axis.set_xlim(free / 2, max(paid) * 6)
        axis.set_xticks(*_money_ticks(free, max(paid), any(bar.cost == 0 for bar in shown)), minor=False)
        axis.minorticks_off()
    else:
        axis.set_xlim(-0.1, 1)
        axis.set_xticks([0], ["$0"])
    known = [(index, point) for index, (bar, point) in enumerate(zip(shown, points, strict=True)) if bar.cost_known]
    front = sorted(known[i][1] for i in statistics.pareto_front([point for _, point in known]))
    if len(front) > 1:
        axis.step(
            [x for x, _ in front], [y for _, y in front], where="post", color=theme.ink, linewidth=1.2, linestyle="--"
        )
    markers = "osD^vP"
    for index, (bar, (x, y)) in enumerate(zip(shown, points, strict=True)):
        colour = theme.series[index % len(theme.series)]
        axis.plot(
            x,
            y,
            markers[index % len(markers)],
            markersize=9,
            color=colour if bar.cost_known else theme.paper,
            markeredgecolor=colour,
            markeredgewidth=1.5,
            label=_wrapped(bar.label, 34) + ("" if bar.cost_known else " (price unknown: ≥)"),
        )
    legend = axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8.5, frameon=False)
    for text in legend.get_texts():
        text.set_color(theme.ink)


def _money_ticks(free: float, highest: float, with_free: bool) -> tuple[list[float], list[str]]:
    import math

    first, last = math.floor(math.log10(free * 10)), math.ceil(math.log10(highest))
    ticks = [10.0**power for power in range(first, last + 1)]
    labels = [f"${tick:.{max(0, -power)}f}" for power, tick in zip(range(first, last + 1), ticks, strict=True)]
    if with_free:
        ticks, labels = (
            [free, *(t for t in ticks if t > free * 2)],
            ["free", *(s for s, t in zip(labels, ticks, strict=True) if t > free * 2)],
        )
    return ticks, labels


def _lift(axis: Any, shown: list[Bar], theme: Theme) -> None:
    axis.set_title("First proposal, and what feedback adds")
    places = _rows(axis, shown, theme)
    zero, lift = [bar.zero_shot for bar in shown], [max(0.0, bar.rate - bar.zero_shot) for bar in shown]
    axis.barh(places, zero, height=0.5, color=theme.series[0], label="first proposal")
    axis.barh(
        places, lift, left=zero, height=0.5, color=theme.series[1], hatch="///", edgecolor=theme.paper, label="lift"
    )
    for place, bar, more in zip(places, shown, lift, strict=True):
        axis.text(bar.rate + 0.015, place, f"+{100 * more:.1f}", va="center", fontsize=9)
    _percent_axis(axis)
    axis.set_xlim(0, 1.12)
    _legend_below(axis, theme)


def _roles(axis: Any, shown: list[Bar], theme: Theme) -> None:
    axis.set_title("Tokens and cost a task, by role")
    places = _rows(axis, shown, theme)
    most = max((sum(bar.tokens) for bar in shown), default=0.0)
    if not most:
        axis.set_xticks([])
        axis.set_xlim(0, 1)
        axis.text(0.5, (len(shown) - 1) / 2, "no model was called:\nno tokens, no cost", ha="center", va="center")
        return
    coder, critic = [bar.tokens[0] for bar in shown], [bar.tokens[1] for bar in shown]
    axis.barh(places, coder, height=0.5, color=theme.series[0], label="coder")
    axis.barh(
        places,
        critic,
        left=coder,
        height=0.5,
        color=theme.series[1],
        hatch="///",
        edgecolor=theme.paper,
        label="critic",
    )
    for place, bar in zip(places, shown, strict=True):
        roles = f"{_dollars(bar.costs[0])} + {_dollars(bar.costs[1])}" if bar.tokens[1] else _dollars(bar.cost)
        text = roles if bar.cost_known else f"≥ {_dollars(bar.cost)}"
        axis.text(sum(bar.tokens) + most * 0.02, place, text, va="center", fontsize=9)
    axis.set_xlim(0, most * 1.45)
    axis.set_xlabel("tokens a task; dollars beside the bars")
    _legend_below(axis, theme)


def _dollars(value: float) -> str:
    return "$0" if value == 0 else f"${value:.2g}" if value >= 0.0001 else "< $0.0001"


def _legend_below(axis: Any, theme: Theme) -> None:
    legend = axis.legend(
        loc="upper left",
        bbox_to_anchor=(0, -0.16 if axis.get_xlabel() == "" else -0.24),
        ncols=2,
        fontsize=9,
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_color(theme.ink)
