"""Theorems 5.4 and 5.5 on a doughnut shop of two people who count up to two."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from fairgym.core import Components, FairgymError, component
from fairgym.fairness import Nash, Scheme, Status
from fairgym.fairness.automata import Automaton, Product, of_states, of_values

# A state says who is at the counter, two bits; both are at the start. A letter is an action (whom
# to give the doughnut) and the next state; the doughnut is wasted on somebody who is not there.
START, ALPHABET = 3, 8


def counts(word):
    """U: doughnuts of each person modulo 3, of a word of letters."""
    there, got = START, [0, 0]
    for letter in word:
        action, following = divmod(letter, 4)
        got[action] += there >> action & 1
        there = following
    return (got[0] % 3, got[1] % 3)


def step(state, letter):
    """(s, m) -> (s', mu(m, a, s')), in a form of its own: m as one number."""
    there, memory = state
    action, following = divmod(letter, 4)
    person = (memory % 3, memory // 3)[action]
    after = (person + 1) % 3 if there & (1, 2)[action] else person
    return following, (after + 3 * (memory // 3) if action == 0 else memory % 3 + 3 * after)


@pytest.fixture(scope="module")
def automata():
    return of_values(counts, ALPHABET, depth=1)


WORDS = [w for n in range(4) for w in itertools.product(range(ALPHABET), repeat=n)]
LONG = np.random.default_rng(0).integers(0, ALPHABET, (300, 6))


class Letter(Components):
    """The letter of a step."""

    letter: jax.Array = component("letter", unit="")


def letter_of(components):
    return components.letter.astype(jnp.int32)


def test_each_value_has_its_language(automata):
    """Definition 5.3: one automaton accepts, that of U, after every word."""
    assert set(automata) == set(itertools.product(range(3), repeat=2))
    assert {len(one.transitions) for one in automata.values()} == {4 * 9}  # who is there, and m
    for word in (*WORDS, *map(tuple, LONG.tolist())):
        assert [v for v, one in automata.items() if one.accepts(word)] == [counts(word)]


def test_the_product_is_a_memory_that_the_status_is_a_function_of(automata):
    """Theorem 5.4, and a scheme with that status scores as plain NumPy does."""
    product = Product.of(automata, letter_of)
    scheme = Scheme.anytime(product, Nash())
    assert isinstance(product, Status)

    @jax.jit
    @jax.vmap
    def course(word):
        def update(scheme_state, letter):
            scheme_state = scheme.update(scheme_state, Letter(letter))
            accepts = product.accepting(scheme_state.status)
            return scheme_state, (
                scheme.status_of(scheme_state),
                accepts,
                scheme.score(scheme_state),
            )

        return lax.scan(update, scheme.initial(Letter(word[0])), word)[1]

    status, accepts, score = course(jnp.asarray(LONG, jnp.float32))
    assert np.all(np.sum(accepts, axis=2) == 1)
    expected = np.array([[counts(word[: t + 1]) for t in range(6)] for word in LONG.tolist()])
    np.testing.assert_array_equal(status, expected)
    np.testing.assert_allclose(score, np.cumsum(np.log(expected + 1).sum(2), 1), rtol=1e-5)


def test_a_status_of_state_and_memory_is_value_regular(automata):
    """Theorem 5.5: automata over S x M accept the same languages."""
    found = of_states((START, 0), step, lambda sm: (sm[1] % 3, sm[1] // 3), ALPHABET)
    assert found == automata


def test_counting_without_end_is_not_value_regular():
    """As the paper says of sums, below definition 5.5."""
    with pytest.raises(FairgymError, match="more than 50 states, but value-regular functions have"):
        of_values(lambda word: (sum(word),), alphabet=2, depth=1, most=50)


def test_words_too_short_to_tell_states_apart_are_told():
    """Whether the last letter but two was a 1."""
    with pytest.raises(FairgymError, match=r"depth must be larger .*got 1: the word \("):
        of_values(lambda word: word[-3:-2] == (1,), alphabet=2, depth=1)
    found = of_values(lambda word: word[-3:-2] == (1,), alphabet=2, depth=2)
    assert {len(one.transitions) for one in found.values()} == {8}


@pytest.mark.parametrize("depth", [22, 30])
def test_more_words_than_can_be_tried_are_refused(depth):
    message = rf"at most 10,000,000 words, got depth {depth} with 2\^{depth + 2}"
    with pytest.raises(FairgymError, match=message):
        of_values(lambda word: pytest.fail("a word is tried"), alphabet=2, depth=depth)


def test_the_largest_alphabet():
    with pytest.raises(FairgymError, match=r"alphabet must be .* 1,?000,?000.*got 1000001"):
        of_values(lambda word: (), alphabet=1_000_001, depth=0)


def test_minimal_automata_are_equal_for_equal_languages():
    """Words with an even number of ones, with two states and with four."""
    two = Automaton(((0, 1), (1, 0)), 0, (0,))
    four = Automaton(((1, 2), (0, 3), (3, 1), (2, 0)), 1, (0, 1))
    assert four.minimal() == two.minimal() == two
    assert Automaton(((0, 1), (1, 0)), 0, (1,)).minimal() != two
    assert Automaton(((0, 0), (1, 0)), 0, (1,)).minimal() == Automaton(((0, 0),), 0, ())


def test_automata_without_sense_are_refused():
    with pytest.raises(FairgymError, match=r"from 0 to 0, got rows .* the states \[0, 1\]"):
        Automaton(((0, 1),), 0, ())
    with pytest.raises(FairgymError, match="got 0 automata and 1 values"):
        Product((), ((1.0,),), letter_of)
