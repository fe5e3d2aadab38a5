"""Learners whose reward depends on history, against NumPy and a welfare optimum by hand."""

import dataclasses
from functools import cached_property
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float
from learners import learner
from room import Room

from fairgym.algorithms import algorithms, fixed_actions, initial_rollout_states
from fairgym.core import Components, EntitySpace, Feature, Shares, State, component
from fairgym.fairness import Direct, Full, Nash, Objective, Scheme
from fairgym.wrappers import Augmented, augmented

KEY = jax.random.key(0)


class Heat(Components):
    """The heat that went to each room."""

    heat: Float[Array, " rooms"] = component("heat", unit="kWh", per="group")


@dataclasses.dataclass(frozen=True)
class Stove(Room):
    """One stove for two rooms, twice as warm for the first; and somebody who does nothing."""

    SEEN: ClassVar = EntitySpace(1, (Feature("constant"),))
    SPLIT: ClassVar = Shares((("first", "second"),))

    horizon: int = 4

    @cached_property
    def spec(self):
        return dataclasses.replace(
            super().spec,
            agents=("heater", "guest"),
            groups=("first", "second"),
            components=Heat,
            metrics={"heat": Direct("heat")},
            terms=(),
            schemes={"course": Scheme.anytime(Full("heat"), Nash())},
        )

    def observation_space(self, agent):
        return self.SEEN

    def action_space(self, agent):
        return self.SPLIT

    def initial_state(self, key, params) -> Any:
        return State(time=jnp.int32(0))

    def observe(self, state, params):
        seen = self.SEEN.view({"constant": jnp.ones(1)}, jnp.array([True]))
        return dict.fromkeys(self.agents, seen)

    def transition(self, noise, state, actions, params) -> Any:
        heat = actions["heater"] * jnp.array([2.0, 1.0])
        return State(time=state.time + 1), Heat(heat=heat), jnp.array(False)


class Alternating(eqx.Module):
    """All for the first, then all for the second, and so on: a policy that counts."""

    def initial(self):
        return jnp.int32(0)

    def __call__(self, observation, key, hidden):
        return jnp.array([1.0 - hidden, hidden]).astype(jnp.float32), 1 - hidden


ENV = Stove()


def test_rewards_of_running_environments_are_gains_of_the_episode():
    """A fold in NumPy that begins anew with every episode; the heater itself is not trained."""
    some = learner("f-mappo")
    objective = Objective(ENV.metrics, {"course": 2.0}, schemes=ENV.spec.schemes)
    state = some.init(KEY, ENV, objective, fixed={"heater": Alternating()})
    rollout = jax.tree.map(lambda x: x[0], state.rollouts)

    @jax.jit
    def step(rollout, key):
        seen = state.env.observe(rollout.state, state.params)
        actions, hidden = fixed_actions(state.env, state.fixed, seen, key, rollout)
        actions = actions | {"guest": jnp.array([0.5, 0.5])}
        rollout, end, rewards = state.step(rollout, actions, hidden, key, 0.0)
        return rollout, end.components.heat, rewards

    had, total = np.zeros(2), []
    for number in range(10):
        if number % 4 == 0:
            had = np.zeros(2)
        rollout, heat, rewards = step(rollout, jax.random.fold_in(KEY, number))
        np.testing.assert_array_equal(heat, [[2.0, 0.0], [0.0, 1.0]][number % 2])
        had += np.asarray(heat)
        # rewards are those of T steps like this one, as direct rewards are
        assert rewards.shape == (1,)
        assert float(rewards[0]) == pytest.approx(2.0 * 4 * np.log(had + 1).sum(), rel=1e-5)
        total.append(had.copy())
    assert len({tuple(x) for x in total}) == 4


def test_rollout_states_are_stacked_and_empty_without_schemes():
    keys = jax.random.split(KEY, 3)
    objectives = (("heater", Objective.direct(ENV)),)
    rollout = initial_rollout_states(ENV, ENV.default_params, objectives, {}, keys)
    assert rollout.scheme_states == ({},) and rollout.hidden == {}
    objectives = (("heater", Objective(ENV.metrics, {"course": 1.0}, schemes=ENV.spec.schemes)),)
    rollout = initial_rollout_states(
        ENV, ENV.default_params, objectives, {"guest": Alternating()}, keys
    )
    assert rollout.scheme_states[0]["course"].status.value.shape == (3, 2) and rollout.hidden[
        "guest"
    ].shape == (3,)


LEARNERS = {
    "f-macem": {"epochs": 12, "episodes_per_epoch": 40, "hidden": 2, "evaluation_episodes": 1},
    "f-mappo": {
        "epochs": 12,
        "episodes_per_epoch": 64,
        "num_envs": 8,
        "num_steps": 16,
        "learning_rate": 0.05,
        "hidden": 4,
        "critic_hidden": 4,
        "evaluation_episodes": 1,
    },
}


@pytest.mark.full
@pytest.mark.parametrize("name", LEARNERS)
def test_the_welfare_optimum_is_learned(name):
    """log(1 + 2Ts) + log(1 + T(1 - s)) is largest at s = (1 + 2T) / 4T: 9/16, all heat at s = 1.

    F-MAPPO sees what the rooms have had.
    """
    some = algorithms.get(name)(**LEARNERS[name])
    env = augmented(ENV, Full("heat")) if name == "f-mappo" else ENV
    state = some.init(KEY, env, Objective.named(env, "nash:heat"), fixed={"guest": Alternating()})
    assert isinstance(state.env, Augmented) == (name == "f-mappo")  # the scheme stands inside
    log = {}
    for _ in range(some.num_updates):
        state, log = some.update(state)
    best = np.log(1 + 8 * 9 / 16) + np.log(1 + 4 * 7 / 16)
    assert float(log["metrics/nash:heat"]) == pytest.approx(best, abs=0.02)
    assert float(log["actions/heater/first"]) == pytest.approx(9 / 16, abs=0.08)
    scheme = state.env.spec.schemes["nash:heat"]
    assert float(log["objective"]) == pytest.approx(
        float(log["metrics/nash:heat"]) / scheme.normaliser, rel=1e-5
    )
    assert {"metrics/course", "terms/scheme"} <= set(log)
