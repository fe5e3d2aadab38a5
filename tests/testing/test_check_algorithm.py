"""`check_algorithm` passes what is sound and catches every kind of defect."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from room import Room
from toys import Toy

from fairgym.algorithms import Algorithm, TrainState, algorithms, init_fields
from fairgym.policies import Constant, Function
from fairgym.testing import ConformanceError, check_algorithm


class GuessState(TrainState):
    guess: dict


@dataclasses.dataclass(frozen=True)
class Guess(Algorithm[GuessState]):
    """The smallest algorithm there is: it wanders about."""

    num_updates: int = 3  # pyright: ignore[reportIncompatibleMethodOverride]

    def init(self, key, env, objective, *, params=None, fixed=None):
        fields = init_fields(key, env, objective, params, fixed)
        trained = [agent for agent, _ in fields["objectives"]]
        guess = {agent: env.action_space(agent).sample(key) for agent in trained}
        return GuessState(**fields, guess=guess)

    def update(self, state):
        key, later = state.next_key()
        guess = {
            agent: state.env.action_space(agent).clip(value + jax.random.normal(key, value.shape))
            for agent, value in state.guess.items()
        }
        state = state.replace(guess=guess, key=later, updates=state.updates + 1)
        return state, {"objective": jnp.float32(0.0)}

    def policies(self, state):
        made = {
            agent: Constant(state.env.action_space(agent), np.asarray(value))
            for agent, value in state.guess.items()
        }
        return made | state.fixed


def changed(name, change):
    """`Guess` with the result of one method changed: `change(result, self, *arguments)`."""

    def method(self, *arguments, **named):
        return change(getattr(Guess, name)(self, *arguments, **named), self, *arguments)

    return type("Changed", (Guess,), {name: method})()


def replaced(**changes):
    def change(result, *_):
        state, log = result
        return state.replace(**{k: f(state) for k, f in changes.items()}), log

    return change


def logged(entries):
    """Changes the log: `entries(log, updates)`."""
    return lambda result, *_: (result[0], entries(result[1], int(result[0].updates)))


class Counter(eqx.Module):
    """A policy with something that is no array."""

    count: int


BROKEN = {
    "no updates": (Guess(num_updates=0), "num_updates must be a whole number from 1, got 0"),
    "randomness from elsewhere": (
        changed(
            "update",
            replaced(
                guess=lambda s: (
                    s.guess
                    | {"level": s.guess["level"] * np.float32(np.random.default_rng().uniform())}
                )
            ),
        ),
        "two runs with one key.*guess",
    ),
    "a dtype changes": (
        changed("update", replaced(updates=lambda s: s.updates.astype(jnp.float32))),
        r"updates is int32\[\] first and float32\[\] later",
    ),
    "something that is no array changes": (
        changed("update", replaced(fixed=lambda s: {"count": s.fixed.get("count", 0) + 1})),
        "the static part of the state has changed",
    ),
    "no objective": (
        changed("update", logged(lambda log, _: {"loss": jnp.float32(1.0)})),
        "the log must have 'objective'",
    ),
    "not a number": (
        changed("update", logged(lambda log, _: log | {"loss": jnp.float32(jnp.nan)})),
        "log entry 'loss' must be one finite number, got nan",
    ),
    "a vector": (
        changed("update", logged(lambda log, _: log | {"loss": jnp.zeros(2)})),
        "log entry 'loss' must be one finite number, got .0",
    ),
    "entries come and go": (
        changed("update", logged(lambda log, updates: log | {f"loss{updates}": jnp.zeros(())})),
        "loss",
    ),
    "a missing policy": (
        changed("policies", lambda made, *_: {k: v for k, v in made.items() if k != "rank"}),
        "policies must be of the agents",
    ),
    "an action outside": (
        changed(
            "policies",
            lambda made, *_: made | {"level": Function(lambda observation, key: jnp.full(2, 1.5))},
        ),
        "the policy of agent 'level' has an action outside its space",
    ),
    "an action of another shape": (
        changed(
            "policies",
            lambda made, *_: made | {"level": Function(lambda observation, key: jnp.zeros(3))},
        ),
        r"agent 'level' has an action outside its space: shape \(3,\)",
    ),
    "fixed agents learn": (
        changed(
            "policies",
            lambda made, self, state: {
                agent: Constant(state.env.action_space(agent), 0.5) if agent == "split" else policy
                for agent, policy in made.items()
            },
        ),
        "agent 'split' was fixed, but has changed",
    ),
}


class Annealed(Guess):
    """A guess that wanders less the longer the whole run is, and yet says that it can go on."""

    extended_by = "num_updates"

    def update(self, state):
        after, log = super().update(state)
        guess = after.guess | {"level": after.guess["level"] / self.num_updates}
        return after.replace(guess=guess), log


class Longer(Guess):
    """An algorithm that is extended by what it does not have."""

    extended_by = "epochs"


BROKEN["a longer run differs"] = (Annealed(), "through a checkpoint and with more num_updates")
BROKEN["extended by nothing"] = (Longer(), "extended_by must be the name of a hyperparameter")


@dataclasses.dataclass(frozen=True)
class Stranger:
    """An algorithm that does not derive from `Algorithm`, and forgets what has a default there."""

    num_updates: int = 3  # pyright: ignore[reportIncompatibleMethodOverride]
    init, update, policies = Guess.init, Guess.update, Guess.policies


def test_a_missing_member_is_named():
    with pytest.raises(
        ConformanceError, match="Stranger on toy: members are missing: score_discount"
    ):
        check_algorithm(Stranger(), Toy())


def test_a_sound_algorithm_passes():
    check_algorithm(Guess(), Toy(), updates=3)


@pytest.mark.parametrize("defect", BROKEN)
def test_each_defect_is_caught(defect):
    algorithm, message = BROKEN[defect]
    with pytest.raises(ConformanceError, match=message):
        check_algorithm(algorithm, Toy())


ENV = Toy(population=6, horizon=3, places=3, seats=1)


@pytest.mark.full
def test_f_macem_passes():
    learner = algorithms.get("f-macem")(
        epochs=2, episodes_per_epoch=4, hidden=2, evaluation_episodes=2
    )
    check_algorithm(learner, ENV)


def test_grid_search_passes():
    searcher = algorithms.get("grid-search")(steps=3, deviation_steps=3, episodes=1)
    check_algorithm(searcher, Room(horizon=3))
