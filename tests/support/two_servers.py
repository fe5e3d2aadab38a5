"""A system without people: two queues of jobs, which a router shares its capacity between."""

import dataclasses
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import fairgym
from fairgym import core
from fairgym.fairness import Direct, Disparity, Rate


class Demand(core.Params):
    arrivals: Float[Array, ""] = core.param(2.0, description="mean jobs per queue", unit="jobs")


class Queues(core.State):
    waiting: Float[Array, " groups"]


class Jobs(core.Components):
    waiting: Float[Array, ""] = core.component("jobs left waiting", unit="jobs")
    arrived: Float[Array, " groups"] = core.component("jobs arrived", unit="jobs", per="group")
    served: Float[Array, " groups"] = core.component("jobs served", unit="jobs", per="queue")


@fairgym.register_environment("two_servers")
@dataclasses.dataclass(frozen=True)
class TwoServers(core.Environment):
    name: ClassVar[str] = "two_servers"

    horizon: int = 6

    @cached_property
    def spec(self) -> core.EnvironmentSpec:
        """What is declared."""
        return core.EnvironmentSpec(
            agents=("router",),
            groups=("left", "right"),
            components=Jobs,
            metrics=self._metrics,
            group_word="queue",
            time_unit="minutes",
            baselines={"only_left": {"router": 1.0}, "random": {"router": "random"}},
        )

    @property
    def default_params(self):
        return Demand()

    @property
    def _metrics(self):
        served = Rate("served", "arrived")
        waiting = Direct("waiting", normaliser=10.0, sign=-1)
        return {"waiting": waiting, "served_rate": served, "served_gap": Disparity(served)}

    @cached_property
    def _spaces(self):
        return core.EntitySpace(2, (core.Feature("waiting", 0, 10),)), core.Unit(("left",))

    def observation_space(self, agent):
        return self._spaces[0]

    def action_space(self, agent):
        return self._spaces[1]

    def initial_state(self, key, params):
        return Queues(time=jnp.int32(0), waiting=jnp.zeros((2,)))

    def observe(self, state, params):
        rows = {"waiting": state.waiting}
        return {"router": self._spaces[0].view(rows, jnp.ones((2,), bool))}

    def noise(self, key, params):
        jobs = jax.random.uniform(key, (2, 8)) < params.arrivals / 8
        return jnp.sum(jobs, axis=1).astype(jnp.float32)

    def transition(self, noise, state, actions, params):
        left = actions["router"][0]
        there = state.waiting + noise
        served = jnp.minimum(there, 4.0 * jnp.stack([left, 1.0 - left]))
        waiting = there - served
        components = Jobs(waiting=jnp.sum(waiting), arrived=noise, served=served)
        after = state.replace(time=state.time + 1, waiting=waiting)
        return after, components, jnp.array(False)
