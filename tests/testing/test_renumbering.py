"""People are numbered differently by the axes that are declared, not by lengths."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Int
from toys import Toy, ToyState

from fairgym.core import Struct, person_index
from fairgym.testing import ConformanceError
from fairgym.testing._compare import Case
from fairgym.testing._population import numbering, renumbered


def test_renumbering_moves_people_and_relabels_references():
    env = Toy()
    state = env.initial_state(jax.random.key(0), env.default_params)
    order = np.random.default_rng(0).permutation(12)
    moved = renumbered(state, order)
    assert isinstance(moved, ToyState)
    np.testing.assert_array_equal(moved.skill, state.skill[order])
    # the queue holds the same people under their new numbers
    np.testing.assert_array_equal(moved.skill[moved.queue], state.skill[state.queue])
    np.testing.assert_array_equal(moved.queued, state.queued)
    back = renumbered({"s": [moved]}, np.argsort(order))["s"][0]
    assert jax.tree.all(jax.tree.map(lambda a, b: jnp.array_equal(a, b), back, state))


def test_unused_references_stay_as_they_are():
    env = Toy()
    state = env.initial_state(jax.random.key(0), env.default_params)
    state = state.replace(queue=jnp.array([0, 1, -1, 12, 2]))
    order = np.roll(np.arange(12), 1)  # new number 0 is old 11: everybody moves up by one
    np.testing.assert_array_equal(renumbered(state, order).queue, [1, 2, -1, 12, 3])


class Village(Struct):
    """Three people; every axis is three long."""

    wealth: Float[Array, " people"]
    harvest: Float[Array, " months"]
    history: Float[Array, "months people"]
    loans: Float[Array, "... people"]
    skills: dict[str, Float[Array, " people"]]
    prices: dict[str, Float[Array, " goods"]]
    pair: tuple[Float[Array, " people"], Float[Array, " goods"]]
    guests: Float[Array, " people"] | None
    nobody: Float[Array, " people"] | None
    total: Any
    friend: Int[Array, " people"] = person_index()


class TestAxesAsLongAsThePopulation:
    """By their names alone it is known which of them are people."""

    order = np.array([2, 0, 1])

    def test_only_people_are_reordered(self):
        row, table = jnp.arange(3.0), jnp.arange(9.0).reshape(3, 3)
        village = Village(
            wealth=row,
            harvest=row,
            history=table,
            loans=jnp.stack([table, table]),
            skills={"trade": row},
            prices={"bread": row},
            pair=(row, row),
            guests=row,
            nobody=None,
            total=jnp.float32(3.0),
            friend=jnp.array([1, 2, 0]),
        )
        moved = renumbered(village, self.order)
        people = [moved.wealth, moved.skills["trade"], moved.pair[0], moved.guests]
        assert all(column.tolist() == [2.0, 0.0, 1.0] for column in people)
        others = [moved.harvest, moved.prices["bread"], moved.pair[1]]
        assert all(column.tolist() == [0.0, 1.0, 2.0] for column in others)
        np.testing.assert_array_equal(moved.history, table[:, self.order])
        np.testing.assert_array_equal(moved.loans, jnp.stack([table[:, self.order]] * 2))
        assert moved.nobody is None and float(moved.total) == 3.0
        # old 2, now 0, is a friend of old 0, now 1; and so on round the table
        assert moved.friend.tolist() == [1, 2, 0]

    def test_a_system_with_such_an_axis_passes(self):
        """Twelve seasons for twelve people: the season's number means something."""

        class SeasonState(ToyState):
            weather: Float[Array, " seasons"] = eqx.field(default_factory=lambda: jnp.zeros(12))

        class Seasons(Toy):
            def initial_state(self, key, params):
                state = super().initial_state(key, params)
                fields = {name: getattr(state, name) for name in vars(state)}
                return SeasonState(**fields, weather=jnp.arange(12.0))

            def transition(self, noise, state: Any, actions, params):
                weather = state.weather[state.time]
                state, components, ended = super().transition(noise, state, actions, params)
                return state, components.replace(gain=components.gain + weather), ended

        env = Seasons(population=12)
        numbering(Case(env, env.default_params, jax.random.key(0), 5, {}))

    @pytest.mark.parametrize("value", [np.zeros(3), {"a": np.zeros(3)}, (np.zeros(3),)])
    def test_axes_have_to_be_declared(self, value):
        with pytest.raises(ConformanceError, match="is an array without declared axes"):
            renumbered(value, self.order)

    def test_a_field_of_any_type_declares_nothing(self):
        class Loose(Struct):
            column: Any

        with pytest.raises(ConformanceError, match=r"Loose\.column is an array without declared"):
            renumbered(Loose(jnp.zeros(3)), self.order)
