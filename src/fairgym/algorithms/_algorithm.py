"""The interface of algorithms, which lets one training loop serve all of them."""

import dataclasses
import warnings
from collections.abc import Iterable, Mapping
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

# Far more than fits in memory: catches mistyped numbers early.
LARGEST_WIDTH = 16_384  # units of a hidden layer
MOST_EPISODES = 1_000_000  # episodes, environments or steps of one update


class TrainState(Struct):
    """State of a training run; subclasses add what they learn.

    Attributes:
        env: The environment; static.
        objectives: Pairs (agent, objective), one per trained agent; static.
        params: The environment's parameters.
        fixed: Policies of the agents that are not trained, by name.
        key: Raw key data, advanced by every update.
        updates: Number of updates so far.
    """

    env: Environment = eqx.field(static=True)
    objectives: tuple[tuple[str, Objective], ...] = eqx.field(static=True)
    params: Params
    fixed: dict[str, AnyPolicy]
    key: UInt32[Array, "..."]
    updates: Int[Array, ""]

    def next_key(self) -> tuple[PRNGKeyArray, UInt32[Array, "..."]]:
        """Return a key for this update, and the raw key of the next update."""
        now, later = jax.random.split(jax.random.wrap_key_data(self.key))
        return now, jax.random.key_data(later)

    def with_fixed(self, trained: Mapping[str, AnyPolicy]) -> dict[str, AnyPolicy]:
        """Return the policies of all agents in acting order: the given ones and the fixed ones.

        Args:
            trained: Trained agent -> policy.
        """
        policies = {**trained, **self.fixed}
        return {agent: policies[agent] for agent in self.env.agents}


@runtime_checkable
class Algorithm(Protocol[StateT]):
    """A frozen dataclass of hyperparameters with these methods; generic in its training state.

    `class Mine(Algorithm[MyState])` inherits the defaults given here.

    Attributes:
        extended_by: Hyperparameter that sets `num_updates` and does not change any update, so that
            a larger value extends a finished run ("epochs"). Empty if there is none, for example
            because the learning rate is annealed over the whole run.
        constants: Real hyperparameters that decide which operations an update has, so that it is
            compiled for each of their values. All others share a program.
    """

    extended_by: ClassVar[str] = ""
    constants: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Raise a FairgymError unless every hyperparameter is in the range given by `param`."""
        check_params(self)

    @property
    def num_updates(self) -> int:
        """Number of calls of `update` in a whole run."""
        ...

    @property
    def score_discount(self) -> float:
        """Discount factor of the component sums that the objective scores; 1 for plain sums.

        It is not the `gamma` of gradient learners, which discounts step rewards.
        """
        return 1.0

    def steps_per_update(self, env: Environment) -> int:
        """Return the environment steps of an update if no episode ends early; 0 if unknown.

        The benchmark sets the length of training by it (`fairgym benchmark`).

        Args:
            env: The environment.
        """
        return 0

    def init(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        *,
        params: Params | None = None,
        fixed: Mapping[str, AnyPolicy] | None = None,
    ) -> StateT:
        """Return the state before the first update.

        Args:
            key: A JAX key, the only source of randomness.
            env: The environment.
            objective: One objective for all agents, or one per agent (non-cooperative).
            params: The environment's parameters; its defaults if None.
            fixed: Policies of the agents that are not trained.
        """
        ...

    def update(self, state: StateT) -> tuple[StateT, dict[str, Float[Array, ""]]]:
        """Run one epoch, or a fixed number of gradient steps; return the next state and the log.

        Compiled. The log is a flat dictionary with the keys of `fairgym.algorithms.log_keys`: all
        keys of `log_episodes` ("objective" among them), and whatever else the algorithm reports.
        """
        ...

    def policies(self, state: StateT) -> Mapping[str, AnyPolicy]:
        """Return the current policies of all agents, trained and fixed, by name of agent."""
        ...

    def massaged(
        self,
        env: Environment,
        params: Params,
        policies: Mapping[str, AnyPolicy],
        trained_in: Environment,
        updates: int,
    ) -> tuple[Environment, dict[str, AnyPolicy]]:
        """Return the environment and the policies with action massaging.

        The environment holds the measure state that massaging needs.

        Args:
            env: The environment to act in.
            params: Its parameters.
            policies: Agent -> policy.
            trained_in: The environment of the training.
            updates: Number of updates so far.

        Raises:
            FairgymError: The algorithm does not massage actions, or training ended before the first
                massaged round.
        """
        raise FairgymError("massage needs a run of f-ppo that was trained with massaging")


class Started(Algorithm[StateT]):
    """Base of algorithms whose training state extends the fields of `TrainState`."""

    def init(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        *,
        params: Params | None = None,
        fixed: Mapping[str, AnyPolicy] | None = None,
    ) -> StateT:
        """Return the state before the first update.

        Arguments are those of `Algorithm.init`.

        Raises:
            FairgymError: As for `init_fields`, or the algorithm cannot train these agents.
        """
        fields = init_fields(key, env, objective, params, fixed)
        _warn_of_discount(getattr(self, "gamma", 1.0), [own for _, own in fields["objectives"]])
        return self._start(fields, key)

    def _start(self, fields: dict[str, Any], key: PRNGKeyArray) -> StateT:
        """Return the state before the first update.

        Args:
            fields: Fields of `TrainState`, by name.
            key: A JAX key.
        """
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Epochs(Started[StateT]):
    """Base of algorithms that train in epochs, with their shared hyperparameters."""

    extended_by: ClassVar[str] = "epochs"

    epochs: int = param(40, "Number of training epochs; each is logged.", low=1)
    evaluation_episodes: int = param(
        4,
        "Evaluation episodes of the learned policy in each epoch.",
        low=1,
        high=MOST_EPISODES,
    )

    @property
    def num_updates(self) -> int:
        """Number of updates: one per epoch."""
        return self.epochs


def _warn_of_discount(gamma: float, objectives: Iterable[Objective]) -> None:
    """Warn if discounted step rewards do not add up to the score of a weighted scheme.

    The rewards of a scheme are the changes of its score. Discounted, they favour early changes,
    and weigh the final score by gamma^T only.
    """
    schemes = {n: one for o in objectives for n, one in o.weighed_schemes.items()}
    names = [repr(name) for name, scheme in schemes.items() if not scheme.reward_like]
    if gamma < 1.0 and names:
        warnings.warn(
            f"gamma is {gamma:g}, but the rewards of {', '.join(names)} are changes of a score,"
            " which add up to it only with gamma 1: a learner with a lower gamma does not maximise"
            " the score (schemes that sum over steps, such as anytime, are not affected)",
            stacklevel=4,
        )


def init_fields(
    key: PRNGKeyArray,
    env: Environment,
    objective: Objectives,
    params: Params | None = None,
    fixed: Mapping[str, AnyPolicy] | None = None,
) -> dict[str, Any]:
    """Return the fields of `TrainState` before the first update, by name.

    Arguments are those of `Algorithm.init`.

    Raises:
        FairgymError: As for `objectives_of`.
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
    """Return pairs (agent, objective) of the trained agents, in acting order.

    Equal objectives are one object.

    Args:
        env: The environment.
        objective: One objective for all trained agents, or one per agent.
        fixed: Agent that is not trained -> its policy.

    Raises:
        FairgymError: Unknown agent, trained agent without an objective, or no agent to train.
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
    same: dict[Objective, Objective] = {}
    return tuple((agent, same.setdefault(given[agent], given[agent])) for agent in trained)


def as_arrays(params: Params) -> PyTree:
    """Return parameters as float32 arrays, the type that they have after a compiled update."""
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x, np.float32)), params)
