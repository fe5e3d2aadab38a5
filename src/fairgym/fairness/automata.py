"""Automata: status functions that need only a finite memory.

After Alamdari et al. (2024), section 5.1. A status function U with finitely many values is
*value-regular* if, for each value v, a finite automaton accepts exactly the traces with U = v
(definition 5.3). The product of these automata is then a memory that determines U (theorem 5.4:
`of_values`, `Product`). Conversely, if U is a function of a finite state and memory, it is
value-regular (theorem 5.5: `of_states`).

A letter of the alphabet A x S is an action and the state that it led to, numbered from 0.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Counts, Environment, FairgymError, Feature, check_shape

Word = tuple[int, ...]
LARGEST = 10_000
MOST_WORDS = 10_000_000


@dataclasses.dataclass(frozen=True)
class Automaton:
    """Deterministic finite automaton (Q, Sigma, delta, q0, Acc).

    Attributes:
        transitions: Transition function delta: the next state by letter, for each state.
        start: Initial state q0.
        accepting: Accepting states Acc, in increasing order.

    Examples:
        >>> from fairgym.fairness.automata import Automaton
        >>> even = Automaton(transitions=((0, 1), (1, 0)), start=0, accepting=(0,))
        >>> even.accepts((1, 0, 1)), even.accepts((1, 0, 0))
        (True, False)
    """

    transitions: tuple[tuple[int, ...], ...]
    start: int
    accepting: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check that all states exist, and that every state has a transition for every letter."""
        states = range(len(self.transitions))
        letters = {len(row) for row in self.transitions}
        named = {self.start, *self.accepting, *itertools.chain(*self.transitions)}
        if len(letters) != 1 or not named <= set(states):
            raise FairgymError(
                "an automaton must have rows of one length and states from 0 to"
                f" {len(states) - 1}, got rows of the lengths {sorted(letters)} and the states"
                f" {sorted(named)}"
            )

    def accepts(self, word: Iterable[int]) -> bool:
        """Return whether the word leads from the start to an accepting state."""
        state = self.start
        for letter in word:
            state = self.transitions[state][letter]
        return state in self.accepting

    def minimal(self) -> "Automaton":
        """Return the smallest automaton of the same language, numbered from the start.

        Two automata accept the same words if and only if their minimal automata are equal.
        """
        table = np.asarray(self.transitions)
        classes = np.isin(np.arange(len(table)), self.accepting).astype(int)
        while True:  # separate states that some letter sends to different classes
            rows = np.column_stack([classes, classes[table]])
            finer = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
            if finer.max() == classes.max():
                break
            classes = finer
        member = {int(c): state for state, c in enumerate(finer)}
        accepting = {int(finer[state]) for state in self.accepting}
        found = _explored(
            int(finer[self.start]),
            lambda c, letter: int(finer[table[member[c], letter]]),
            lambda c: c in accepting,
            table.shape[1],
        )
        reached = next(iter(found.values())).transitions
        return found.get(True, Automaton(reached, 0, ()))


def of_states(
    start: Any,
    step: Callable[[Any, int], Any],
    value: Callable[[Any], Hashable],
    alphabet: int,
    most: int = LARGEST,
) -> dict[Any, Automaton]:
    """Return the automata of a status function of a finite state (theorem 5.5).

    Args:
        start: First state: (s_init, m_init), or any other value.
        step: Function from (s, m) and a letter (a, s') to (s', mu(m, a, s')).
        value: U' of the state; any hashable value, such as a tuple.
        alphabet: Number of letters.
        most: Largest number of states.

    Returns:
        For each value of a reachable state, the smallest automaton that accepts exactly the words
        that lead to states with this value.

    Raises:
        FairgymError: If there are more states than `most`.
    """
    check_shape("alphabet", alphabet, 1, 1_000_000)
    found = _explored(start, step, value, alphabet, most)
    return {v: automaton.minimal() for v, automaton in found.items()}


def of_values(
    value: Callable[[Word], Hashable], alphabet: int, depth: int, most: int = LARGEST
) -> dict[Any, Automaton]:
    """Return the automata of a status function of words: the languages of definition 5.3.

    Two words are in the same state if no continuation of at most `depth` letters separates them
    (Myhill and Nerode). The result is then checked on all words that are two letters longer.

    Args:
        value: U(s_init, sigma) of every word sigma, including the empty one.
        alphabet: Number of letters.
        depth: Length of the continuations that separate states.
        most: Largest number of states; a function that counts without bound exceeds it.

    Returns:
        For each value, the smallest automaton that accepts exactly the words with that value.

    Raises:
        FairgymError: If there are more states than `most`, if `depth` does not separate the
            states, or if there are more than 10,000,000 words to try.
    """
    check_shape("alphabet", alphabet, 1, 1_000_000)
    check_shape("depth", depth, 0, 100)
    if alphabet ** (depth + 2) > MOST_WORDS:
        raise FairgymError(
            f"depth must lead to at most {MOST_WORDS:,} words, got depth {depth} with"
            f" {alphabet}^{depth + 2} words"
        )

    def words(longest: int) -> Iterable[Word]:
        for length in range(longest + 1):
            yield from itertools.product(range(alphabet), repeat=length)

    ends = list(words(depth))
    first: dict[tuple, Word] = {}  # values after each continuation -> first word that has them

    def state(word: Word) -> Word:
        return first.setdefault(tuple(value(word + end) for end in ends), word)

    found = _explored(state(()), lambda word, a: state((*word, a)), value, alphabet, most)
    for word in words(depth + 2):
        v = value(word)
        if v not in found or not found[v].accepts(word):
            raise FairgymError(
                f"depth must be larger to separate the states of the function, got {depth}: the"
                f" word {word} has the value {v!r}"
            )
    return {v: automaton.minimal() for v, automaton in found.items()}


def _explored(
    start: Any,
    step: Callable[[Any, int], Any],
    value: Callable[[Any], Hashable],
    alphabet: int,
    most: int = LARGEST,
) -> dict[Any, Automaton]:
    """Return the reachable states as one automaton per value; they differ in what accepts."""
    order, rows = _reached(start, step, alphabet, most)
    accepting: dict[Any, list[int]] = {}
    for number, state in enumerate(order):
        accepting.setdefault(value(state), []).append(number)
    return {v: Automaton(rows, 0, tuple(states)) for v, states in accepting.items()}


def _reached(
    start: Any, step: Callable[[Any, int], Any], alphabet: int, most: int = LARGEST
) -> tuple[list[Any], tuple[tuple[int, ...], ...]]:
    """Return the reachable states, and the number of the next one by state and letter."""
    number, order, rows = {start: 0}, [start], []
    for state in order:  # grows during the loop
        row = []
        for letter in range(alphabet):
            following = step(state, letter)
            if following not in number:
                if len(order) >= most:
                    raise FairgymError(
                        f"the function has more than {most:,} states, but value-regular functions"
                        " have finitely many"
                    )
                number[following] = len(order)
                order.append(following)
            row.append(number[following])
        rows.append(tuple(row))
    return order, tuple(rows)


@dataclasses.dataclass(frozen=True)
class Receiver:
    """Letter of a step: the number of the stakeholder who received something.

    If nobody did, it is the number of stakeholders.

    Attributes:
        component: Name of a component with one entry per stakeholder.
    """

    component: str

    def __call__(self, components: Any) -> Int[Array, ""]:
        """Return the letter."""
        received = getattr(components, self.component) > 0
        nobody = received.shape[0]
        return jnp.where(jnp.any(received), jnp.argmax(received), nobody).astype(jnp.int32)


@dataclasses.dataclass(frozen=True)
class Product:
    """Product of automata, as a memory (theorem 5.4).

    It remembers the number of the state that the automata are in together, among those that they
    can reach. U is the value of the automaton that accepts. Agents can observe the number.

    Attributes:
        automata: Automata, with the same alphabet.
        values: Status vector of each automaton.
        letter: Function from components to the letter of a step, such as `Receiver`. (The
            components of a step are a function of the states before and after it and of the
            action.)
    """

    automata: tuple[Automaton, ...]
    values: tuple[tuple[float, ...], ...]
    letter: Callable[[Any], Int[Array, ""]]

    def __post_init__(self) -> None:
        """Check that there is one value per automaton."""
        if not self.automata or len(self.automata) != len(self.values):
            raise FairgymError(
                "Product must have one or more automata and one value for each, got"
                f" {len(self.automata)} automata and {len(self.values)} values"
            )

    @classmethod
    def of(
        cls, automata: Mapping[Any, Automaton], letter: Callable[[Any], Int[Array, ""]]
    ) -> "Product":
        """Return the product of automata by their status vectors, as `of_values` returns them."""
        values = tuple(tuple(float(u) for u in value) for value in automata)
        return cls(tuple(automata.values()), values, letter)

    @functools.cached_property
    def _joint(self) -> tuple[np.ndarray, np.ndarray]:
        """Next state by joint state and letter, and which automata accept in each joint state."""
        order, rows = _reached(
            tuple(one.start for one in self.automata),
            lambda states, letter: tuple(
                one.transitions[state][letter]
                for one, state in zip(self.automata, states, strict=True)
            ),
            min(len(one.transitions[0]) for one in self.automata),
        )
        accepting = [
            [state in one.accepting for one, state in zip(self.automata, states, strict=True)]
            for states in order
        ]
        return np.array(rows, np.int32), np.array(accepting)

    @property
    def states(self) -> int:
        """Number of joint states that can be reached."""
        return len(self._joint[0])

    def initial(self, like: Counts) -> Int[Array, ""]:
        """Return the joint state at the start, 0."""
        return jnp.int32(0)

    def update(self, memory: Int[Array, ""], components: Counts) -> Int[Array, ""]:
        """Return the next joint state."""
        return jnp.asarray(self._joint[0])[memory, self.letter(components)]

    def accepting(self, memory: Int[Array, ""]) -> Bool[Array, " automata"]:
        """Return whether each automaton accepts the steps so far; exactly one does."""
        return jnp.asarray(self._joint[1])[memory]

    def status(self, memory: Int[Array, ""]) -> Float[Array, " stakeholders"]:
        """Return the value of the automaton that accepts."""
        accepts = self.accepting(memory).astype(jnp.float32)
        return jnp.dot(accepts, jnp.asarray(self.values, jnp.float32), precision="highest")

    def neighbours(
        self, memory: Int[Array, ""], offsets: Sequence[float]
    ) -> tuple[Int[Array, " others"], Bool[Array, " others"]]:
        """Return all states as counterfactual memories, and a mask of those other than m.

        Args:
            memory: Memory m.
            offsets: Not used: states have no order.
        """
        others = jnp.arange(self.states, dtype=jnp.int32)
        return others, others != memory

    # ---------------------------------------------------------------- for agents

    def shown(self, memory: Int[Array, ""]) -> dict[str, Array]:
        """Return the number of the joint state by its name."""
        return {"automaton_state": memory.astype(jnp.float32)}

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Return the declaration of one number of the context."""
        last = float(max(self.states - 1, 1))
        about = "state of the automata that remember the episode"
        levels = max(self.states, 2)
        return "", (Feature("automaton_state", 0.0, last, source=about, levels=levels),)
