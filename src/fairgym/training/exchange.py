"""Environments in which two groups exchange their starts, or what is decided about them."""

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, PyTree

from fairgym.core import ActionSpace, Environment, FairgymError, Params, PopulationEnvironment
from fairgym.core.environment import Actions, Observations
from fairgym.utils.changes import slug
from fairgym.wrappers import Wrapper

OWN, EXCHANGED, BLIND = range(3)  # what decisions see of the group


class ExchangedParams(Params):
    """Parameters of `Exchanged`.

    Attributes:
        inside: Parameters of the inner environment.
        start: Whether the groups have exchanged their starting attributes.
        seen: What decisions see of the group: 0 for the own one, 1 for the exchanged one, 2 for
            none.
    """

    inside: Any
    start: Any
    seen: Any


@dataclasses.dataclass(frozen=True)
class Exchanged(Wrapper):
    """An environment in which two groups exchange their starts, or what decisions see of them.

    Attributes:
        pair: Indices of the two groups.
    """

    pair: tuple[int, int]

    def initial_state(self, key: PRNGKeyArray, params: Any) -> PyTree:
        """Sample the start; if asked for, people get the attributes of people of the other group.

        A person's number and stage stay. People of the larger group are used once, those of the
        smaller one as often as needed, in turn.
        """
        state = self.env.initial_state(key, params.inside)
        donor = donors(state.group, self.pair)
        donor = jnp.where(params.start, donor, jnp.arange(donor.shape[0]))
        return with_attributes(state, donor)

    def observe(self, state: PyTree, params: Any) -> Observations:
        """Return observations with the own group, with the exchanged one, or without it."""
        own = self.env.observe(state, params.inside)
        swapped = state.replace(group=self._swapped(state.group))
        other = self.env.observe(swapped, params.inside)
        found = {}
        for agent, one in own.items():
            tells = [
                f.tells_group or f.name == "group"
                for f in self.env.observation_space(agent).features
            ]
            present = one.mask[:, None]
            count = jnp.maximum(jnp.sum(one.mask), 1)
            mean = jnp.sum(jnp.where(present, one.features, 0.0), axis=0) / count
            blind = jnp.where(jnp.array(tells) & present, mean, one.features)
            features = jnp.where(params.seen == EXCHANGED, other[agent].features, one.features)
            found[agent] = one.replace(features=jnp.where(params.seen == BLIND, blind, features))
        return found

    def noise(self, key: PRNGKeyArray, params: Any) -> PyTree:
        """Sample the numbers of one step."""
        return self.env.noise(key, params.inside)

    def transition(self, noise: PyTree, state: PyTree, actions: Actions, params: Any) -> Any:
        """Make one step, with decisions about groups exchanged, or the same for all."""
        made = {
            agent: self._action(self.env.action_space(agent), action, params.seen)
            for agent, action in actions.items()
        }
        return self.env.transition(noise, state, made, params.inside)

    def _swapped(self, group: Int[Array, " people"]) -> Int[Array, " people"]:
        first, second = self.pair
        return jnp.where(group == first, second, jnp.where(group == second, first, group))

    def _action(self, space: ActionSpace, action: Array, seen: Array) -> Array:
        """Return an action whose numbers per group are exchanged, or the mean of the groups."""
        elements = space.elements
        if space.per_entity or space.discrete or not any(e.group for e in elements):
            return action
        names = {slug(name): place for place, name in enumerate(self.env.spec.groups)}
        pair = [slug(self.env.spec.groups[place]) for place in self.pair]
        other, alike = np.arange(len(elements)), np.eye(len(elements), dtype=np.float32)
        for place, element in enumerate(elements):
            if slug(element.group) not in names:
                continue
            same = [
                i
                for i, e in enumerate(elements)
                if (e.label, e.of) == (element.label, element.of) and slug(e.group) in names
            ]
            alike[place] = np.isin(np.arange(len(elements)), same) / len(same)
            if slug(element.group) in pair:
                partner = pair[1 - pair.index(slug(element.group))]
                other[place] = next(i for i in same if slug(elements[i].group) == partner)
        mean = jnp.dot(jnp.asarray(alike), action, precision="highest").astype(action.dtype)
        exchanged = jnp.where(seen == EXCHANGED, action[other], action)
        return jnp.where(seen == BLIND, mean, exchanged)


def donors(group: Int[Array, " people"], pair: tuple[int, int]) -> Int[Array, " people"]:
    """Return for each person of two groups a person of the other one; others are themselves.

    The r-th of n people of a group gets the person number r m / n, rounded down, of m people of
    the other group.

    Args:
        group: Group of each person.
        pair: Indices of the two groups.
    """
    people = jnp.arange(group.shape[0])
    found = people
    for own, other in (pair, pair[::-1]):
        mine, theirs = group == own, group == other
        rank = jnp.cumsum(mine) - 1
        ours, many = jnp.sum(mine), jnp.sum(theirs)
        # in whole numbers, by way of quotient and rest, so that nothing overflows
        whole, rest = jnp.divmod(many, jnp.maximum(ours, 1))
        wanted = rank * whole + (rank * rest) // jnp.maximum(ours, 1)
        # the people of the other group in order, without a sort
        place = jnp.where(theirs, jnp.cumsum(theirs) - 1, people.shape[0])
        rows = jnp.zeros_like(people).at[place].set(people, mode="drop")
        donor = rows[jnp.clip(wanted, 0, jnp.maximum(many - 1, 0))]
        found = jnp.where(mine & (many > 0), donor, found)
    return found


def with_attributes(state: PyTree, donor: Int[Array, " people"]) -> PyTree:
    """Return a state in which each person has the attributes of another one.

    Attributes are the fields that the state declares with one entry per person, such as
    `Float[Array, " people"]`, except for group, stage, and row numbers of people.
    """
    inside = state
    while hasattr(inside, "env_state"):
        inside = inside.env_state
    hints, changed = get_type_hints(type(inside)), {}
    for field in dataclasses.fields(inside):
        if field.name in ("group", "stage", "by_person") or field.metadata.get("person_index"):
            continue
        declared, value = hints[field.name], getattr(inside, field.name)
        if isinstance(value, Mapping) and len(get_args(declared)) == 2:
            if _per_person(get_args(declared)[1]):
                changed[field.name] = {name: one[donor] for name, one in value.items()}
        elif _per_person(declared):
            changed[field.name] = value[donor]
    return state.replace(**changed)


def _per_person(declared: object) -> bool:
    return getattr(declared, "dim_str", "").split()[:1] == ["people"]


def require_exchangeable(env: Environment) -> None:
    """Raise a FairgymError unless an environment has people whose groups can be exchanged."""
    spec = env.spec
    why = ""
    if not isinstance(env.unwrapped, PopulationEnvironment):
        why = "it has no single people, who could exchange their starts"
    elif len(spec.groups) < 2:
        why = f"all its people are in one {spec.group_word}"
    elif not spec.exchangeable:
        why = f"a person's {spec.group_word} is a place in it, which cannot be exchanged"
    if why:
        raise FairgymError(f"a gap in {env.name} cannot be decomposed: {why}")
