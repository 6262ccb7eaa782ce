"""Intervals, tests and effect sizes against worked examples that others have published; each names its source."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("scipy")

from pytest_selfheal.bench import statistics


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17:857-872, table I, method 3 (score, no continuity correction).
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_as_in_newcombe(successes: int, total: int, low: float, high: float) -> None:
    found = statistics.wilson(successes, total)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_wilson_of_nothing_says_nothing() -> None:
    found = statistics.wilson(0, 0)
    assert (found.low, found.high) == (0.0, 1.0)
    with pytest.raises(ValueError, match="3 successes of 2"):
        statistics.wilson(3, 2)


def sample_with(mean: float, deviation: float, count: int) -> list[float]:
    """A sample of an odd ``count`` with just this mean and standard deviation (n - 1)."""
    half = count // 2
    step = deviation * math.sqrt((count - 1) / (2 * half))
    return [mean - step] * half + [mean] + [mean + step] * half


def test_t_interval_as_in_the_nist_handbook() -> None:
    # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.2: 195 heat flow meter readings (ZARR13.DAT),
    # mean 9.261460, standard deviation 0.022789, 95% limits 9.258242 and 9.264679.
    values = sample_with(9.261460, 0.022789, 195)
    assert statistics.mean(values) == pytest.approx(9.261460, abs=1e-9)
    assert statistics.standard_deviation(values) == pytest.approx(0.022789, abs=1e-9)
    found = statistics.mean_interval(values)
    # The handbook's limits come from unrounded data, the moments given are rounded to six places.
    assert found.low == pytest.approx(9.258242, abs=1.5e-6)
    assert found.high == pytest.approx(9.264679, abs=1.5e-6)


def test_t_interval_as_in_students_sleep_data() -> None:
    # Student (1908), Biometrika 6:1-25: additional hours of sleep, differences of ten patients;
    # R's documentation of t.test(sleep, paired) gives mean 1.58 and the 95% limits 0.7001142 and 2.4598858.
    differences = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    found = statistics.mean_interval(differences)
    assert statistics.mean(differences) == pytest.approx(1.58, abs=1e-12)
    assert (round(found.low, 7), round(found.high, 7)) == (0.7001142, 2.4598858)


def test_equal_repeats_have_an_interval_without_width_and_one_repeat_has_none() -> None:
    found = statistics.mean_interval([0.5, 0.5, 0.5])
    assert (found.low, found.high) == (0.5, 0.5)
    with pytest.raises(ValueError, match="two values"):
        statistics.mean_interval([0.5])


def test_mcnemar_as_in_armitage_and_berry() -> None:
    # Armitage and Berry (1994), Statistical Methods in Medical Research, p. 127: two media for culturing tubercle
    # bacilli, 12 specimens grew on the first alone, 2 on the second alone. Exact two-sided P = 0.0129, R' = 6.
    found = statistics.mcnemar(2, 12)
    assert round(found.p_exact, 4) == 0.0129
    assert statistics.odds_ratio(2, 12) == 6


def test_mcnemar_as_in_fagerland() -> None:
    # Fagerland, Lydersen and Laake (2013), BMC Med Res Methodol 13:91, complete response before and after consolidation
    # therapy, 6 and 16 discordant: asymptotic statistic 4.55, P = 0.033; mid-P = 0.035.
    found = statistics.mcnemar(6, 16)
    assert round(found.statistic, 2) == 4.55
    assert round(found.p_asymptotic, 3) == 0.033
    assert round(found.p_mid, 3) == 0.035


def test_mcnemar_without_discordant_pairs() -> None:
    found = statistics.mcnemar(0, 0)
    assert (found.p_exact, found.p_mid, found.p_asymptotic) == (1.0, 1.0, 1.0)


def test_mid_p_with_as_many_won_as_lost_stays_a_probability() -> None:
    # Fagerland et al., equation 6: with equal counts mid-P = 1 - P(n12 | n) / 2 doubled, i.e. 1 minus that point's mass.
    found = statistics.mcnemar(3, 3)
    assert found.p_exact == 1.0
    assert found.p_mid == pytest.approx(1 - math.comb(6, 3) / 2**6)


def test_bootstrap_error_as_in_efron_and_tibshirani() -> None:
    # Efron and Tibshirani (1993), An Introduction to the Bootstrap, table 2.1: survival of seven treated mice,
    # mean 86.86; the bootstrap's standard error of the mean with B without limit is 23.36.
    mice = [94, 197, 16, 38, 99, 141, 23]
    assert round(statistics.mean(mice), 2) == 86.86
    assert statistics.bootstrap_error(mice, resamples=40_000) == pytest.approx(23.36, abs=0.35)


def test_paired_bootstrap_of_a_known_distribution() -> None:
    # One task in four won, none lost: a resample's mean is binomial(8, 1/4) / 8, whose 2.5% and 97.5% quantiles are
    # 0/8 and 5/8 (from the tables: P(X <= 4) = 0.9727, P(X <= 5) = 0.9958; P(X = 0) = 0.1001).
    first, second = [0.0] * 8, [1.0, 1.0] + [0.0] * 6
    found = statistics.paired_bootstrap(first, second, resamples=20_000)
    assert (found.low, found.high) == (0.0, 0.625)


def test_paired_bootstrap_repeats_itself_and_knows_its_limits() -> None:
    first, second = [1.0, 0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 0.0, 0.0]
    assert statistics.paired_bootstrap(first, second) == statistics.paired_bootstrap(first, second)
    same = statistics.paired_bootstrap(first, first)
    assert (same.low, same.high) == (0.0, 0.0)
    with pytest.raises(ValueError, match="same tasks"):
        statistics.paired_bootstrap([1.0], [1.0, 0.0])


def test_effect_sizes_as_in_cohen() -> None:
    # Cohen (1988), Statistical Power Analysis, table 6.2.2: phi(.05) = .451, phi(.10) = .644, phi(.25) = 1.047,
    # phi(.50) = 1.571; h is their difference.
    assert statistics.cohens_h(0.05, 0.50) == pytest.approx(1.571 - 0.451, abs=0.001)
    assert statistics.cohens_h(0.25, 0.10) == pytest.approx(0.644 - 1.047, abs=0.001)
    # Chapter 5: g = P - .50.
    assert statistics.cohens_g(35, 65) == pytest.approx(0.15)
    assert statistics.cohens_g(0, 0) == 0.0
    # Agresti (1990), p. 350, approval in two surveys, as in R's mcnemar.test and effectsize's cohens_g: 0.136; and
    # rcompanion's AndersonRainBarrel, 0.273.
    assert round(statistics.cohens_g(86, 150), 3) == 0.136
    assert round(statistics.cohens_g(5, 17), 3) == 0.273
    assert statistics.odds_ratio(0, 4) == math.inf


def test_pareto_front() -> None:
    points = [(0.0, 0.9), (0.1, 0.8), (0.5, 0.95), (0.5, 0.95), (1.0, 0.95), (0.2, 0.93)]
    assert statistics.pareto_front(points) == [0, 2, 3, 5]
