"""College admissions: accuracy and social burden of thresholds and juries."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.core import Environment, Params, rollout
from fairgym.experiments import _parts as ex
from fairgym.policies import Constant, fixed_policies
from fairgym.report import style
from fairgym.utils import make

NAME = "college_admissions"
NOISELESS, NOISY = "test without errors", "test with errors"
CASES = {NOISELESS: 0.0, NOISY: 0.1}  # standard deviation of the test's error
THRESHOLDS = np.arange(100) / 100
ROUNDS = 30  # of an episode with a fixed threshold; a jury has the environment's
STATIC, CONTINUOUS, ROBUST = "static", "continuous", "robust"
JURIES = {name: f"{name}_jury" for name in (STATIC, CONTINUOUS, ROBUST)}  # label -> baseline
EVERYBODY = "everybody"
THRESHOLD, ACCURACY, BURDEN = "threshold", "accuracy", "burden per applicant"
SOCIAL, TPR = "social burden", "true positive rate"
# Measure -> numerator and denominator, summed over episodes.
MEASURES = {
    ACCURACY: ("correct", "applicants"),
    BURDEN: ("burden", "applicants"),
    SOCIAL: ("burden", "qualified"),
    TPR: ("admitted_qualified", "qualified"),
}
QUALIFIED = 0.55  # the true score from which applicants are qualified
NEAR = 0.01  # tolerance of ml-fairness-gym's test of the static jury
ALL = 2  # place after those of the groups

# Measure -> (seeds, groups and everybody); the threshold (seeds,).
Numbers = dict[str, np.ndarray]


@ex.experiments.register("notstatic-admissions")
class NotstaticAdmissions(ex.Experiment):
    """Fixed thresholds, and three juries that learn one, with and without errors of the test."""

    title = "Fairness Is Not Static: college admissions"
    source = (
        "Fairness Is Not Static, college admissions; the text and the code of ml-fairness-gym's"
        " experiment"
    )
    claim = (
        "robust strategies can impose substantial burdens on qualified applicants; “with and"
        " without noise, the continuously retrained agent compensates for some gaming behavior.”"
        " So “the fairness implications of robust policies need to be considered in continuous"
        " retraining contexts, even if the agent is not designed to anticipate strategic"
        " manipulation”"
    )
    sizes: ClassVar = {"paper": ex.Size(held_out=8, seeds=20), "quick": ex.Size(held_out=2)}

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return case -> "fixed" or jury -> measure; fixed thresholds are a further axis."""
        assert size.held_out is not None
        env = make(NAME)
        data: dict[str, Any] = {}
        for case, spread in CASES.items():
            params = env.default_params.replace(score_noise=spread)
            data[case] = {"fixed": fixed_thresholds(params, seeds, size.held_out)}
            for label, baseline in JURIES.items():
                acting = fixed_policies(env, env.spec.baselines[baseline], params)
                ends = [ex.held_out(env, params, acting, seed, size.held_out) for seed in seeds]
                data[case][label] = jury_numbers(ends)
        return data

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check the order of the juries' thresholds, burdens and accuracies."""
        checks = [
            ex.Check.between(
                f"{NOISELESS}: the static jury finds the threshold of the qualified"
                f" ({QUALIFIED} ± {NEAR})",
                data[NOISELESS][STATIC][THRESHOLD],
                QUALIFIED - NEAR,
                QUALIFIED + NEAR,
            ),
            *(check for case in CASES for check in _checks(case, data[case])),
        ]
        head = ["case", "jury", THRESHOLD, ACCURACY]
        head += [f"{SOCIAL}, {group}" for group in _groups()]
        head += [f"{TPR}, {group}" for group in _groups()[:ALL]]
        rows = [
            [
                case,
                jury,
                ex.iqm_text(one[THRESHOLD]),
                ex.iqm_text(one[ACCURACY][:, ALL]),
                *(ex.iqm_text(one[SOCIAL][:, place]) for place in range(ALL + 1)),
                *(ex.iqm_text(one[TPR][:, place]) for place in range(ALL)),
            ]
            for case in CASES
            for jury, one in ((jury, data[case][jury]) for jury in JURIES)
        ]
        caption = (
            "Episodes of 750 rounds, with the burn-in; the threshold is that of the last round."
            " Social burden: mean cost at which a qualified applicant reaches the threshold, where"
            " an admission is worth 1. Interquartile mean over seeds [95% CI]."
        )
        return ex.Outcome(
            figures={"": _plot(data)},
            caption="Accuracy and burden per applicant of fixed thresholds; vertical lines are the"
            " last thresholds of the juries. Lines are interquartile means over seeds, bands"
            " stratified bootstrap 95% intervals.",
            tables=[ex.Table(head, rows, caption)],
            checks=checks,
        )


def _checks(case: str, found: Mapping[str, Numbers]) -> list[ex.Check]:
    static, continuous, robust = (found[jury] for jury in (STATIC, CONTINUOUS, ROBUST))

    def everybody(one: Numbers, measure: str) -> np.ndarray:
        return one[measure][:, ALL]

    return [
        ex.Check.higher(
            f"{case}: the continuous jury compensates for gaming: its threshold is higher than the"
            " static one",
            continuous[THRESHOLD],
            static[THRESHOLD],
        ),
        ex.Check.higher(
            f"{case}: for some of it: its threshold is lower than the robust one",
            robust[THRESHOLD],
            continuous[THRESHOLD],
        ),
        ex.Check.higher(
            f"{case}: the robust jury burdens the qualified more than the static one",
            everybody(robust, SOCIAL),
            everybody(static, SOCIAL),
        ),
        ex.Check.higher(
            f"{case}: so does the continuous jury, which does not anticipate gaming",
            everybody(continuous, SOCIAL),
            everybody(static, SOCIAL),
        ),
        ex.Check.higher(
            f"{case}: the robust jury is more accurate than the static one",
            everybody(robust, ACCURACY),
            everybody(static, ACCURACY),
        ),
        ex.Check.higher(
            f"{case}: the robust jury burdens disadvantaged qualified applicants more than"
            " advantaged ones",
            robust[SOCIAL][:, 1],
            robust[SOCIAL][:, 0],
            "by construction",
        ),
    ]


def fixed_thresholds(
    params: Params, seeds: Sequence[int], episodes: int, thresholds: np.ndarray = THRESHOLDS
) -> Numbers:
    """Measure fixed thresholds: measure -> (seeds, thresholds, groups and everybody).

    Args:
        params: Parameters of the environment.
        seeds: The seeds; all thresholds of a seed meet the same applicants.
        episodes: Number of episodes of each threshold.
        thresholds: The thresholds.
    """
    env = make(NAME, horizon=ROUNDS)
    space = env.action_space("jury")

    @jax.jit
    def measured(key: PRNGKeyArray) -> PyTree:
        def one(key: PRNGKeyArray, threshold: Float[Array, ""]) -> PyTree:
            acting = {"jury": Constant(space, threshold)}
            return rollout(env, params, acting, key).totals

        keys = jax.random.split(key, episodes)
        by_threshold = jax.vmap(one, in_axes=(None, 0))
        totals = jax.vmap(by_threshold, in_axes=(0, None))(keys, jnp.asarray(thresholds))
        return jax.tree.map(lambda x: jnp.sum(x, axis=0), totals)

    found = [numbers_of(measured(jax.random.key(seed))) for seed in seeds]
    return {measure: np.array([one[measure] for one in found]) for measure in MEASURES}


def jury_numbers(ends: ex.Ends) -> Numbers:
    """Return the last threshold of each seed, (seeds,), and its measures, (seeds, groups...)."""
    totals = [jax.tree.map(lambda x: np.asarray(x, np.float64).sum(0), one.totals) for one in ends]
    found = [numbers_of(one) for one in totals]
    last = [np.mean(np.asarray(one.trace.threshold, np.float64)[:, -1]) for one in ends]
    measures = {measure: np.array([one[measure] for one in found]) for measure in MEASURES}
    return {THRESHOLD: np.array(last), **measures}


def numbers_of(totals: PyTree) -> Numbers:
    """Return every measure by group and for everybody, (..., groups and everybody)."""

    def counted(name: str) -> np.ndarray:
        groups = np.asarray(getattr(totals, name), np.float64)
        return np.concatenate([groups, groups.sum(axis=-1, keepdims=True)], axis=-1)

    return {
        measure: counted(above) / np.maximum(counted(below), 1.0)
        for measure, (above, below) in MEASURES.items()
    }


def _groups() -> list[str]:
    env: Environment = make(NAME)
    return [*env.spec.groups, EVERYBODY]


@style.styled
def _plot(data: PyTree) -> Figure:
    names = [*_groups(), *(f"{jury} jury" for jury in JURIES)]
    shown = [ACCURACY, BURDEN]
    figure, axes = style.panels(
        len(shown) * len(CASES),
        len(CASES),
        2.5,
        legend_rows=style.legend_rows(names),
        sharex=True,
        sharey="row",
    )
    lines = [*(style.group_line(place) for place in range(ALL)), {"color": style.INK}]
    uprights = [style.baseline_line(place) for place in range(len(JURIES))]
    for panel, (measure, case) in zip(
        axes, ((m, case) for m in shown for case in CASES), strict=True
    ):
        for place, look in enumerate(lines):
            values = data[case]["fixed"][measure][:, :, place]
            x = np.linspace(0, 1, values.shape[1], endpoint=False)
            ex.curve(panel, x, values, look, names[place])
        for jury, look in zip(JURIES, uprights, strict=True):
            _upright(panel, data[case][jury][THRESHOLD], look)
        if measure == shown[0]:
            style.set_title(panel, case)
        else:
            panel.set_xlabel("threshold")
        if case == NOISELESS:
            panel.set_ylabel(measure)
    handles = [
        Line2D([], [], label=name, **look)
        for name, look in zip(names, [*lines, *uprights], strict=True)
    ]
    style.top_legend(figure, handles)
    return figure


def _upright(panel: Axes, thresholds: np.ndarray, look: Mapping[str, Any]) -> None:
    """Plot the interquartile mean of a jury's thresholds as a vertical line."""
    panel.axvline(float(ex.interquartile_mean(thresholds)), **look)
