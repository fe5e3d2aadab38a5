"""Exact planning of fairness schemes in small systems, by dynamic programming.

A scheme makes the best action depend on history (Alamdari et al. 2024). Here history is kept as the
state of the scheme, of which a small system reaches few in an episode. The best policy is the
reference for learners, and the policy that looks one step ahead shows whether foresight matters.
"""

import functools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from fairgym.core import FairgymError
from fairgym.fairness.schemes import Scheme, SchemeState

MOST_TRANSITIONS = 5_000_000
TIE = 1e-6  # relative difference up to which two gains count as equal


@runtime_checkable
class Model(Protocol):
    """A small system: finitely many states, options and outcomes. States are hashable."""

    @property
    def horizon(self) -> int:
        """Number of steps of an episode."""
        ...

    def start(self) -> Mapping[Any, float]:
        """Return the probability of each first state."""
        ...

    def outcomes(
        self, state: Any, time: int
    ) -> Sequence[tuple[Sequence[float], Mapping[Any, float]]]:
        """Return what each option leads to: the amounts of each stakeholder, and the next states.

        Args:
            state: The state.
            time: Number of steps so far.

        Returns:
            For each option the entries of the component, and the probability of each next state.
        """
        ...


class _Layer(NamedTuple):
    """All that can be reached at one time.

    Attributes:
        pairs: Number of pairs (state, history).
        option: Transitions, in order: number of the pair, number of the option.
        gain: Gain of the scheme in each transition.
        following: Next pairs of each transition and their probabilities, as rows (transition, pair,
            probability).
    """

    pairs: int
    option: Int[np.ndarray, "transitions two"]
    gain: Float[np.ndarray, " transitions"]
    following: Float[np.ndarray, "outcomes three"]


def best_score(model: Model, scheme: Scheme, component: Any, *, foresight: bool = True) -> float:
    """Return the largest expected score of an episode.

    Args:
        model: The system.
        scheme: Any scheme of one component.
        component: Function from an array of amounts, one per stakeholder, to the components.
        foresight: Whether the policy is the best one. If False, it takes the option with the
            largest gain in the step itself, the first of several.

    Raises:
        FairgymError: If more than 5,000,000 transitions can be reached.
    """
    layers, weights = _layers(model, scheme, component)
    value = np.zeros(len(weights[-1]))
    for layer in reversed(layers):
        ahead = np.zeros(len(layer.gain))
        transition, pair = layer.following[:, 0].astype(int), layer.following[:, 1].astype(int)
        np.add.at(ahead, transition, layer.following[:, 2] * value[pair])
        worth = layer.gain + ahead
        by = worth if foresight else layer.gain
        value = np.zeros(layer.pairs)
        # options of a pair are in order, and its transitions are together
        starts = np.flatnonzero(np.diff(layer.option[:, 0], prepend=-1))
        for first, last in zip(starts, [*starts[1:], len(by)], strict=True):
            own = by[first:last]
            chosen = first + int(np.argmax(own >= own.max() - TIE * max(1.0, abs(own.max()))))
            value[layer.option[first, 0]] = worth[chosen]
    return float(np.dot(weights[0], value))


def _layers(model: Model, scheme: Scheme, component: Any) -> tuple[list[_Layer], list[np.ndarray]]:
    """Return what can be reached at each time, and the probabilities of the first pairs."""
    start, states = model.start(), None
    first = next(iter(start))
    like = component(jnp.zeros(len(model.outcomes(first, 0)[0][0])))
    history = jax.tree.map(lambda x: np.asarray(x)[None], scheme.initial(like))
    pairs: list[tuple[Hashable, int]] = [(state, 0) for state in start]
    step, reached, layers = _step(scheme, component), 0, []
    for time in range(model.horizon):
        states, option, amounts, after = pairs, [], [], []
        for number, (state, past) in enumerate(states):
            for place, (amount, nexts) in enumerate(model.outcomes(state, time)):
                option.append((number, place))
                amounts.append((past, *amount))
                after.append(nexts)
        reached += len(option)
        if reached > MOST_TRANSITIONS:
            raise FairgymError(
                f"the system must have at most {MOST_TRANSITIONS:,} transitions, got more after"
                f" {time + 1} of {model.horizon} steps"
            )
        # each pair of a history and amounts once
        distinct, of_row = np.unique(np.array(amounts, np.float32), axis=0, return_inverse=True)
        found, gains = step(history, distinct)
        history, merged = _distinct(found)
        merged, of_row = merged[of_row.reshape(-1)], of_row.reshape(-1)
        number_of: dict[tuple[Hashable, int], int] = {}
        following = []
        for transition, nexts in enumerate(after):
            for state, chance in nexts.items():
                place = number_of.setdefault((state, int(merged[transition])), len(number_of))
                following.append((transition, place, chance))
        layers.append(
            _Layer(len(states), np.array(option), gains[of_row], np.array(following, np.float64))
        )
        pairs = list(number_of)
    return layers, [np.array(list(start.values())), np.zeros(len(pairs))]


def _step(scheme: Scheme, component: Any) -> Any:
    """Return a function of several histories and amounts: histories after a step, and gains."""

    @jax.jit
    @jax.vmap
    def one(before: SchemeState, amounts: Array) -> tuple[SchemeState, Array]:
        after = scheme.update(before, component(amounts))
        gain = scheme.gain(before, after)
        if scheme.reward_like:  # neither the sum so far nor whether there is one matters afterwards
            after = after.replace(extended=before.extended, counts=jnp.zeros_like(after.counts))
        return after, gain

    def several(history: PyTree, rows: np.ndarray) -> tuple[PyTree, np.ndarray]:
        past = rows[:, 0].astype(int)
        size = len(rows)
        room = 1 << (size - 1).bit_length()  # few sizes, so that few programs are compiled
        padded = np.concatenate([past, np.zeros(room - size, int)])
        amounts = np.zeros((room, rows.shape[1] - 1), np.float32)
        amounts[:size] = rows[:, 1:]
        after, gains = one(jax.tree.map(lambda x: x[padded], history), amounts)
        cut = functools.partial(jax.tree.map, lambda x: np.asarray(x)[:size])
        return cut(after), np.asarray(gains, np.float64)[:size]

    return several


def _distinct(history: PyTree) -> tuple[PyTree, Int[np.ndarray, " rows"]]:
    """Return the distinct rows of a history, and the number of each row among them."""
    leaves = [np.asarray(x, np.float64).reshape(len(x), -1) for x in jax.tree.leaves(history)]
    _, first, number = np.unique(
        np.concatenate(leaves, axis=1), axis=0, return_index=True, return_inverse=True
    )
    return jax.tree.map(lambda x: x[first], history), number.reshape(-1)
