"""Study of signed gaps: simulated counts, checks and page."""

import math

import numpy as np
import pytest
from scipy import stats

from fairgym.experiments import Size, experiments
from fairgym.experiments import _gap_study as study
from fairgym.experiments._coverage import rows_of
from fairgym.experiments._gap_study import SIZES, Case
from fairgym.experiments._markdown import Making, page_text
from fairgym.experiments.gaps import (
    CASES,
    COVERAGE,
    LARGEST_CASES,
    POWER_CASES,
    RARE,
    SHARE_CASES,
    SIZE,
    UNEVEN_CASES,
)

EACH, MIXED, SINGLE = SIZES


# ---------------------------------------------------------------- simulation


def test_a_case_has_its_sizes_rates_and_gap():
    case = Case(3, MIXED, 0.3, gap=0.6)
    assert case.people.tolist() == [60, 346, 2_000]
    assert Case(4, EACH, 0.3).people.tolist() == [60] * 4
    rates = case.rates
    assert np.average(rates, weights=case.people) == pytest.approx(0.3)
    assert rates[1] == rates[2]
    spread = math.sqrt(0.3 * 0.7 * (1 / 60 + 1 / 346))
    assert rates[0] - rates[1] == pytest.approx(0.6 * spread)


@pytest.mark.parametrize("case", [Case(2, EACH, 0.5, 3), Case(3, MIXED, 0.02), Case(2, EACH, 0.98)])
def test_counts_have_their_rates(case):
    found = study.counts(np.random.default_rng(0), case, 4_000, null=False)
    assert found.shape == (4_000, case.seeds, study.EPISODES, case.groups)
    rare = min(case.rate, 1 - case.rate)
    np.testing.assert_allclose(found.mean(axis=(0, 1, 2)) / case.people / rare, 1.0, atol=0.02)
    # more than binomial: variation of episodes and groups
    spread = (found[:, 0, 0] / case.people).var(axis=0)
    assert (spread > 0.97 * rare * (1 - rare) / case.people).all()


def test_random_numbers_are_the_same_for_all_seeds(monkeypatch):
    """Equal probabilities give equal counts, unlike independent binomials."""
    monkeypatch.setattr(study, "UNEVEN", 0.0)
    found = study.counts(np.random.default_rng(1), Case(2, EACH, 0.5, 3), 20, null=False)
    assert (found[:, 0] == found[:, 1]).all() and (found[:, 0] == found[:, 2]).all()
    assert found.std() > 3.0


def test_permuted_groups_keep_the_totals_and_are_hypergeometric():
    rng = np.random.default_rng(2)
    case = Case(3, MIXED, 0.02, 3)
    found = study.counts(rng, case, 3, null=True)
    drawn = study.permuted_counts(rng, case, found, 4_000)
    assert drawn.shape == (*found.shape[:-1], 4_000, 3)
    totals = found.sum(axis=-1, keepdims=True)
    assert (drawn.sum(axis=-1) == totals).all()
    assert (drawn >= 0).all() and (drawn <= case.people).all()
    everybody = case.people.sum()
    expected = stats.hypergeom(everybody, totals[..., 0].astype(int)[..., None], case.people)
    np.testing.assert_allclose(drawn.mean(axis=3), expected.mean(), rtol=0.06)
    np.testing.assert_allclose(drawn.var(axis=3), expected.var(), rtol=0.2)
    # one permutation for all seeds: counts of a lower total are not above those of a higher one
    order = np.argsort(totals[..., 0], axis=1, kind="stable")
    ascending = np.take_along_axis(drawn, order[..., None, None], axis=1)
    assert (np.diff(ascending, axis=1) >= 0).all()


def test_the_coverage_of_a_share_is_scipys():
    found = study.share_coverage(16)
    for place, share in ((0, 0.01), (49, 0.5), (98, 0.99)):
        ends = [stats.binomtest(k, 16).proportion_ci(0.95, method="exact") for k in range(17)]
        held = [k for k, (low, high) in enumerate(ends) if low <= share <= high]
        assert found[place] == pytest.approx(stats.binom.pmf(held, 16, share).sum())


def test_a_bootstrap_of_the_largest_gap_never_contains_0():
    rng = np.random.default_rng(3)
    found = study.largest_covered(rng, Case(3, EACH, 0.5), 100)
    assert found["bootstrap"].mean() == 0.0 and found["largest"].mean() > 0.88
    found = study.largest_covered(rng, Case(2, EACH, 0.5, gap=1.0), 200)
    assert found["bootstrap"].mean() > 0.85


def test_gaps_are_found_and_shares_covered():
    rng = np.random.default_rng(4)
    found = study.rejected(rng, Case(2, EACH, 0.5, gap=2.0), 30)
    assert found["test"].all() and found["interval"].all()
    uneven = study.rejected(rng, Case(2, MIXED, 0.5), 100, null=False)
    assert uneven["test"].mean() > 0.1 > uneven["interval"].mean()
    held = study.shares_covered(rng, Case(1, SINGLE, 0.5, 3), 50)
    assert list(held) == ["share", "difference", "half"]
    assert all(values.mean() > 0.85 for values in held.values())


# ---------------------------------------------------------------- checks


def rows(cases, **shares):
    return [{"case": case, "replicates": 1_000, **shares} for case in cases]


def made_up(good: bool) -> dict:
    coverage, size = (0.96, 0.05) if good else (0.9, 0.1)
    return {
        "coverage": rows(CASES, gaps=coverage, differences=coverage, largest=coverage),
        "size": rows(CASES, test=size),
        "power": rows(POWER_CASES, test=0.65 if good else 0.5, interval=0.6),
        "uneven": rows(UNEVEN_CASES, test=0.3, interval=0.05),
        "bootstrap": rows(LARGEST_CASES, bootstrap=0.0 if good else 0.95, largest=0.97),
        "shares": rows(SHARE_CASES, share=0.95, difference=coverage, half=coverage),
        "exact": {16: np.full(99, 0.95 if good else 0.9)},
    }


def test_the_claim_holds_where_every_case_is_within_the_limits():
    outcome = experiments.get("gaps")().conclude(made_up(True))
    assert outcome.verdict == "holds"
    assert all(check.low <= check.estimate <= check.high for check in outcome.checks)
    assert all(len(row) == len(table.head) for table in outcome.tables for row in table.rows)
    assert len(outcome.tables[0].rows) == len(CASES)
    failed = [
        c for c in experiments.get("gaps")().conclude(made_up(False)).checks if c.outcome != "holds"
    ]
    assert len(failed) >= len(outcome.checks) - 2  # too large a size is not too small


@pytest.mark.parametrize(
    ("study_of", "name", "share"),
    [
        ("coverage", "gaps", 0.929),
        ("coverage", "differences", 0.929),
        ("coverage", "largest", 0.929),
        ("size", "test", 0.071),
        ("size", "test", 0.029),
        ("power", "test", 0.599),
        ("shares", "half", 0.929),
        ("exact", 16, 0.929),
    ],
)
def test_one_case_beyond_a_limit_is_enough(study_of, name, share):
    data = made_up(True)
    if study_of == "exact":
        data[study_of][name][7] = share
    else:
        place = next(i for i, row in enumerate(data[study_of]) if abs(row["case"].gap) < 1.0)
        data[study_of][place][name] = share
    (failed,) = [c for c in experiments.get("gaps")().conclude(data).checks if c.outcome != "holds"]
    assert failed.estimate == share


def test_a_case_beyond_a_limit_is_decided_by_more_replicates():
    asked = []

    def found(case, count):
        asked.append((case.groups, count))
        return {
            "test": np.arange(count) < (0 if count == 100 and case.groups == 2 else 0.05 * count)
        }

    first, second = rows_of([Case(2, EACH, 0.5), Case(3, EACH, 0.5)], found, 100, {"test": SIZE})
    assert asked == [(2, 100), (2, 500), (3, 100)]
    assert (first["replicates"], first["test"]) == (500, 0.05)
    assert second["replicates"] == 100
    assert COVERAGE[1] == 1.0 and any(case.rate == RARE for case in CASES)


def test_the_cases_are_those_that_the_claim_names():
    assert {case.groups for case in CASES} == {2, 3, 4, 5}
    assert {case.seeds for case in CASES} == {1, 2, 3, 4, 5}
    people = np.concatenate([case.people for case in CASES])
    assert (people.min(), people.max()) == (60, 2_000)
    assert {abs(case.gap) for case in POWER_CASES} == {0.6, 1.0}


def test_the_page_states_its_criterion():
    experiment = experiments.get("gaps")()
    size = experiment.size("quick", 7)
    assert size == Size(replicates=200, seeds=0)
    making = Making("gaps", "quick", size, False, 0.0, 0, 1.0)
    page = page_text(experiment, experiment.conclude(made_up(True)), making, {})
    assert experiment.criterion in page and "Student's t interval; p is" not in page
    assert "Size: 200 replicates of every case." in page
    assert "200 replicates of every case instead of 1,000" in page
