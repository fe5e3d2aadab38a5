"""Contact networks: Zachary's karate club, and custom graphs.

The club's 34 members were observed from 1970 to 1972 (W. W. Zachary 1977, An Information Flow Model
for Conflict and Fission in Small Groups, Journal of Anthropological Research 33, 452-473). The two
communities are those of M. Girvan and M. E. J. Newman (2002), Community Structure in Social and
Biological Networks, PNAS 99, 7821-7826. They are the first division of the network when contacts
are removed one by one, the one with the highest edge betweenness first.
"""

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fairgym.core import FairgymError, check_shape

KARATE = "karate"
MOST_PEOPLE = 2_000
TAKES = (
    f"{KARATE!r}, pairs of numbers of people such as ((0, 1), (1, 2)) or '0-1,1-2', or a networkx"
    " graph"
)

Edges = tuple[tuple[int, int], ...]


@runtime_checkable
class NetworkxGraph(Protocol):
    """A networkx graph of any type."""

    @property
    def nodes(self) -> Iterable[Hashable]:
        """All nodes."""
        ...

    @property
    def edges(self) -> Iterable[tuple[Hashable, ...]]:
        """All pairs of nodes."""
        ...


# The club's contacts in the form of `graph`; Zachary numbers the members from 1.
_CONTACTS = (
    "0-1,0-2,0-3,0-4,0-5,0-6,0-7,0-8,0-10,0-11,0-12,0-13,0-17,0-19,0-21,0-31,1-2,1-3,1-7,"
    "1-13,1-17,1-19,1-21,1-30,2-3,2-7,2-8,2-9,2-13,2-27,2-28,2-32,3-7,3-12,3-13,4-6,4-10,5-6,"
    "5-10,5-16,6-16,8-30,8-32,8-33,9-33,13-33,14-32,14-33,15-32,15-33,18-32,18-33,19-33,"
    "20-32,20-33,22-32,22-33,23-25,23-27,23-29,23-32,23-33,24-25,24-27,24-31,25-31,26-29,"
    "26-33,27-33,28-31,28-33,29-32,29-33,30-32,30-33,31-32,31-33,32-33"
)
KARATE_PEOPLE = 34

# Members of the instructor's community (number 0); the others are in the officer's.
_FIRST = (0, 1, 3, 4, 5, 6, 7, 10, 11, 12, 13, 16, 17, 19, 21)
KARATE_COMMUNITIES = tuple(int(person not in _FIRST) for person in range(KARATE_PEOPLE))


def contacts_of(graph: object) -> tuple[Edges, int]:
    """Return the contacts of a graph in any form, and the smallest number of people for it.

    Args:
        graph: "karate", pairs of numbers of people, the same as text ("0-1,1-2"), or a networkx
            graph, whose nodes are numbered in their order. Directions and repetitions are ignored.

    Returns:
        `(contacts, people)`: each contact once, lower number first, sorted.

    Raises:
        FairgymError: If it is none of these, or a person is paired with themselves.
    """
    if isinstance(graph, str) and graph == KARATE:
        return KARATE_CLUB, KARATE_PEOPLE
    people = 0
    if isinstance(graph, str):
        pairs = [_pair(word) for word in graph.split(",")]
    elif isinstance(graph, tuple | list):
        pairs = [_pair(given) for given in graph]
    elif isinstance(graph, NetworkxGraph):
        places = {node: place for place, node in enumerate(graph.nodes)}
        people = len(places)
        pairs = [(places[edge[0]], places[edge[1]]) for edge in graph.edges]
    else:
        raise FairgymError(f"graph must be {TAKES}, got {graph!r}")
    for a, b in pairs:
        if a == b:
            raise FairgymError(
                f"graph pairs person {a} with themselves; a contact needs two people"
            )
    contacts = tuple(sorted({(min(pair), max(pair)) for pair in pairs}))
    return contacts, max([people, *(b + 1 for _, b in contacts)])


def checked_graph(graph: object, population: int) -> tuple[str | Edges, int]:
    """Return a graph in its plain form ("karate" or contacts) and its number of people.

    Args:
        graph: As for `contacts_of`.
        population: Number of people, including those without contacts; 0 for the graph's.

    Raises:
        FairgymError: If `contacts_of` raises one or the number of people does not fit.
    """
    contacts, people = contacts_of(graph)
    check_shape("population", population, 0, MOST_PEOPLE)
    named = isinstance(graph, str) and graph == KARATE
    fixed = named or isinstance(graph, NetworkxGraph)  # pairs omit people without contacts
    if population and (people > population or (fixed and people != population)):
        raise FairgymError(
            f"population must be {'' if fixed else 'at least '}{people}, the number of people in"
            f" the graph, got {population}"
        )
    people = population or people
    if not 1 <= people <= MOST_PEOPLE:
        raise FairgymError(f"the graph must have from 1 to {MOST_PEOPLE:,} people, got {people}")
    return KARATE if named else contacts, people


def _pair(given: Any) -> tuple[int, int]:
    """Parse one contact: the numbers of two people."""
    words = given.split("-") if isinstance(given, str) else given
    try:
        first, second = (_number(word) for word in words)
    except (TypeError, ValueError):
        raise FairgymError(f"graph must be {TAKES}, got the contact {given!r}") from None
    return first, second


def _number(word: Any) -> int:
    """Parse the number of a person.

    Raises:
        ValueError: If it is not a non-negative integer.
    """
    number = int(word)
    if number != (number if isinstance(word, str) else word) or number < 0:
        raise ValueError
    return number


KARATE_CLUB: Edges = tuple(_pair(word) for word in _CONTACTS.split(","))


def contact_matrix(contacts: Edges, people: int) -> np.ndarray:
    """Return a float32 matrix (people, people): 1 where two people meet, 0 elsewhere."""
    matrix = np.zeros((people, people), np.float32)
    for a, b in contacts:
        matrix[a, b] = matrix[b, a] = 1.0
    return matrix


def check_communities(given: tuple[int, ...], contacts: Edges, people: int) -> None:
    """Raise a FairgymError unless each person has one of two communities, and neither is empty.

    Args:
        given: 0 or 1 for each person; if empty, the communities are found.
        contacts: Who meets whom.
        people: Number of people.
    """
    if not given:
        communities_of(contacts, people)  # raises if they cannot be found
    elif len(given) != people or set(given) != {0, 1}:
        raise FairgymError(
            f"communities must have 0 or 1 for each of {people} people, and both must occur, got"
            f" {len(given)} entries with the values {sorted(set(given), key=str)}"
        )


@lru_cache
def communities_of(contacts: Edges, people: int) -> tuple[int, ...]:
    """Return each person's community by the first Girvan-Newman division; person 0 is in 0.

    The division of the karate club is stored. Others need networkx, and take minutes with more
    than a thousand contacts.

    Raises:
        FairgymError: If networkx is not installed, or the first division is not into two.
    """
    if (contacts, people) == (KARATE_CLUB, KARATE_PEOPLE):
        return KARATE_COMMUNITIES
    try:
        import networkx
    except ModuleNotFoundError:
        raise FairgymError(
            "finding communities needs networkx: pip install -e '.[graph]' in a clone of"
            " fairgym, or set communities to 0 or 1 for each person"
        ) from None
    graph = networkx.Graph()
    graph.add_nodes_from(range(people))
    graph.add_edges_from(contacts)
    parts = next(networkx.community.girvan_newman(graph), ()) if people > 1 else ()
    if len(parts) != 2:
        raise FairgymError(
            f"the graph divides into {len(parts)} parts instead of two; set communities to 0 or 1"
            " for each person"
        )
    return tuple(int((person in parts[0]) != (0 in parts[0])) for person in range(people))
