"""Intervals, paired tests and effect sizes. The mathematics is SciPy's; the choice of method is ours, with its source.

SciPy and NumPy come with the extras ``bench`` and ``plots``; without them every function here raises
:class:`MissingExtra`, and callers say so instead of showing a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_selfheal.errors import SelfhealError


class MissingExtra(SelfhealError):
    """SciPy or Matplotlib is not installed."""

    slug = "missing-extra"


def _scipy_stats() -> Any:
    try:
        from scipy import stats
    except ImportError:
        raise MissingExtra("Intervals and tests need SciPy: run pip install 'pytest-selfheal[bench]'.") from None
    return stats


@dataclass(frozen=True)
class Interval:
    """A two-sided confidence interval."""

    low: float
    high: float
    method: str


def wilson(successes: int, total: int, level: float = 0.95) -> Interval:
    """Wilson's score interval for one proportion, without continuity correction.

    E. B. Wilson (1927), JASA 22:209–212; recommended for all n by Brown, Cai and DasGupta (2001). A ``total`` of 0
    says nothing: the whole of 0 … 1.
    """
    if not 0 <= successes <= total:
        raise ValueError(f"{successes} successes of {total}")
    if total == 0:
        return Interval(0.0, 1.0, "Wilson")
    found = _scipy_stats().binomtest(successes, total).proportion_ci(level, method="wilson")
    return Interval(float(found.low), float(found.high), "Wilson")


def mean_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """Student's t interval for the mean of at least two repeats (each repeat's pass rate is one value)."""
    if len(values) < 2:
        raise ValueError("a t interval needs at least two values")
    centre, spread = mean(values), standard_deviation(values)
    error = spread / math.sqrt(len(values))
    if error == 0:
        return Interval(centre, centre, "t")
    low, high = _scipy_stats().t.interval(level, len(values) - 1, loc=centre, scale=error)
    return Interval(float(low), float(high), "t")


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def standard_deviation(values: Sequence[float]) -> float:
    """With n − 1 in the denominator; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


@dataclass(frozen=True)
class McNemar:
    """Paired comparison of two yes/no results on the same tasks; ``lost`` and ``won`` are the discordant pairs."""

    lost: int
    won: int
    p_exact: float
    """Two-sided, from the binomial distribution; the one to report."""
    p_mid: float
    """Mid-p: less conservative, recommended by Fagerland, Lydersen and Laake (2013)."""
    statistic: float
    """χ² without continuity correction, 1 degree of freedom."""
    p_asymptotic: float


def mcnemar(lost: int, won: int) -> McNemar:
    """McNemar (1947), Psychometrika 12:153–157; exact and mid-p forms as in Fagerland et al. (2013),
    BMC Medical Research Methodology 13:91. Without discordant pairs every p is 1."""
    n = lost + won
    if n == 0:
        return McNemar(0, 0, 1.0, 1.0, 0.0, 1.0)
    stats = _scipy_stats()
    exact = float(stats.binomtest(min(lost, won), n, 0.5).pvalue)
    mid = 1.0 if lost == won else exact - float(stats.binom.pmf(min(lost, won), n, 0.5))
    statistic = (lost - won) ** 2 / n
    if lost == won:
        mid = 1.0 - float(stats.binom.pmf(lost, n, 0.5))
    return McNemar(lost, won, min(exact, 1.0), mid, statistic, float(stats.chi2.sf(statistic, 1)))


def paired_bootstrap(
    first: Sequence[float], second: Sequence[float], level: float = 0.95, resamples: int = 9_999, seed: int = 0
) -> Interval:
    """Percentile interval for the mean of ``second − first`` over tasks, resampling tasks.

    Efron and Tibshirani (1993), chapter 13. The seed is fixed: the same results give the same interval.
    """
    if len(first) != len(second) or not first:
        raise ValueError("a paired comparison needs the same tasks, at least one")
    stats = _scipy_stats()
    import numpy

    differences = numpy.asarray(second, dtype=float) - numpy.asarray(first, dtype=float)
    if numpy.all(differences == differences[0]):
        return Interval(float(differences[0]), float(differences[0]), "bootstrap")
    found = stats.bootstrap(
        (differences,),
        numpy.mean,
        confidence_level=level,
        n_resamples=resamples,
        method="percentile",
        vectorized=True,
        rng=numpy.random.default_rng(seed),
    ).confidence_interval
    return Interval(float(found.low), float(found.high), "bootstrap")


def bootstrap_error(values: Sequence[float], resamples: int = 9_999, seed: int = 0) -> float:
    """The bootstrap's standard error of the mean."""
    stats = _scipy_stats()
    import numpy

    data = numpy.asarray(values, dtype=float)
    rng = numpy.random.default_rng(seed)
    return float(stats.bootstrap((data,), numpy.mean, n_resamples=resamples, vectorized=True, rng=rng).standard_error)


def cohens_h(first: float, second: float) -> float:
    """Effect size of a difference of two proportions, ``φ(second) − φ(first)`` with φ = 2·arcsin √p.

    Cohen (1988), chapter 6: 0.2 small, 0.5 medium, 0.8 large.
    """
    return 2 * math.asin(math.sqrt(second)) - 2 * math.asin(math.sqrt(first))


def cohens_g(lost: int, won: int) -> float:
    """Effect size of a sign test: how far the share of wins among the discordant pairs is from one half.

    Cohen (1988), chapter 5: 0.05 small, 0.15 medium, 0.25 large.
    """
    return won / (lost + won) - 0.5 if lost + won else 0.0


def odds_ratio(lost: int, won: int) -> float:
    """Conditional odds ratio of a paired comparison: wins over losses; infinite without losses, 1 without either."""
    if lost:
        return won / lost
    return math.inf if won else 1.0


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the points (cost, pass rate) that no other beats: none is both as cheap and as good, and better in one."""
    return [
        index
        for index, (cost, rate) in enumerate(points)
        if not any(
            other_cost <= cost and other_rate >= rate and (other_cost < cost or other_rate > rate)
            for other_cost, other_rate in points
        )
    ]
