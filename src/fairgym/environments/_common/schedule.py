"""Amounts that fall due later: scheduled payments, and building projects until they open."""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from fairgym.core.params import Number
from fairgym.core.struct import Struct


class Schedule(Struct):
    """Amounts by the step in which they are due.

    Attributes:
        amounts: One column per step. The last column holds amounts due after the end.
    """

    amounts: Float[Array, "*places steps"]

    @classmethod
    def empty(cls, steps: int, places: Sequence[int] = ()) -> "Schedule":
        """Return an empty schedule for steps 0 to `steps` - 1 and after, at each place."""
        return cls(jnp.zeros((*places, steps + 1), jnp.float32))

    def due(self, now: Int[Array, ""]) -> Float[Array, "*places"]:
        """Return the amount due in step `now`; 0 after the last step."""
        found = lax.dynamic_index_in_dim(self.amounts, now, axis=-1, keepdims=False)
        return jnp.where(now < self.amounts.shape[-1] - 1, found, 0.0)

    def add(self, at: Int[Array, "*at"], amount: Float[Array, "*places"]) -> "Schedule":
        """Add an amount that is due in a step: one step for all places, or one for each."""
        rows = self.amounts.reshape(-1, self.amounts.shape[-1])
        step = jnp.broadcast_to(
            jnp.minimum(at, rows.shape[1] - 1), self.amounts.shape[:-1]
        ).reshape(-1)
        rows = rows.at[jnp.arange(rows.shape[0]), step].add(amount.reshape(-1))
        return Schedule(rows.reshape(self.amounts.shape))

    def add_from(self, start: Int[Array, ""], amounts: Float[Array, "*places steps"]) -> "Schedule":
        """Add amounts that are due in steps `start`, `start` + 1, ..., all within the schedule."""
        found = lax.dynamic_slice_in_dim(self.amounts, start, amounts.shape[-1], axis=-1)
        return Schedule(
            lax.dynamic_update_slice_in_dim(self.amounts, found + amounts, start, axis=-1)
        )


class Construction(Struct):
    """Places (regions, a campus) that build units (beds, lecture halls) from a fund.

    Money that does not pay for a whole unit stays in the fund (MAFE, appendix G, "Cost of" and
    "Time to Build Hospital Infrastructure").

    Attributes:
        fund: Dollars saved for the next project of each place.
        openings: Units by the step in which they open.
    """

    fund: Float[Array, " places"]
    openings: Schedule

    @classmethod
    def at_start(cls, places: int, steps: int) -> "Construction":
        """Return empty funds with nothing under construction; `steps` is the horizon."""
        return cls(jnp.zeros((places,), jnp.float32), Schedule.empty(steps, (places,)))

    def opened(self, now: Int[Array, ""]) -> Float[Array, " places"]:
        """Return the units that open in step `now`."""
        return self.openings.due(now)

    def invest(
        self,
        money: Float[Array, " places"],
        now: Int[Array, ""],
        *,
        base_cost: Number,
        unit_cost: Number,
        base_time: Number,
        unit_time: Number,
    ) -> "Construction":
        """Pay money in, and begin a project wherever the fund can pay for at least one unit.

        A project of n units costs base_cost + n unit_cost dollars and opens after
        base_time + n unit_time steps, rounded up, at least one. Each of the four is one number
        for all places or one for each.
        """
        fund = self.fund + money
        units = jnp.floor(jnp.maximum(fund - base_cost, 0.0) / unit_cost)
        cost = jnp.where(units > 0.0, base_cost + units * unit_cost, 0.0)
        # clip as a float: a project of a million units must not overflow the integer step
        wait = base_time + units * unit_time
        wait = jnp.ceil(wait - 1e-6 * wait)  # so that a rounded 52.00001 stays 52 steps
        wait = jnp.clip(wait, 1.0, 1e6).astype(jnp.int32)
        return Construction(jnp.maximum(fund - cost, 0.0), self.openings.add(now + wait, units))
