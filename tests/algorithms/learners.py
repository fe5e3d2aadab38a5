"""Learners whose epochs take no time, and the steps that they collect."""

import dataclasses
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from toys import Toy

from fairgym.algorithms import algorithms
from fairgym.algorithms.f_mappo import FMappo
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies

SMALL = {
    "f-mappo": {
        "episodes_per_epoch": 2,  # one round
        "num_envs": 2,
        "num_steps": 4,
        "update_epochs": 2,
        "num_minibatches": 2,
    },
    "f-maddpg": {
        "num_envs": 2,
        "num_steps": 4,
        "gradient_steps": 2,
        "batch_size": 6,
        "buffer_size": 24,
        "learning_starts": 8,
    },
}
TINY = {
    "epochs": 2,
    "episodes_per_epoch": 4,
    "evaluation_episodes": 2,
    "hidden": 4,
    "critic_hidden": 4,
    "sampled_people": 5,
}

# One environment, one objective and one trained agent for most tests: they share a program.
ENV = Toy(population=8, horizon=5, places=3)
BOUNDED = Objective.direct(ENV).bounded({"treated_disparity": 0.0})
HELD = {"rank": 0.5, "split": (0.7, 0.3)}
FIXED = fixed_policies(ENV, HELD)


def learner(name, **changes):
    """A learner whose epoch takes no time."""
    return algorithms.get(name)(**(TINY | SMALL[name] | changes))


@eqx.filter_jit
def collected(some: Any, state: Any, key: Any) -> Any:
    """The steps of every environment, as a round of learning collects them."""

    def run(rollout: Any, key: Any) -> Any:
        if isinstance(some, FMappo):
            return some._run(state, (rollout, key))[1]
        keys = jax.random.split(key, some.num_steps)
        return lax.scan(lambda r, k: some._step(state, r, k, jnp.array(False)), rollout, keys)[1]

    return jax.vmap(run)(state.rollouts, jax.random.split(key, some.num_envs))


def pulled(gradient: Any) -> set[str]:
    """The agents whose policies a gradient pulls at."""
    leaves = {agent: jax.tree.leaves(own) for agent, own in gradient.actors.items()}
    return {agent for agent, own in leaves.items() if any(abs(x).sum() for x in own)}


@dataclasses.dataclass(frozen=True)
class Backwards(Toy):
    """Agents that act in another order than that of their names, as in the real systems."""

    @cached_property
    def spec(self):
        return dataclasses.replace(super().spec, agents=("split", "level", "rank"))


OWN = Backwards(population=8, horizon=5, places=3)
AIMS = {
    "split": Objective.direct(OWN),
    "level": Objective.weighted(OWN, {"treated_rate": 1.0}),
    "rank": Objective.weighted(OWN, {"treated_rate": -1.0}),
}
