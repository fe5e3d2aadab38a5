"""Figures carry the numbers that they are given."""

from typing import Any

import jax
import numpy as np
import pytest
from panels import titled, trace_of

from fairgym.report import actions, learning, style, svg
from fairgym.report.distributions import core_attribute_distribution
from fairgym.report.episodes import group_rates
from fairgym.report.outcomes import metric_comparison
from fairgym.results.estimates import Result, cumulative_rates
from fairgym.results.labels import metric_labels
from fairgym.results.numbers import number, people_unit
from fairgym.training import evaluate, load
from fairgym.utils import make


def labelled(axes, label: str):
    """The line of this label."""
    return next(line for line in axes.get_lines() if line.get_label() == label)


def band_of(axes) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper edge of the first band, at the x of its vertices."""
    x, y = axes.collections[0].get_paths()[0].vertices.T
    places = np.unique(x)
    return (
        np.array([y[x == p].min() for p in places]),
        np.array([y[x == p].max() for p in places]),
    )


# ---------------------------------------------------------------- training


def test_learning_curves_are_means_with_a_band_over_seeds(env, made_up_run):
    runs = [made_up_run(0, [0.0, 1.0, 2.0]), made_up_run(1, [1.0, 2.0, 6.0])]
    panels = titled(learning.learning_curves(runs))
    assert len(panels) == 1 + len(env.metrics)
    objective = panels["Objective ↑"]
    line = labelled(objective, "learned policy")
    np.testing.assert_allclose(line.get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(line.get_ydata(), [0.5, 1.5, 4.0])
    low, high = band_of(objective)
    np.testing.assert_allclose(low, [0.0, 1.0, 2.0])
    np.testing.assert_allclose(high, [1.0, 2.0, 6.0])
    assert panels["Profit ↑"].get_ylabel() == "dollars"
    assert panels["Wait disparity ↓"].get_ylabel() == "months"


def test_what_should_be_low_is_shown_without_its_minus_sign(made_up_run):
    panels = titled(
        learning.learning_curves([made_up_run(0, [-0.2, -0.1]), made_up_run(1, [-0.4, -0.1])])
    )
    for name in ("Default rate ↓", "Admission disparity ↓"):
        line = labelled(panels[name], "learned policy")
        assert panels[name].get_ylabel() == "%"
        np.testing.assert_allclose(line.get_ydata(), [30.0, 10.0])
        low, high = band_of(panels[name])
        np.testing.assert_allclose((low[0], high[0]), (20.0, 40.0))


def test_the_band_can_be_the_interval_of_the_mean(made_up_run):
    runs = [made_up_run(seed, [value]) for seed, value in enumerate((1.0, 2.0, 3.0))]
    figure = learning.learning_curves(runs, band="interval")
    half = 4.302653 / np.sqrt(3)  # Student's t with 2 degrees of freedom; standard deviation 1
    low, high = band_of(titled(figure)["Objective ↑"])
    np.testing.assert_allclose((low[0], high[0]), (2 - half, 2 + half), rtol=1e-5)


def test_one_seed_has_no_band(made_up_run):
    figure = learning.learning_curves([made_up_run(0, [0.0, 1.0])])
    assert not any(axes.collections for axes in figure.axes)


def test_baselines_are_level_lines(made_up_run):
    figure = learning.learning_curves(
        [made_up_run(0, [0.0, 1.0])], references={"a rule": {"objective": 0.3, "profit": np.nan}}
    )
    panels = titled(figure)
    assert set(labelled(panels["Objective ↑"], "a rule").get_ydata()) == {0.3}
    assert all(line.get_label() != "a rule" for line in panels["Profit ↑"].get_lines())
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["learned policy", "a rule"]


def test_a_disparity_has_the_band_of_its_null(made_up_run):
    nulls = {"wait_disparity": -0.4, "default_disparity": np.nan}
    panels = titled(learning.learning_curves([made_up_run(0, [0.0, 1.0])], nulls=nulls))
    areas = {title: panel.patches for title, panel in panels.items() if panel.patches}
    ((title, (area,)),) = areas.items()
    assert title == "Wait disparity ↓" and area.get_y() == 0.0
    (metric,) = (m for m in metric_labels(make("loan")) if m.name == "wait_disparity")
    assert area.get_height() == pytest.approx(people_unit(metric.unit)[1] * metric.shown(-0.4))


def test_configurations_are_told_apart(made_up_run):
    runs = [
        made_up_run(0, [1.0, 1.0]),
        made_up_run(1, [3.0, 3.0]),
        made_up_run(0, [9.0, 9.0], objective="direct"),
    ]
    figure = learning.learning_curves(runs)
    panel = titled(figure)["Profit ↑"]
    first, second = (labelled(panel, f"objective {name}") for name in ("uniform", "direct"))
    assert first.get_ydata()[0] == 2000.0 and second.get_ydata()[0] == 9000.0, "dollars"
    assert first.get_color() != second.get_color()
    # scores by different objectives must not be compared
    note = titled(figure)["Objective ↑"].texts[0].get_text()
    assert "do not compare" in note and not panel.texts


def test_mean_actions_have_a_line_per_group(env, made_up_run):
    panels = titled(actions.mean_actions([made_up_run(0, [0.2, 0.4]), made_up_run(1, [0.4, 0.4])]))
    assert list(panels) == [
        "Admissions: threshold",
        "Disbursement: mean priority",
        "Debt management: relief",
    ]
    for index, group in enumerate(env.spec.groups):
        line = labelled(panels["Admissions: threshold"], f"threshold, {group}")
        np.testing.assert_allclose(line.get_ydata(), [0.3, 0.4])
        assert line.get_color() == style.group_colour(index)
    low, high = band_of(panels["Debt management: relief"])
    np.testing.assert_allclose((low[0], high[0]), (0.2, 0.4))
    assert not set(style.GROUP_COLOURS) & set(style.POLICY_COLOURS)


def test_configurations_share_the_scale_of_an_action(made_up_run):
    figure = actions.mean_actions(
        [made_up_run(0, [0.1, 0.2]), made_up_run(0, [0.1, 0.9], objective="direct")]
    )
    panels = [a for a in figure.axes if a.get_title(loc="left") == "Admissions: threshold"]
    assert len(panels) == 2 and panels[0].get_ylim() == panels[1].get_ylim()
    assert [panel.texts[0].get_text() for panel in panels] == [
        "objective uniform",
        "objective direct",
    ]


# ---------------------------------------------------------------- episodes


def test_the_core_attribute_is_a_histogram_per_group(env, made_up_evaluation):
    group = np.array([[0, 0, 0, 0, 1, 1]])
    start = {"group": group, env.spec.core_attribute: np.array([[0.0, 0.0, 0.5, 1.0, 0.0, 0.0]])}
    end = {"group": group, env.spec.core_attribute: np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 0.8]])}
    found = made_up_evaluation(0.5, people_start=start, people_end=end)
    figure = core_attribute_distribution(found, env)
    panels = titled(figure)
    assert list(panels) == ["At the start", "At the end"]
    first = panels["At the start"]
    # two of four of the first group and all of the second in the lowest bin
    outlines = {patch.get_label(): patch.get_data() for patch in first.patches}
    assert outlines["advantaged"].values[0] == pytest.approx(50.0)
    assert outlines["disadvantaged"].values[0] == pytest.approx(100.0)
    assert outlines["advantaged"].values.sum() == pytest.approx(100.0)
    means = sorted(line.get_xdata()[0] for line in first.get_lines())
    np.testing.assert_allclose(means, [0.0, 0.375])
    # mean difference 0.375; squares within: 0.6875 and 0; 6 - 2 degrees of freedom
    assert first.texts[0].get_text() == (
        f"standardised mean difference {0.375 / np.sqrt(0.6875 / 4):.2f}"
    )
    assert first.get_xlabel() == "qualification score"
    assert first.get_ylim()[1] > 100.0 and first.get_ylim() == panels["At the end"].get_ylim()


def test_policies_share_the_start_if_it_is_the_same(env, made_up_evaluation):
    def moment(values):
        return {"group": np.array([[0, 0, 1, 1]]), env.spec.core_attribute: np.array([values])}

    same, other = moment([0.1, 0.3, 0.1, 0.2]), moment([0.5, 0.6, 0.5, 0.6])
    one = made_up_evaluation(0.5, people_start=same, people_end=other)
    two = made_up_evaluation(0.5, people_start=other, people_end=other)
    shared = titled(core_attribute_distribution({"a": one, "b": one}, env))
    assert list(shared) == ["At the start", "At the end: a", "At the end: b"]
    apart = titled(core_attribute_distribution({"a": one, "b": two}, env))
    assert list(apart) == [
        "At the start: a",
        "At the end: a",
        "At the start: b",
        "At the end: b",
    ]


def admissions(env, approved, applied) -> Any:
    """A trace with nothing but admissions, shape (episodes, steps, groups)."""
    none = np.zeros(np.shape(applied))
    return trace_of(env, none, approved=np.array(approved), applied=np.array(applied))


def test_group_rates_are_counted_from_the_start(env, made_up_evaluation):
    approved = [[[1, 0], [1, 2]], [[0, 0], [2, 0]]]
    applied = [[[2, 0], [2, 4]], [[2, 0], [2, 4]]]
    found = made_up_evaluation(0.5, trace=admissions(env, approved, applied))
    rates = cumulative_rates(found.trace, env.metrics["admission_rate"])
    np.testing.assert_allclose(rates, [[[0.5, np.nan], [0.5, 0.5]], [[0.0, np.nan], [0.5, 0.0]]])
    panels = titled(group_rates(found, env))
    served = "Approved people ever paid out"
    rates = [
        "Admission rate",
        "Wait of those paid out",
        "Default rate",
        "Time in the queue",
        served,
    ]
    assert list(panels) == rates
    panel = panels["Admission rate"]
    first, second = (labelled(panel, group) for group in env.spec.groups)
    np.testing.assert_allclose(first.get_ydata(), [25.0, 50.0])
    np.testing.assert_allclose(second.get_xdata(), [2])  # undefined before
    np.testing.assert_allclose(second.get_ydata(), [25.0])
    low, high = band_of(panel)
    np.testing.assert_allclose(low, np.percentile([[50.0, 50.0], [0, 50.0]], 5, axis=0))
    np.testing.assert_allclose(high, np.percentile([[50.0, 50.0], [0, 50.0]], 95, axis=0))
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("time (months)", "%, so far")
    assert "undefined" in panels["Wait of those paid out"].texts[0].get_text()


def test_discounted_rates_weigh_early_steps_more(env):
    trace = admissions(env, [[[1, 1], [0, 0]]], [[[1, 1], [1, 1]]])
    rates = cumulative_rates(trace, env.metrics["admission_rate"], discount=0.5)
    np.testing.assert_allclose(rates[0, -1], [1 / 1.5, 1 / 1.5])


def test_policies_share_the_scale_of_a_rate(env, made_up_evaluation):
    high = made_up_evaluation(0.5, trace=admissions(env, [[[8, 8]]], [[[8, 8]]]))
    low = made_up_evaluation(0.5, trace=admissions(env, [[[1, 1]]], [[[8, 8]]]))
    figure = group_rates({"a": high, "b": low}, env)
    first, second = (a for a in figure.axes if a.get_title(loc="left") == "Admission rate")
    assert first.get_ylim() == second.get_ylim()
    assert [a.texts[0].get_text() for a in (first, second)] == ["a", "b"]


def test_the_comparison_shows_means_and_intervals(env, made_up_result):
    undefined = {name: np.full(4, name != "wait_disparity") for name in env.metrics}
    results = [
        made_up_result("mine", True, -0.3),
        made_up_result("rule", False, -0.1, defined=undefined),
    ]
    panels = titled(metric_comparison(results, env))
    panel = panels["Default rate"]
    half = 3.182446 * np.std([-0.01, 0.01, -0.01, 0.01], ddof=1) / 2  # t, 3 degrees of freedom
    point, bar = labelled(panel, "mine"), panel.get_lines()[0]
    np.testing.assert_allclose(point.get_xdata(), [30.0])
    ends = 100 * np.array([0.3 - half, 0.3 + half])
    np.testing.assert_allclose(bar.get_xdata(), ends, rtol=1e-5)
    assert [label.get_text() for label in panels["Objective"].get_yticklabels()] == [
        "mine",
        "rule",
    ]
    assert panel.get_xlabel() == "%\n← better"
    assert panels["Objective"].get_xlabel() == "score\nbetter →"
    wait = panels["Wait disparity"]
    assert [text.get_text() for text in wait.texts] == ["undefined"]
    assert "rule" not in [line.get_label() for line in wait.get_lines()]


@pytest.mark.full
def test_figures_of_real_episodes(seeds):
    run = load(seeds / "seed-0")
    found = evaluate(
        run.env,
        run.params,
        run.policies,
        jax.random.key(0),
        4,
        objective=run.objective,
        trace=True,
        people_episodes=2,
    )
    assert len(titled(core_attribute_distribution(found, run.env))) == 2
    assert len(titled(group_rates(found, run.env))) == 5
    last = cumulative_rates(found.trace, run.env.metrics["admission_rate"])[:, -1]
    gap = np.abs(last[:, 0] - last[:, 1])
    np.testing.assert_allclose(gap, -found.metrics["admission_disparity"], atol=1e-6)
    panels = titled(metric_comparison([Result("mine", True, (found,))], run.env))
    assert found.objective is not None
    drawn = np.asarray(labelled(panels["Objective"], "mine").get_xdata())
    np.testing.assert_allclose(drawn, [found.objective.mean()], rtol=1e-6)


# ---------------------------------------------------------------- drawing


@pytest.mark.full
def test_the_callers_matplotlib_settings_do_not_matter(made_up_run):
    import matplotlib

    run = made_up_run(0, [0.0, 1.0])
    plain = svg.inline_svg(learning.learning_curves([run]), "x", "d")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        assert svg.inline_svg(learning.learning_curves([run]), "x", "d") == plain
        assert matplotlib.rcParams["font.size"] == 30


def test_drawings_follow_the_page_and_have_ids_of_their_own(made_up_run):
    drawing = svg.inline_svg(actions.mean_actions([made_up_run(0, [0.0, 1.0])]), "acts", 'a "b"')
    assert drawing.startswith("<svg") and 'aria-label="a &quot;b&quot;"' in drawing
    assert "var(--ink)" in drawing and "var(--group-0)" in drawing
    assert style.GROUP_COLOURS[0] not in drawing
    for part in ('id="', 'href="#', "url(#"):
        assert drawing.count(part) == drawing.count(f"{part}acts-") > 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1.00"),
        (0.0432, "0.043"),
        (-0.5, "−0.50"),
        (12.34, "12.3"),
        (8931.2, "8,931"),
        (0.00019, "0.00019"),
        (np.nan, "undefined"),
    ],
)
def test_numbers_are_read_at_a_glance(value, text):
    assert number(value) == text


def test_labels_at_line_ends_stand_apart_and_near_their_lines():
    """By hand: three that touch are spread around their mean; the ends stay within the axis."""
    assert style._apart([0.2, 5.0, 5.0, 5.0], 1.0, 0.0, 10.0) == pytest.approx([0.2, 4.0, 5.0, 6.0])
    assert style._apart([9.9, 10.0], 1.0, 0.0, 10.0) == pytest.approx([9.0, 10.0])
    assert style._apart([0.0, 0.0], 1.0, 0.0, 10.0) == pytest.approx([0.0, 1.0])
    assert style._apart([], 1.0, 0.0, 10.0) == []


def test_an_axis_ends_where_its_values_end(env, made_up_run):
    runs = [made_up_run(0, [0.0, 1.0])]
    for title, panel in titled(learning.learning_curves(runs)).items():
        if panel.get_ylabel() == "%":
            low, high = panel.get_ylim()
            assert low >= 0.0 and high <= 100.0, title
