"""Figures carry the numbers that they are given."""

import types

import numpy as np
import pytest
from matplotlib.figure import Figure

import fairgym
from fairgym.core import Shares
from fairgym.report import learning, results
from fairgym.report.episodes import core_attribute_distribution, group_rates, metric_comparison
from fairgym.report.grouping import group_runs, series
from fairgym.report.measures import measure, measures
from fairgym.training import load


@pytest.fixture(scope="module")
def env():
    return fairgym.make("loan", population=60, horizon=20)


def titled(figure: Figure) -> list:
    """The panels that show something."""
    return [axes for axes in figure.axes if axes.get_title(loc="left")]


def made_up(env, seed: int, values: list[float], objective: str = "uniform"):
    """A run whose every logged number is `values` over the epochs."""
    keys = [m.key for m in measures(env)]
    for agent in env.agents:
        space = env.action_space(agent)
        names = getattr(space, "names", None) or (space.name,)
        keys += [f"actions/{agent}/{name}" for name in names]
    lines = [{"epoch": i + 1, **dict.fromkeys(keys, v)} for i, v in enumerate(values)]
    return types.SimpleNamespace(
        config={"objective": objective, "seed": seed}, env=env, metrics=lines, folder=f"/x/{seed}"
    )


def test_learning_curves_are_means_with_a_band_over_seeds(env):
    runs = [made_up(env, 0, [0.0, 1.0, 2.0]), made_up(env, 1, [1.0, 2.0, 6.0])]
    figure = learning.learning_curves(runs)
    assert isinstance(figure, Figure)
    panels = titled(figure)
    assert len(panels) == 1 + len(env.metrics)
    objective = panels[0]
    line = objective.get_lines()[0]
    np.testing.assert_allclose(line.get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(line.get_ydata(), [0.5, 1.5, 4.0])
    edges = objective.collections[0].get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == (0.0, 6.0)


def test_disparities_are_shown_as_gaps_above_zero(env):
    shown = measure(env, "wait_disparity")
    assert shown.flipped and shown.better == "lower is better" and shown.unit == "months"
    assert float(shown.shown(-3.0)) == 3.0
    assert not measure(env, "profit").flipped and measure(env, "profit").unit == "thousand dollars"


def test_runs_are_gathered_by_configuration(env):
    runs = [
        made_up(env, 0, [1.0]),
        made_up(env, 1, [3.0]),
        types.SimpleNamespace(**{**vars(made_up(env, 0, [9.0], "direct")), "folder": "/y"}),
    ]
    groups = group_runs(runs)
    assert [len(group.runs) for group in groups] == [2, 1]
    assert [group.label for group in groups] == ["objective uniform", "objective direct"]
    assert groups[0].series("objective").mean.tolist() == [2.0]
    assert group_runs(runs[:2])[0].label == ""


def test_a_series_lines_up_runs_of_different_length(env):
    found = series([made_up(env, 0, [1.0, 2.0]), made_up(env, 1, [3.0])], "objective")
    np.testing.assert_allclose(found.mean, [2.0, 2.0])
    np.testing.assert_allclose(found.low, [1.0, 2.0])


def test_mean_actions_have_a_line_per_group(env):
    figure = learning.mean_actions([made_up(env, 0, [0.2, 0.4])])
    assert len(titled(figure)) == len(env.agents)
    threshold = titled(figure)[0]
    curves = [line for line in threshold.get_lines() if len(line.get_xdata()) == 2]
    assert len(curves) == len(env.groups)
    np.testing.assert_allclose(curves[0].get_ydata(), [0.2, 0.4])


def test_shares_are_a_heat_map(env):
    class Planner:
        """An environment with one agent that divides a budget."""

        agents = ("planner",)
        groups = env.groups
        name = "made up"

        def action_space(self, agent):
            return Shares((("beds", "health", "subsidies"),))

    lines = [
        {
            "epoch": i + 1,
            "actions/planner/beds": 0.5,
            "actions/planner/health": 0.25 * i,
            "actions/planner/subsidies": 0.5 - 0.25 * i,
        }
        for i in range(3)
    ]
    run = types.SimpleNamespace(config={"seed": 0}, env=Planner(), metrics=lines, folder="/z")
    figure = learning.mean_actions([run])
    images = [np.asarray(image.get_array()) for axes in figure.axes for image in axes.get_images()]
    meshes = [np.asarray(c.get_array()) for axes in figure.axes for c in axes.collections]
    cells = next(x for x in images + meshes if x is not None and x.size == 9).reshape(3, 3)
    np.testing.assert_allclose(np.sort(cells.sum(axis=0)), [1.0, 1.0, 1.0])


def test_cumulative_rates_against_a_hand_calculation(env):
    trace = types.SimpleNamespace(
        approved=np.array([[[1.0, 0.0], [1.0, 2.0]]]), applied=np.array([[[2.0, 0.0], [2.0, 4.0]]])
    )
    rates = results.cumulative_rates(trace, env.metrics["admission_rate"])
    np.testing.assert_allclose(rates[0], [[0.5, np.nan], [0.5, 0.5]])


def test_several_seeds_count_once_each():
    one = results.estimate([np.array([1.0, 2.0, 3.0])])
    two = results.estimate([np.array([1.0, 2.0, 3.0]), np.array([4.0, 4.0, 4.0])])
    assert one.mean == 2.0 and two.mean == 3.0
    assert two.high - two.low > one.high - one.low  # two values say less than three
    assert results.estimate([np.array([np.nan, 1.0])]).undefined == 1


def test_figures_of_real_episodes(seeds, env):
    import jax

    from fairgym.training import evaluate

    run = load(seeds / "seed-0")
    found = evaluate(
        run.env,
        run.params,
        run.policies,
        jax.random.key(0),
        4,
        objective=run.objective,
        trace=True,
        people=2,
    )
    start = np.asarray(
        run.env.people(run.env.initial_state(jax.random.key(0), run.params))["group"]
    )
    assert found.people_start["group"].shape == (2, 60)
    assert found.people_start["group"][0].sum() == start.sum()
    figure = core_attribute_distribution(found, run.env)
    assert any("standardised" in text.get_text() for axes in figure.axes for text in axes.texts)
    rates = group_rates(found, run.env)
    assert len(titled(rates)) == 3
    last = results.cumulative_rates(found.trace, run.env.metrics["admission_rate"])[:, -1]
    overall = np.abs(last[:, 0] - last[:, 1])
    np.testing.assert_allclose(overall, -found.metrics["admission_disparity"], atol=1e-6)
    comparison = metric_comparison([results.Result("mine", True, (found,))], run.env)
    drawn = comparison.axes[0].get_lines()[-1]
    np.testing.assert_allclose(drawn.get_xdata(), [found.objective.mean()], rtol=1e-6)
