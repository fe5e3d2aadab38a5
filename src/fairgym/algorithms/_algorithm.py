"""The interface of algorithms, which lets the training loop be written once."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, UInt32

from fairgym.core import (
    AnyPolicy,
    Environment,
    FairgymError,
    Params,
    Struct,
    check_params,
    param,
    require_agent,
)
from fairgym.fairness import Objective
from fairgym.fairness.measuring import measuring
from fairgym.utils import Registry

algorithms = Registry(
    "fairgym.algorithms",
    "algorithm",
    members=(
        *("num_updates", "score_discount", "extended_by", "init", "update", "policies"),
        "massaged",
    ),
)

Objectives = Objective | Mapping[str, Objective]

StateT = TypeVar("StateT")

# What no machine has the memory for, and a mistyped number soon exceeds.
LARGEST_WIDTH = 16_384  # units of a hidden layer
MOST_EPISODES = 1_000_000  # episodes, environments or steps of one update


class TrainState(Struct):
    """State of a run in progress; subclasses add what they learn.

    Attributes:
        env: the environment; static.
        objectives: pairs (agent, objective), one per trained agent; static.
        params: the environment's parameters.
        fixed: the policies of the agents that are not trained.
        key: raw key data, advanced by every update.
        updates: number of updates done.
    """

    env: Environment = eqx.field(static=True)
    objectives: tuple[tuple[str, Objective], ...] = eqx.field(static=True)
    params: Params
    fixed: dict[str, AnyPolicy]
    key: UInt32[Array, "..."]
    updates: Int[Array, ""]

    def next_key(self) -> tuple[PRNGKeyArray, UInt32[Array, "..."]]:
        """A key for this update, and the raw key of the next."""
        now, later = jax.random.split(jax.random.wrap_key_data(self.key))
        return now, jax.random.key_data(later)

    def with_fixed(self, trained: Mapping[str, AnyPolicy]) -> dict[str, AnyPolicy]:
        """Policies of all agents in acting order: these of the trained ones, and the fixed ones."""
        policies = {**trained, **self.fixed}
        return {agent: policies[agent] for agent in self.env.agents}


@runtime_checkable
class Algorithm(Protocol[StateT]):
    """A frozen dataclass of hyperparameters with these methods; generic in its training state.

    `class Mine(Algorithm[MyState])` takes over what has a default here.

    Attributes:
        extended_by: hyperparameter that sets `num_updates` and changes no update, so that a larger
            value extends a run ("epochs"); empty where there is none, as with a learning rate that
            is annealed over the whole run.
    """

    extended_by: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Raise a FairgymError unless every hyperparameter is in the range that `param` gives."""
        check_params(self)

    @property
    def num_updates(self) -> int:
        """Number of times that `update` is called in a whole run."""
        ...

    @property
    def score_discount(self) -> float:
        """Discount factor of the component sums that the objective acts on; 1 for plain sums.

        A gradient learner's `gamma`, of the rewards of its steps, is another thing.
        """
        return 1.0

    def init(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        *,
        params: Params | None = None,
        fixed: Mapping[str, AnyPolicy] | None = None,
    ) -> StateT:
        """State before the first update.

        Args:
            key: a JAX key; everything random follows from it.
            env: the environment.
            objective: one objective for all, or one per agent (non-cooperative).
            params: the environment's parameters; its defaults if None.
            fixed: policies of agents that are not to be trained.
        """
        ...

    def update(self, state: StateT) -> tuple[StateT, dict[str, Float[Array, ""]]]:
        """One epoch, or a fixed number of gradient steps: the next state, and what to log.

        Compiled. The log is flat, its keys are those of `fairgym.algorithms.log_keys`: what
        `log_episodes` makes, "objective" among it, and whatever else the algorithm reports.
        """
        ...

    def policies(self, state: StateT) -> Mapping[str, AnyPolicy]:
        """Policies of all agents, learned so far or fixed, by name of agent."""
        ...

    def massaged(
        self,
        env: Environment,
        params: Params,
        policies: Mapping[str, AnyPolicy],
        trained_in: Environment,
        updates: int,
    ) -> tuple[Environment, dict[str, AnyPolicy]]:
        """Policies with action massaging, and an environment with what they then look at.

        Args:
            env: the environment to act in.
            params: its parameters.
            policies: agent -> policy.
            trained_in: the environment of the training.
            updates: number of updates that were made.

        Raises:
            FairgymError: it does not massage actions, or did not come to it.
        """
        raise FairgymError("massage takes one of f-ppo that was trained with it")


class Started(Algorithm[StateT]):
    """An algorithm whose `init` begins with the fields that every state has."""

    def init(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        *,
        params: Params | None = None,
        fixed: Mapping[str, AnyPolicy] | None = None,
    ) -> StateT:
        """State before the first update.

        Arguments as in `Algorithm.init`.

        Raises:
            FairgymError: as `init_fields`, or these agents of the environment cannot be trained.
        """
        return self._start(init_fields(key, env, objective, params, fixed), key)

    def _start(self, fields: dict[str, Any], key: PRNGKeyArray) -> StateT:
        """State before the first update.

        Args:
            fields: fields of `TrainState`, by name.
            key: a JAX key.
        """
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Epochs(Started[StateT]):
    """Hyperparameters of algorithms that learn epoch by epoch."""

    extended_by: ClassVar[str] = "epochs"

    epochs: int = param(40, "Number of epochs of training, each of which is logged.", low=1)
    evaluation_episodes: int = param(
        4,
        "Number of episodes per epoch that measure the learned policy.",
        low=1,
        high=MOST_EPISODES,
    )

    @property
    def num_updates(self) -> int:
        """One update for each epoch."""
        return self.epochs


def init_fields(
    key: PRNGKeyArray,
    env: Environment,
    objective: Objectives,
    params: Params | None = None,
    fixed: Mapping[str, AnyPolicy] | None = None,
) -> dict[str, Any]:
    """Fields of `TrainState` before the first update, by name.

    Arguments as in `Algorithm.init`.

    Raises:
        FairgymError: as `objectives_of`.
    """
    fixed = dict(fixed or {})
    objectives = objectives_of(env, objective, fixed)
    return {
        "env": measuring(env, [own for _, own in objectives]),
        "objectives": objectives,
        "params": as_arrays(env.default_params if params is None else params),
        "fixed": fixed,
        "key": jax.random.key_data(key),
        "updates": jnp.int32(0),
    }


def objectives_of(
    env: Environment, objective: Objectives, fixed: Mapping[str, AnyPolicy]
) -> tuple[tuple[str, Objective], ...]:
    """Pairs (agent, objective) of the trained agents, in acting order.

    Args:
        env: the environment.
        objective: one objective for all trained agents, or one per agent.
        fixed: agents that are not trained -> their policies.

    Raises:
        FairgymError: an unknown agent, a trained agent without an objective, or none to train.
    """
    given = objective if isinstance(objective, Mapping) else dict.fromkeys(env.agents, objective)
    for agent in [*given, *fixed]:
        require_agent(env, agent)
    trained = [agent for agent in env.agents if agent not in fixed]
    missing = [agent for agent in trained if agent not in given]
    if missing or not trained:
        raise FairgymError(
            f"no objective for agent {missing[0]!r}" if missing else "no agent is left to train"
        )
    return tuple((agent, given[agent]) for agent in trained)


def as_arrays(params: Params) -> PyTree:
    """Parameters as arrays of a definite type, the type they have after a first compiled update."""
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x, np.float32)), params)
