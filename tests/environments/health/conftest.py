"""One small country for all tests of the health environment, so that programs are compiled once.

And `recompute`: the same months once more, person by person in float64, from recorded states.
"""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.data import load_population

PEOPLE, MONTHS, PERIOD, REGIONS = 240, 30, 6, 4
EVEN = [1.0 / REGIONS] * REGIONS


@pytest.fixture(scope="session")
def env():
    return fairgym.make("health", population=PEOPLE, horizon=MONTHS, decision_period=PERIOD)


@pytest.fixture(scope="session")
def params(env):
    """So few beds that people wait, so much money that beds are built and open."""
    return env.default_params.replace(
        planner_budget=2e7, beds_at_start=5.0, build_bed_time=0.5, hospital_cost=2_500.0
    )


@pytest.fixture(scope="session")
def transition(env):
    """One month with injected noise."""
    return jax.jit(env.transition)


@pytest.fixture(scope="session")
def step(env):
    """One month with a key."""
    return jax.jit(env.step)


@pytest.fixture(scope="session")
def start(env):
    """A fresh state: `start(key, params)`."""
    return jax.jit(env.initial_state)


@pytest.fixture(scope="session")
def random_actions(env):
    """`random_actions(seed)`: actions of every month; some scores and premiums are tied."""

    def draw(seed):
        rng = np.random.default_rng(seed)
        return {
            "insurer": np.round(rng.random((MONTHS, PEOPLE)), 1),
            "hospital": np.round(rng.random((MONTHS, PEOPLE)), 1),
            "planner": np.concatenate(
                [rng.dirichlet(np.ones(REGIONS), MONTHS) for _ in range(4)], axis=1
            ),
        }

    return draw


@pytest.fixture(scope="session")
def record(env):
    """Run and remember everything: `record(params, actions, seed)`.

    Actions have a row for each month. Returns NumPy arrays: `states[field][t]` before month t (t
    up to `MONTHS`, the last one after it; fields of `building` and columns of `data` among them),
    `people`, `noise`, `masks` (of what the hospital sees), `context`, `actions` (as clipped),
    `components` and `terminated` of month t, and `state_before(t)` as the environment's own type.
    The run goes on after a failure.
    """

    @jax.jit
    def run(params, actions, key):
        def pick(step):
            seen = env.observe(step.before, params)
            shown = {"mask": seen["hospital"].mask, "context": seen["planner"].context}
            return step, shown, (env.people(step.before), env.people(step.after))

        return fairgym.core.record(env, params, {}, key, pick=pick, script=actions)

    def of_state(state):
        others = ("data", "building", "by_person")
        fields = {n: np.asarray(v) for n, v in vars(state).items() if n not in others}
        return {
            **fields,
            **{name: np.asarray(column) for name, column in state.data.items()},
            "fund": np.asarray(state.building.fund),
            "openings": np.asarray(state.building.openings.amounts),
        }

    def joined(before, after):
        """Before the first month and after every one."""
        return {n: np.concatenate([before[n][:1], after[n]]) for n in before}

    def start(params, actions, seed=0):
        actions = {agent: jnp.asarray(rows, jnp.float32) for agent, rows in actions.items()}
        steps, shown, people = run(params, actions, jax.random.key(seed))
        return SimpleNamespace(
            states=joined(of_state(steps.before), of_state(steps.after)),
            people=joined(*people),
            noise={n: np.asarray(v) for n, v in vars(steps.noise).items()},
            mask=np.asarray(shown["mask"]),
            context=np.asarray(shown["context"]),
            actions={n: np.asarray(v) for n, v in steps.actions.items()},
            components={n: np.asarray(v) for n, v in vars(steps.components).items()},
            terminated=np.asarray(steps.terminated),
            params={name: float(getattr(params, name)) for name in params.info()},
            state_before=lambda month: jax.tree.map(
                lambda x: jnp.asarray(np.asarray(x)[month]), steps.before
            ),
        )

    return start


@pytest.fixture(scope="session")
def episode(record, params, random_actions):
    """A run in which people wait, die and are insured, and beds are built and open."""
    run = record(params, random_actions(1), seed=2)
    assert run.components["died"].sum() > 50
    assert (run.states["stage"] == 1).sum() > 200
    assert (run.states["beds"][-1] > run.states["beds"][0] + 3).any()
    assert 0.2 < run.states["insured"][1:].mean() < 0.95
    return run


# ------------------------------------------------------------------------- the same once more


class TooCloseError(Exception):
    """A random number so near its probability that float32 may decide otherwise than float64."""


def below(uniform, chance):
    if (np.abs(uniform - chance) < 2e-6).any():
        raise TooCloseError
    return uniform < chance


@pytest.fixture(scope="session")
def recompute(env):
    """`recompute(run)`: who did what in each month, as arrays (months, people); see the fields."""
    score = load_population("health").scores["health_risk"]

    def served(queue, group, free, score, priority):
        """By sorting, region by region."""
        found = np.zeros(len(queue), bool)
        for g in range(REGIONS):
            here = np.flatnonzero(queue & (group == g))
            best = here[np.lexsort((-priority[here], -score[here]))]
            found[best[: max(0, int(free[g]))]] = True
        return found

    def months(run):
        p, n = run.params, run.noise
        before = {k: v[:-1].astype(np.float64) for k, v in run.states.items()}
        after = {k: v[1:].astype(np.float64) for k, v in run.states.items()}
        group = run.states["group"][0]
        now = np.arange(MONTHS)
        offers = now % PERIOD == 0
        risk = np.clip(
            score.intercept + sum(w * before[k] for k, w in score.coefficients.items()), 1.0, 5.0
        )

        def per_region(values):
            return np.stack([values[:, group == g].sum(axis=1) for g in range(REGIONS)], axis=1)

        # coverage: drawn in months of offers with the premium that was asked, else kept
        burden = p["months_of_premium_per_income"] * after["premium"] * before["family_size"]
        with np.errstate(divide="ignore"):
            accepts = 1.0 - np.exp(-before["family_income"] / burden)
        insured = before["insured"] > 0
        insured[offers] = below(n["coverage"][offers], accepts[offers])

        healthy = before["stage"] == 0
        chance = p["illness_uninsured"] * ~insured + p["illness_risk"] / 5.0 * risk
        fell_ill = healthy & below(before["illness_uniform"], chance)
        queue = fell_ill | (before["stage"] == 1)
        in_hospital = before["stage"] == 2
        beds = run.states["beds"][0] + np.stack(
            [run.states["openings"][-1][:, : t + 1].sum(axis=1) for t in now]
        )
        occupied_before = per_region(in_hospital)
        scores, priority = run.actions["hospital"], n["priority"]
        admitted = np.stack(
            [
                served(queue[t], group, beds[t] - occupied_before[t], scores[t], priority[t])
                for t in now
            ]
        )
        in_bed, waiting = in_hospital | admitted, queue & ~admitted

        # the months of each illness and without a bed, counted
        ill, waited = np.zeros((2, MONTHS, env.population))
        for t in now:
            last_ill, last_waited = (ill[t - 1], waited[t - 1]) if t else (ill[0], waited[0])
            ill[t] = np.where(fell_ill[t], 1, last_ill + 1)
            waited[t] = np.where(fell_ill[t], 0, last_waited) + waiting[t]
        end = p["end_base"] ** (p["end_illness_time"] * ill)
        power = (
            p["survival_illness_time"] * ill
            + p["survival_wait"] * waited
            + p["survival_risk"] * risk
            + p["survival_offset"]
        )
        with np.errstate(over="ignore"):
            death = np.clip(1.0 - p["survival_ceiling"] + p["survival_base"] ** power, 0.0, 1.0)
        sick = in_bed | waiting
        ended = sick & below(n["illness_ends"], np.where(sick, end, -1.0))
        died = sick & below(n["illness_ends"], np.where(sick, end * death, -1.0))
        return SimpleNamespace(
            now=now,
            offers=offers,
            group=group,
            per_region=per_region,
            before=before,
            after=after,
            risk=risk,
            healthy=healthy,
            insured=insured,
            fell_ill=fell_ill,
            queue=queue,
            admitted=admitted,
            in_bed=in_bed,
            waiting=waiting,
            occupied_before=occupied_before,
            beds=beds,
            ill=ill,
            waited=waited,
            ended=ended,
            died=died,
        )

    return months


@pytest.fixture(scope="session")
def books(recompute, episode):
    """Those of the one episode."""
    return recompute(episode)
