"""Simulated people beside the data that they are drawn from."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def beside_data(benchmark_script):
    return benchmark_script("beside_data")


@pytest.fixture(scope="module")
def loan_queue(benchmark_script):
    return benchmark_script("loan_queue")


def cells(lines, label):
    """Numbers of the line with this label."""
    (line,) = [line for line in lines if line.startswith(f"| {label} |")]
    return np.array([float(cell) for cell in line.strip("| ").split(" | ")[1:]])


@pytest.mark.full
def test_borrowers_with_their_residuals_default_as_in_the_data(beside_data, monkeypatch):
    """In every decile of the score to 6 percentage points; without residuals it is all or none.

    The month is another matter: equation (8) has a borrower pay a share of every installment, so
    that whoever pays less than nine tenths is in default after two, whatever stays with a person.
    """
    monkeypatch.setattr(beside_data, "SHARES", (0.0, 0.75))
    lines = beside_data.loan_beside_data(6_000)
    labels = ("data", "`residual_share` 0", "`residual_share` 0.75")
    by_decile, rest = lines[: lines.index("")], lines[lines.index("") + 1 :]
    data, usual, own = (cells(by_decile, label) for label in labels)
    assert np.abs(own - data)[:11].max() < 0.06
    assert usual[:4].min() > 0.95 and usual[8:10].max() < 0.02
    assert (data[11], own[11], usual[11]) == (17, 2, 2)
    by_month = rest[: rest.index("")]
    data, usual, own = (cells(by_month, label) for label in labels)
    short = cells(by_month, "data, loans of 36 months")
    assert all((np.diff(shares) >= 0.0).all() for shares in (data, short, usual, own))
    assert (data <= short).all() and short[4] == 1.0
    assert data[2] < 0.5 < data[3] and usual[0] > 0.7 and own[0] > 0.95


def test_qualification_by_group_is_that_of_the_people(beside_data):
    """Data and a start without amplification alike; the default draws the groups apart."""
    population = beside_data.load_population("loan")
    score = beside_data.score_values(population.scores["qualification"], population.columns)
    found = beside_data.qualification_by_group(6_000, score)
    data, plain = cells(found, "score in the data"), cells(found, "`bias_strength` 0")
    apart = cells(found, found[-1].strip("| ").split(" | ")[0])
    score, group = score.astype(np.float64), population.columns["group"]
    means = [score[group == g].mean() for g in (0, 1)]
    pooled = np.sqrt(sum(((score[group == g] - means[g]) ** 2).sum() for g in (0, 1)) / len(score))
    np.testing.assert_allclose(data, [*means, (means[0] - means[1]) / pooled], atol=0.006)
    np.testing.assert_allclose(plain[:2], data[:2], atol=0.01)
    assert apart[2] > 2 * data[2]


def test_a_group_is_told_from_itself_and_in_part_from_what_is_left(beside_data):
    """The AUC is 1 with the group among the features, and near 0.5 with one that says little."""
    env = beside_data.make("education", population=2_000)
    features = {f.name: f for f in env.observation_space("university").features}
    hidden = [f for f in features.values() if not f.tells_group]

    def auc(features):
        return beside_data.group_auc(env, env.default_params, features, episodes=2)

    assert auc(features.values()) == pytest.approx(1.0, abs=1e-3)
    assert auc([features["hours_per_week"]]) == pytest.approx(0.5, abs=0.1)
    assert 0.58 < auc(hidden) < 0.78


@pytest.mark.full
def test_a_bank_that_refuses_many_pays_out_sooner_than_one_that_takes_everybody(
    loan_queue, monkeypatch
):
    """And the bank that takes everybody without relief goes bankrupt before it has paid all."""
    monkeypatch.setattr(loan_queue, "LENDING_TERMS", ((0.0, 0.0), (0.85, 0.0)))
    head, _, everybody, few = (
        line.strip("| ").split(" | ") for line in loan_queue.lending_terms(500, 2)
    )
    assert len(head) == len(everybody) == len(few)
    never, months = (
        head.index(name) for name in ("never paid out", "half of waits end within (months)")
    )
    assert everybody[2].startswith("bankrupt after") and "bankrupt" not in few[2]
    assert 0.0 == float(few[never]) < float(everybody[never]) < 1.0
    assert float(few[months]) < 6.0 < float(everybody[months])


@pytest.mark.full
def test_a_cap_of_as_many_as_apply_leaves_no_queue(loan_queue, monkeypatch):
    """Waits, times, disparities and luck are then 0, and longer with half of the cap."""
    monkeypatch.setattr(loan_queue, "CAPS", (0.01, 0.02))
    head, _, half, whole = ([*line.strip("| ").split(" | ")] for line in loan_queue.caps(200, 2))
    assert len(head) == len(half) == len(whole)
    for name, short, long in zip(head, whole, half, strict=True):
        if name.startswith(("mean wait", "time in the queue", "median wait")):
            assert float(short) == 0.0 < 10.0 < float(long), name
        if "disparity" in name:
            assert float(short) == 0.0 < float(long), name
