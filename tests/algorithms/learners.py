"""Learners whose epochs take no time, and the steps that they collect."""

import dataclasses
from typing import Any

import equinox as eqx
import jax

from fairgym.algorithms import algorithms
from fairgym.fairness import Objective
from fairgym.testing.toys import Toy

SMALL = {
    "f-mappo": {"num_envs": 2, "num_steps": 4, "update_epochs": 2, "num_minibatches": 2},
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
    "sampled_people": 5,
}

# One environment and one objective for most tests: their programs are compiled once.
ENV = Toy(population=8, horizon=5, places=3)
BOUNDED = Objective.direct(ENV).bounded({"treated_disparity": 0.0})


def learner(name, **changes):
    """A learner whose epoch takes no time."""
    return algorithms.get(name)(**(SMALL[name] | TINY | {"critic_hidden": 4} | changes))


def run_one_world(some: Any, state: Any, key: Any) -> Any:
    """The steps of the first world; learners of the PPO family."""
    world = jax.tree.map(lambda x: x[0], state.worlds)
    return eqx.filter_jit(some._run)(state, (world, key))[1]


def sampled(some: Any, state: Any, key: Any) -> Any:
    """What one gradient step of F-MADDPG learns from."""
    return state.buffer.sample(key, some.batch_size // some.num_envs)


def pulled(gradient: Any) -> set[str]:
    """The agents whose policies a gradient pulls at."""
    leaves = {agent: jax.tree.leaves(own) for agent, own in gradient.actors.items()}
    return {agent for agent, own in leaves.items() if any(abs(x).sum() for x in own)}


@dataclasses.dataclass(frozen=True)
class Backwards(Toy):
    """Agents that act in another order than that of their names, as in the real systems."""

    agents = ("split", "level", "rank")


OWN = Backwards(population=8, horizon=5, places=3)
AIMS = {
    "split": Objective.direct(OWN),
    "level": Objective.weighted(OWN, {"treated_rate": 1.0}),
    "rank": Objective.weighted(OWN, {"treated_rate": -1.0}),
}
