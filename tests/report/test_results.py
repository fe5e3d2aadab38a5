"""Grouping of runs, estimates, and the sentences made of them."""

import numpy as np
import pytest

from fairgym.report import findings
from fairgym.report.grouping import group_runs, series
from fairgym.report.verdicts import gap_sentence
from fairgym.results import estimates
from fairgym.results.estimates import Result
from fairgym.results.labels import metric_label, metric_labels, rate_title
from fairgym.results.numbers import few_seeds_text, interval

# ---------------------------------------------------------------- grouping


def test_runs_are_gathered_by_configuration(made_up_run):
    runs = [
        made_up_run(0, [1.0]),
        made_up_run(1, [3.0]),
        made_up_run(0, [9.0], objective="direct"),
    ]
    groups = group_runs(runs)
    assert [len(group.runs) for group in groups] == [2, 1]
    assert [group.label for group in groups] == ["objective uniform", "objective direct"]
    assert groups[0].series("objective").mean.tolist() == [2.0]
    assert groups[0].aim != groups[1].aim and groups[0].environment == groups[1].environment == ""
    assert group_runs(runs[:2])[0].label == ""
    assert group_runs([runs[0], runs[0]])[0].runs == (runs[0],)


def test_labels_say_what_was_set_not_what_follows(made_up_run):
    shapes = [{"population": n, "applicants": n // 50} for n in (500, 1000)]
    runs = [made_up_run(0, [1.0], environment_args=shape) for shape in shapes]
    groups = group_runs(runs)
    assert [group.label for group in groups] == ["population 500", "population 1,000"]
    assert [group.environment for group in groups] == ["population 500", "population 1,000"]
    fixed = [
        made_up_run(0, [1.0], fixed={"admissions": [0.0, 0.5]}),
        made_up_run(0, [1.0], fixed={}),
    ]
    labels = [group.label for group in group_runs(fixed)]
    assert labels == ["admissions fixed at 0, 0.5", "admissions trained"]


def test_other_data_is_another_configuration(made_up_run):
    runs = [made_up_run(seed, [1.0]) for seed in (0, 1)]
    for run, checksum in zip(runs, ("a" * 64, "b" * 64), strict=True):
        run.provenance["data_checksum"] = checksum
    assert [group.environment for group in group_runs(runs)] == [
        "data " + "a" * 12,
        "data " + "b" * 12,
    ]


def test_configurations_that_differ_in_much_go_by_their_folders(made_up_run):
    many = {f"setting_{i}": i for i in range(9)}
    runs = [
        made_up_run(0, [1.0], folder="/runs/first", algorithm_args=many),
        made_up_run(0, [1.0], folder="/runs/second/seed-0"),
    ]
    assert [group.label for group in group_runs(runs)] == ["first", "second/seed-0"]


def test_a_series_lines_up_runs_of_different_length(made_up_run):
    found = series([made_up_run(0, [1.0, 2.0]), made_up_run(1, [3.0])], "objective")
    np.testing.assert_allclose(found.mean, [2.0, 2.0])
    np.testing.assert_allclose(found.low, [1.0, 2.0])
    np.testing.assert_allclose(found.high, [3.0, 2.0])


def test_a_number_that_was_not_logged_is_a_gap(made_up_run):
    run = made_up_run(0, [1.0, 2.0])
    run.metrics[0]["objective"] = None
    assert series([run], "objective").epochs.tolist() == [2]
    assert series([run], "nowhere").epochs.size == 0


# ---------------------------------------------------------------- measures and estimates


def test_measures_are_told_in_words(env):
    shown = metric_label(env, "wait_disparity")
    assert shown.flipped and shown.better == "lower is better" and shown.unit == "months"
    assert float(shown.shown(-3.0)) == 3.0
    profit = metric_label(env, "profit")
    assert not profit.flipped and profit.unit == "thousand dollars"
    assert rate_title(env, "default_disparity") == "Default rate"
    assert rate_title(env, "wait_disparity") == "Wait of those paid out"


def test_several_seeds_count_once_each():
    one = estimates.estimate([np.array([1.0, 2.0, 3.0])])
    two = estimates.estimate([np.array([1.0, 2.0, 3.0]), np.array([4.0, 4.0, 4.0])])
    assert one.mean == 2.0 and two.mean == 3.0
    assert two.high - two.low > one.high - one.low  # two values say less than three


def test_seeds_that_agree_leave_the_luck_of_episodes():
    """Not "1,200 [1,200, 1,200]" where the episodes lie between 1,000 and 1,400."""
    episodes = np.array([1000.0, 1100.0, 1300.0, 1400.0])
    found = estimates.estimate([episodes] * 3)
    alone = estimates.estimate([episodes])
    assert (found.mean, found.low, found.high) == (alone.mean, alone.low, alone.high)
    assert interval(found) == "1,200 [909, 1,491]"


def test_values_of_few_seeds_are_known():
    """Means over the episodes in which the value is defined, in the unit of the estimate."""
    two = estimates.estimate([np.array([0.1, 0.3]), np.array([0.5, np.nan])])
    assert two.mean == pytest.approx(0.35) and two.seeds == pytest.approx((0.2, 0.5))
    assert few_seeds_text(two.seeds, "share") == "20.0, 50.0"
    assert two.times(-10.0).seeds == pytest.approx((-2.0, -5.0))
    assert two.within(0.0, 0.4).seeds == two.seeds
    assert estimates.estimate([np.array([0.1, 0.3])]).seeds == ()
    assert few_seeds_text([0.1, 0.2, np.nan]) == "0.10, 0.20, undefined"
    for others in ([0.2], [0.1, 0.2, 0.3, 0.4], [0.2, 0.2], [np.nan, np.nan]):
        assert few_seeds_text(others) == ""


def test_policies_differ_by_their_episodes_not_by_their_brackets(env, made_up_evaluation):
    """Brackets overlap by far; episode by episode one is better every time."""
    luck = np.array([-3.0, 1.0, 2.0, 5.0])
    metric = metric_label(env, "profit")

    def result(values: np.ndarray, environment: str = "") -> Result:
        metrics = dict.fromkeys(env.metrics, values)
        return Result("a", True, (made_up_evaluation(0.0, metrics=metrics),), environment)

    better = result(luck + np.array([0.5, 0.6, 0.5, 0.6]))
    worse = result(luck)
    assert better.estimate(metric).low < worse.estimate(metric).high
    gap = better.difference(worse, metric)
    assert gap.clear and gap.mean == pytest.approx(0.55)
    assert worse.difference(better, metric) == gap.times(-1.0)
    mixed = result(luck + np.array([0.5, -0.6, 0.5, -0.6]))
    assert not mixed.difference(worse, metric).clear
    unscored = Result("b", False, tuple(e.scored_by(None) for e in worse.evaluations))
    assert not unscored.difference(worse, metric_labels(env)[0]).clear


def test_undefined_episodes_are_counted_and_left_out(env, made_up_result):
    defined = {name: np.array([True, False, True, False]) for name in env.metrics}
    value = made_up_result("a", True, 0.5, defined=defined).estimate(
        metric_label(env, "admission_rate")
    )
    assert (value.undefined, value.episodes) == (2, 4)
    assert value.mean == pytest.approx(0.49)


def test_intervals_are_cut_to_what_is_possible(env, made_up_result):
    full = made_up_result("a", True, 0.99).estimate(metric_label(env, "admission_rate"))
    assert full.high == 1.0 and full.low < 0.98
    gap = made_up_result("a", True, -0.01).estimate(metric_label(env, "admission_disparity"))
    assert gap.low == 0.0


def test_the_gap_of_more_than_two_groups_is_the_widest():
    values = np.array([[0.0, 1.0, 2.0, 3.0, 10.0, 11.0]])
    group = np.array([[0, 0, 1, 1, 2, 2]])
    spread = np.sqrt(0.5)  # within each group: two values one apart
    np.testing.assert_allclose(estimates.group_gap(values, group, 3), [10.0 / spread])
    np.testing.assert_allclose(estimates.group_gap(values[:, :4], group[:, :4], 2), [-2.0 / spread])


# ---------------------------------------------------------------- sentences


def test_a_gap_that_always_points_one_way_is_told_with_its_sign(env, made_up_result):
    """The disparity alone lies within its null; permuted rates are the true ones, and swapped."""
    rates = np.array([[0.4, 0.3], [0.6, 0.5], [0.5, 0.4], [0.6, 0.48]])
    drawn = np.stack([rates if i % 5 else rates[:, ::-1] for i in range(40)], axis=1)
    drawn = np.where(np.arange(4)[:, None, None] % 2, drawn, drawn[:, :, ::-1])

    def told(learned: bool, rates: np.ndarray, **changes: object) -> str:
        given = {"rates": {"admission_disparity": rates}, **changes}
        return gap_sentence(made_up_result("a", learned, -0.105, **given), env)

    gap = rates[:, 0] - rates[:, 1]
    half = 3.182446 * gap.std(ddof=1) / 2.0
    low, high = 100 * (gap.mean() - half), 100 * (gap.mean() + half)
    expected = f"the disadvantaged in admission rate by 10.5 points [{low:.2f}, {high:.1f}]"
    null = {"admission_disparity": np.full((4, 9), -0.105)}
    found = told(True, rates, null_rates={"admission_disparity": drawn}, nulls=null)
    # no permutation is as far apart: 1 of 41
    assert found == f"Worse off with “a”, on average: {expected} (p = 0.024)."
    swapped = told(False, rates[:, ::-1])
    assert (
        "with the baseline “a”" in swapped
        and "the advantaged in admission rate by 10.5 points" in swapped
    )
    assert "p = " not in swapped
    unclear = told(True, rates + np.array([0.0, 0.1]))
    assert unclear == "With “a”, no group is clearly worse off in admission rate."
    assert gap_sentence(made_up_result("a", True, 0.5), env) == ""


def people(env, advantaged: float, disadvantaged: float) -> dict[str, np.ndarray]:
    """Two episodes of 6 people, spread evenly about the groups' means."""
    spread = np.array([-0.1, 0.0, 0.1])
    values = np.concatenate([advantaged + spread, disadvantaged + spread])
    return {
        "group": np.tile([0, 0, 0, 1, 1, 1], (2, 1)),
        env.spec.core_attribute: np.stack([values, values + 0.001]),
    }


@pytest.mark.parametrize(
    ("end", "change"),
    [(0.5, "narrows from 2.00 to 1.00"), (0.3, "widens from 2.00 to 3.00"), (0.4, "no clear")],
)
def test_the_standing_of_the_groups(env, made_up_result, end, change):
    result = made_up_result(
        "a", True, 0.5, people_start=people(env, 0.6, 0.4), people_end=people(env, 0.6, end)
    )
    text = findings.core_sentence(result, env, False)
    assert change in text
    assert f"0.40 to {end:.2f} for the disadvantaged" in text


def test_action_sentences_follow_the_curves(made_up_run):
    down, still = (
        " ".join(findings.action_sentences(group_runs([made_up_run(0, values)])[0]))
        for values in ([0.8, 0.2], [0.51, 0.5])
    )
    assert "threshold for the advantaged falls from 0.80 to 0.20" in down
    assert "relief for the disadvantaged stays near 0.50 (0.51 at first)" in still
    fixed = made_up_run(0, [0.8, 0.2], fixed={"admissions": 0.5, "disbursement": "random"})
    sentences = findings.action_sentences(group_runs([fixed])[0])
    assert len(sentences) == 1 and sentences[0].startswith("Debt management")
    (once,) = findings.action_sentences(group_runs([made_up_run(0, [0.8])])[0])[:1]
    assert "after epoch 1, threshold for the advantaged is 0.80" in once


def test_undefined_measures_are_told(env, made_up_result):
    defined = {name: np.full(4, name != "wait_disparity") for name in env.metrics}
    result = made_up_result("rule", False, 0.5, defined=defined)
    assert findings.trouble_sentences(result, env) == [
        "The baseline “rule”: some measures are undefined in some episodes, because nobody counts"
        " in their denominator: wait disparity in 4 of 4.",
    ]
    assert findings.trouble_sentences(made_up_result("fine", True, 0.5), env) == []
