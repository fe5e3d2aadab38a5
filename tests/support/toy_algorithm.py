"""An algorithm that learns nothing and compiles in no time, to test what is around algorithms."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import two_servers  # noqa: F401 - registers itself

from fairgym.algorithms import Algorithm, TrainState, algorithms, init_fields
from fairgym.config import RunConfig
from fairgym.policies import Constant


class ToyState(TrainState):
    walk: jax.Array


@algorithms.register("toy")
@dataclasses.dataclass(frozen=True)
class Toy(Algorithm[ToyState]):
    """A random walk.

    Attributes:
        epochs: steps of the walk.
        step: length of a step.
    """

    extended_by: ClassVar[str] = "epochs"

    epochs: int = 5
    step: float = 0.1

    @property
    def num_updates(self):
        return self.epochs

    def init(self, key, env, objective, *, params=None, fixed=None):
        return ToyState(**init_fields(key, env, objective, params, fixed), walk=jnp.zeros((3,)))

    def update(self, state):
        now, later = state.next_key()
        walk = state.walk + self.step * jax.random.normal(now, (3,))
        log = {"objective": jnp.sum(walk), "metrics/profit": walk[0], "odd": jnp.float32(jnp.nan)}
        return state.replace(key=later, updates=state.updates + 1, walk=walk), log

    def policies(self, state):
        value = jax.nn.sigmoid(state.walk)
        learned = {
            agent: Constant(state.env.action_space(agent), float(x))
            for (agent, _), x in zip(state.objectives, value, strict=False)
        }
        return learned | state.fixed


def toy_config(**changes):
    given = {"environment": "two_servers", "algorithm": "toy", "horizon": 5}
    return RunConfig.from_mapping(given | changes)


def toy_loan(**changes):
    """The same in a system with several agents, and with data."""
    return toy_config(environment="loan", population=30, **changes)
