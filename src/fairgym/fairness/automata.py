"""Automata: status functions that need only a finite memory.

After Alamdari et al. (2024), section 5.1. A status function U with finitely many values is
*value-regular* if, for each value v, a finite automaton accepts exactly the traces with U = v
(definition 5.3). The product of these automata is then a memory that determines U (theorem 5.4:
`of_values`, `Product`). Conversely, if U is a function of a finite state and memory, it is
value-regular (theorem 5.5: `of_states`).

A letter of the alphabet A x S is an action and the state that it led to, numbered from 0.
"""

import dataclasses
import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from fairgym.core import Counts, FairgymError, check_shape

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
    accepting: dict[Any, list[int]] = {}
    for state in order:
        accepting.setdefault(value(state), []).append(number[state])
    return {v: Automaton(tuple(rows), 0, tuple(states)) for v, states in accepting.items()}


@dataclasses.dataclass(frozen=True)
class Product:
    """Product of automata, as a memory (theorem 5.4).

    It remembers one state per automaton. U is the value of the automaton that accepts.

    Attributes:
        automata: Automata.
        values: Status vector of each automaton.
        letter: Function from components to the letter of a step. (The components of a step are a
            function of the states before and after it and of the action.)
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

    def initial(self, like: Counts) -> Int[Array, " automata"]:
        """Return the start of each automaton."""
        return jnp.asarray([one.start for one in self.automata], jnp.int32)

    def update(
        self, memory: Int[Array, " automata"], components: Counts
    ) -> Int[Array, " automata"]:
        """Return the next state of each automaton."""
        largest = max(len(one.transitions) for one in self.automata)
        letters = len(self.automata[0].transitions[0])
        table = np.zeros((len(self.automata), largest, letters), np.int32)
        for place, one in enumerate(self.automata):
            table[place, : len(one.transitions)] = one.transitions
        places = jnp.arange(len(self.automata))
        return jnp.asarray(table)[places, memory, self.letter(components)]

    def accepting(self, memory: Int[Array, " automata"]) -> Array:
        """Return whether each automaton accepts the steps so far; exactly one does."""
        return jnp.stack(
            [
                jnp.any(memory[place] == jnp.asarray(one.accepting or (-1,)))
                for place, one in enumerate(self.automata)
            ]
        )

    def status(self, memory: Int[Array, " automata"]) -> Float[Array, " stakeholders"]:
        """Return the value of the automaton that accepts."""
        return self.accepting(memory).astype(jnp.float32) @ jnp.asarray(self.values, jnp.float32)
