"""Interventions compared with none, in paired episodes.

Policies are fixed. An intervention is a parameter of the environment (beds, the probability of
improvement) or a part of a fixed policy (relief, scholarships). Episodes continue after a failure
of the bank, insurer or university, so that both arms have the same length.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray, PyTree
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgym.core import AnyPolicy, Environment, Params, RecordedStep, record
from fairgym.core.batching import map_episodes
from fairgym.environments.education.params import EducationParams
from fairgym.environments.education.steps import utility_of_worker
from fairgym.experiments import _parts as ex
from fairgym.policies import fixed_policies
from fairgym.report import style
from fairgym.results.labels import title
from fairgym.utils import make

PLAUSIBLE = "plausible_fixed_policy"  # baseline of education

# (environment, parameters, step) -> numerator and denominator of a ratio
Indicator = Callable[[Any, Any, RecordedStep], tuple[Array, Array]]


@dataclasses.dataclass(frozen=True)
class Arm:
    """Arm of a comparison.

    Attributes:
        params: Parameters that differ from the environment's defaults. A string is the name of a
            constructor argument whose value is used.
        policy: Parts of the fixed policy that differ from the baseline.
    """

    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    policy: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Intervention:
    """Intervention, shown in one panel.

    Attributes:
        environment: Name of the environment.
        baseline: Fixed joint policy of both arms, by its name in `env.spec.baselines`.
        indicator: Indicator that is measured.
        what: Name of the indicator.
        falls: Whether lower values of the indicator are better.
        running: Whether the indicator is summed over all steps so far (rates); if not, it is that
            of each step.
        kind: Kind of the check of its direction.
        name: Name of the intervention.
        without: Arm without the intervention.
        given: Arm with the intervention.
    """

    environment: str
    baseline: str
    indicator: Indicator
    what: str
    falls: bool = False
    running: bool = True
    kind: ex.Kind = "predicted"
    name: str = ""
    without: Arm = Arm()
    given: Arm = Arm()

    def of(self, name: str, without: Arm, given: Arm) -> "Intervention":
        """Return a copy with a name and two arms."""
        return dataclasses.replace(self, name=name, without=without, given=given)


# ---------------------------------------------------------------- indicators


def _mortality(env: Any, params: Params, step: RecordedStep) -> tuple[Array, Array]:
    return jnp.sum(step.components.died), jnp.sum(step.components.illnesses_ended)


def _score(env: Any, params: Params, step: RecordedStep) -> tuple[Array, Array]:
    return jnp.mean(env.people(step.after)["qualification_score"]), jnp.float32(1.0)


def _graduation(env: Any, params: Params, step: RecordedStep) -> tuple[Array, Array]:
    made = step.components
    done = made.bachelors + made.masters + made.doctorates
    classes = made.bachelor_class + made.master_class + made.doctorate_class
    return jnp.sum(done), jnp.sum(classes)


def _graduation_of_minority(env: Any, params: Params, step: RecordedStep) -> tuple[Array, Array]:
    minority = jax.tree.map(lambda x: x[1] if x.ndim else x, step.components)
    return _graduation(env, params, step.replace(components=minority))


def _utility_of_minority(
    env: Any, params: EducationParams, step: RecordedStep
) -> tuple[Array, Array]:
    """Return the mean utility of a minority worker, equations (22) and (23)."""
    people = env.people(step.before)
    salary = jnp.float32(env.spec.baselines[PLAUSIBLE]["employer"])
    utility = utility_of_worker(
        salary,
        step.after.supplement,
        people["gpa"],
        people["time_in_university"],
        people["time_in_workforce"],
        params,
    )
    working = step.before.stage == env.spec.stages.index("workforce")
    counted = working & (step.before.group == 1)
    return jnp.sum(jnp.where(counted, utility, 0.0)), jnp.sum(counted, dtype=jnp.float32)


# ---------------------------------------------------------------- interventions

_MORTALITY = Intervention("health", "premium_half_no_planner", _mortality, "mortality", falls=True)
_SCORE = Intervention(
    "loan", "admit_all_no_relief", _score, "mean qualification score", running=False
)
_GRADUATION = Intervention("education", PLAUSIBLE, _graduation, "graduation rate")
_OF_MINORITY = Intervention(
    "education", PLAUSIBLE, _graduation_of_minority, "minority's graduation rate"
)
_UTILITY = Intervention(
    "education",
    PLAUSIBLE,
    _utility_of_minority,
    "utility of minority workers",
    kind="by construction",  # by definition, the utility rises by the supplement
)

# Hospitals cost nothing in either arm, so that no insurer fails.
_HEALTH = {"hospital_cost": 0.0}
# Unlimited money: spending on one thing leaves the rest unchanged, and everybody is admitted.
_RICH = {"reserve_at_start": 1e9, "seats_per_unit": "population"}


def _lending(threshold: float, relief: float) -> Arm:
    return Arm(policy={"admissions": threshold, "debt_management": relief})


def _university(*shares: float) -> Arm:
    return Arm(_RICH, {"university": list(shares)})


INTERVENTIONS = (
    *(
        _MORTALITY.of(name, Arm(_HEALTH), Arm(_HEALTH | changes))
        for name, changes in (
            ("unlimited hospital beds", {"beds_at_start": 1e6}),
            ("universal insurance", {"illness_uninsured": 0.0}),
            ("unlimited public health", {"improve_shift": 100.0}),
        )
    ),
    _SCORE.of("20% relief, threshold 0.85", _lending(0.85, 0.0), _lending(0.85, 0.2)),
    _SCORE.of("20% relief, everybody admitted", _lending(0.0, 0.0), _lending(0.0, 0.2)),
    _GRADUATION.of(
        "unlimited tertiary money",
        Arm({"improve_shift": -100.0}),
        Arm({"improve_shift": 100.0}),
    ),
    _GRADUATION.of(
        "full scholarships",
        _university(0.0, 0.3, 0.0, 0.0, 0.7),
        _university(0.0, 0.3, 0.5, 0.0, 0.2),
    ),
    _OF_MINORITY.of(
        "mentors for the minority",
        _university(0.0, 0.3, 0.0, 0.0, 0.7),
        _university(0.0, 0.3, 0.0, 0.2, 0.5),
    ),
    # salaries cost so little that any budget pays the highest supplement, or so much that none can
    _UTILITY.of(
        "unlimited diversity money",
        Arm({"max_salary": 1e9}),
        Arm({"max_salary": 1.0}),
    ),
)


@eqx.filter_jit
def _episodes(
    env: Environment,
    indicator: Indicator,
    params: Params,
    policies: Mapping[str, AnyPolicy],
    keys: Key[Array, "..."],
) -> PyTree:
    """Return numerator and denominator of the indicator: a row per key, a column per step."""

    def one(key: PRNGKeyArray) -> PyTree:
        return record(env, params, policies, key, pick=lambda step: indicator(env, params, step))

    return map_episodes(one, keys)


def curves(intervention: Intervention, people: int, seeds: Sequence[int]) -> dict[str, Any]:
    """Return the indicator without and with an intervention: a row per seed, a column per step."""
    env = make(intervention.environment, population=people)
    keys = jnp.stack([jax.random.key(seed) for seed in seeds])
    found: dict[str, PyTree] = {"unit": env.spec.time_unit}
    for name, arm in (("without", intervention.without), ("with", intervention.given)):
        changes = {
            field: float(getattr(env, value)) if isinstance(value, str) else value
            for field, value in arm.params.items()
        }
        params = env.default_params.replace(**changes)
        params = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), params)
        policies = fixed_policies(env, {**env.spec.baselines[intervention.baseline], **arm.policy})
        above, below = _episodes(env, intervention.indicator, params, policies, keys)
        above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
        if intervention.running:
            above, below = np.cumsum(above, axis=1), np.cumsum(below, axis=1)
        found[name] = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return found


# ---------------------------------------------------------------- the experiment


@ex.experiments.register("mafe-fig6")
class MafeFig6(ex.Experiment):
    """Eight interventions; the loan intervention is shown at two thresholds."""

    title = "MAFE figure 6: effect of eight interventions"
    source = "MAFE, figure 6 and appendix D.1"
    claim = (
        '"significant improvements when interventions are applied compared to baseline scenarios":'
        " beds, insurance and public health lower mortality, relief raises qualification scores,"
        " tertiary money, scholarships and mentors raise graduation rates, and diversity incentives"
        " raise the utility of workers of the disadvantaged group"
    )
    sizes: ClassVar = dict.fromkeys(("paper", "quick"), ex.Size(people=1_000, seeds=10))

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return one entry per intervention."""
        assert size.people is not None
        return [curves(one, size.people, seeds) for one in INTERVENTIONS]

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check each intervention's indicator at the end, paired by seed."""
        checks, ends = [], {}
        for one, found in zip(INTERVENTIONS, data, strict=True):
            without, given = found["without"][:, -1], found["with"][:, -1]
            way = "lower" if one.falls else "higher"
            gain = (without, given) if one.falls else (given, without)
            statement = f"{one.environment}: {one.what} {way} with {one.name}"
            checks.append(ex.Check.higher(statement, *gain, one.kind))
            ends[one.environment, one.name, one.what] = {"without": without, "with": given}
        head = ["environment", "intervention", "indicator", "without", "with"]
        caption = "At the end of the episode; interquartile mean over seeds [95% CI]."
        return ex.Outcome(
            figures={"": _plot(data)},
            caption="Lines are means over seeds, bands are one standard deviation over seeds."
            " Solid: without, dashed: with the intervention.",
            tables=[ex.columns_table(head, ends, caption)],
            checks=checks,
        )


@style.styled
def _plot(data: PyTree) -> Figure:
    figure, axes = style.panels(len(data), 3, 2.3, legend_rows=1)
    looks = {
        "without": {"color": style.INK},
        "with": {"color": style.POLICY_COLOURS[3], "linestyle": style.DASHES[1]},
    }
    for panel, one, found in zip(axes, INTERVENTIONS, data, strict=True):
        for name, look in looks.items():
            values = found[name]
            steps = np.arange(1, values.shape[1] + 1)
            known = np.isfinite(values).all(axis=0)
            mean, spread = values[:, known].mean(axis=0), values[:, known].std(axis=0, ddof=1)
            panel.plot(steps[known], mean, label=name, **look)
            panel.fill_between(
                steps[known],
                mean - spread,
                mean + spread,
                color=look["color"],
                alpha=style.BAND_ALPHA,
                lw=0,
            )
        arrow = "↓" if one.falls else "↑"
        style.set_title(panel, f"{title(one.environment)}: {one.name}")
        style.set_ylabel(panel, f"{one.what} {arrow}")
        panel.set_xlabel(f"time ({found['unit']})")
    handles = [Line2D([], [], label=f"{name} the intervention", **x) for name, x in looks.items()]
    style.top_legend(figure, handles)
    return figure
