"""Core attribute of each environment by group, at the start of an episode."""

from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import PRNGKeyArray, PyTree
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairgym.experiments import _parts as ex
from fairgym.report import style
from fairgym.results.estimates import group_gap
from fairgym.results.labels import core_attribute_unit, title, words
from fairgym.results.numbers import number
from fairgym.utils import make

ENVIRONMENTS = ("health", "loan", "education")
# Limits of standardised mean differences called small or medium, not negligible or large
SMALL, LARGE = 0.2, 0.8
BINS = 40


@ex.experiments.register("mafe-fig5")
class MafeFig5(ex.Experiment):
    """Distributions of health risk, qualification score and baseline GPA."""

    title = "MAFE figure 5: groups at the start of an episode"
    source = "MAFE, figure 5"
    claim = (
        "groups start with slightly different distributions of the core attribute: they overlap,"
        f" with a standardised mean difference from {SMALL} to {LARGE} between groups (health:"
        " between the two most different regions)"
    )
    sizes: ClassVar = dict.fromkeys(("paper", "quick"), ex.Size(people=10_000))

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return environment -> groups, and everybody's attribute and group, one row per seed."""
        data = {}
        for name in ENVIRONMENTS:
            env = make(name, population=size.people)
            keys = jax.numpy.stack([jax.random.key(seed) for seed in seeds])

            def start(key: PRNGKeyArray, env: Any = env) -> PyTree:
                state = env.initial_state(key, env.default_params)
                return env.people(state)[env.spec.core_attribute], state.group

            attribute, group = jax.jit(jax.vmap(start))(keys)
            data[name] = {
                "attribute": np.asarray(attribute, np.float64),
                "group": np.asarray(group),
                "groups": env.spec.groups,
                "label": words(env.spec.core_attribute),
                "unit": core_attribute_unit(env),
            }
        return data

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Make one check per environment.

        The checks cannot fail: `bias_strength` is solved for a difference of 0.5.
        """
        rows, checks = [], []
        for name, one in data.items():
            gaps = np.abs(group_gap(one["attribute"], one["group"], len(one["groups"])))
            what = "largest over pairs of groups" if len(one["groups"]) > 2 else "between groups"
            statement = f"{name}: difference {what} from {SMALL} to {LARGE}"
            checks.append(ex.Check.between(statement, gaps, SMALL, LARGE, "by construction"))
            for code, group in enumerate(one["groups"]):
                means = [
                    a[g == code].mean() for a, g in zip(one["attribute"], one["group"], strict=True)
                ]
                share = np.mean(one["group"] == code)
                cells = [ex.iqm_text(means), f"{share:.0%}"]
                rows.append([name, one["label"], words(group), *cells])
        head = ["environment", "attribute", "group", "mean", "people"]
        caption = "Mean over the people of the group; interquartile mean over seeds [95% CI]."
        return ex.Outcome(
            figures={"": _plot(data)},
            caption="People of all seeds together. The percentages of a group add up to 100."
            " Vertical lines are means.",
            tables=[ex.Table(head, rows, caption)],
            checks=checks,
        )


@style.styled
def _plot(data: PyTree) -> Figure:
    figure, axes = style.panels(len(data), 3, 3.0)
    for panel, (name, one) in zip(axes, data.items(), strict=True):
        _distribution(panel, one)
        gaps = np.abs(group_gap(one["attribute"], one["group"], len(one["groups"])))
        which = "widest " if len(one["groups"]) > 2 else ""
        note = f"{which}standardised mean difference {number(float(gaps.mean()))}"
        style.set_title(panel, title(name), note)
        panel.set_xlabel(one["label"] + (f" ({one['unit']})" if one["unit"] else ""))
    axes[0].set_ylabel("percent of the group")
    return figure


def _distribution(panel: Axes, one: PyTree) -> None:
    low, high = np.quantile(one["attribute"], [0.001, 0.999])
    edges = np.linspace(low, high, BINS + 1)
    for code, group in enumerate(one["groups"]):
        values = one["attribute"][one["group"] == code]
        counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
        shares, look = 100 * counts / max(values.size, 1), style.group_line(code)
        panel.stairs(shares, edges, fill=True, color=look["color"], alpha=0.15, lw=0)
        panel.stairs(shares, edges, lw=1.5, label=words(group), **look)
        panel.axvline(values.mean(), lw=1.3, **look)
    panel.margins(y=0.12)
    panel.legend(loc="best", fontsize=8, handlelength=1.4)
