"""Contact networks: the karate club against networkx, and custom graphs."""

import sys

import networkx as nx
import numpy as np
import pytest

import fairgym
from fairgym.core import FairgymError
from fairgym.environments.epidemic import graph

# Two triangles with one contact between them.
BARBELL = ((0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5))


def test_the_karate_club_is_that_of_networkx():
    club = nx.karate_club_graph()
    assert {frozenset(edge) for edge in club.edges} == {frozenset(e) for e in graph.KARATE_CLUB}
    assert len(graph.KARATE_CLUB) == 78 and club.number_of_nodes() == graph.KARATE_PEOPLE
    plain = nx.Graph(list(club.edges))  # without the weights
    parts = next(nx.community.girvan_newman(plain))
    found = {frozenset(np.flatnonzero(np.array(graph.KARATE_COMMUNITIES) == c)) for c in (0, 1)}
    assert found == {frozenset(part) for part in parts}
    assert sorted(map(len, parts)) == [15, 19]


def test_the_club_has_contacts_and_communities():
    env = fairgym.make("epidemic")
    assert env.population == 34 and env.spec.size_text == "34 people, 78 contacts"
    weights = nx.to_numpy_array(nx.karate_club_graph())
    np.testing.assert_array_equal(env.contact_matrix, weights > 0)
    assert np.bincount(env.community).tolist() == [15, 19] and env.community[0] == 0


def test_one_graph_in_all_its_forms():
    named = nx.Graph([("abc"[a // 2] + str(a), "abc"[b // 2] + str(b)) for a, b in BARBELL])
    turned = tuple((b, a) for a, b in BARBELL[::-1])
    forms = [BARBELL, list(BARBELL), turned + BARBELL, "0-1,0-2,1-2,2-3,3-4,3-5,4-5"]
    forms += [nx.Graph(list(BARBELL)), nx.DiGraph(list(BARBELL)), named]
    envs = [fairgym.make("epidemic", graph=form) for form in forms]
    assert len(set(envs)) == 1
    assert envs[0].graph == BARBELL and envs[0].population == 6
    assert envs[0].community.tolist() == [0, 0, 0, 1, 1, 1]


def test_people_who_meet_nobody():
    env = fairgym.make("epidemic", graph=BARBELL, population=8, communities=(0, 1) * 4)
    assert env.contact_matrix.shape == (8, 8) and not env.contact_matrix[6:].any()
    lonely = nx.Graph()
    lonely.add_nodes_from(range(4))
    env = fairgym.make("epidemic", graph=lonely, communities=(0, 0, 1, 1))
    assert env.population == 4 and env.contacts == ()
    again = fairgym.make("epidemic", graph=(), population=4, communities=(0, 0, 1, 1))
    assert env == again


def test_communities_are_the_first_division():
    rng = np.random.default_rng(0)
    made = nx.gnp_random_graph(12, 0.35, seed=4)
    assert nx.is_connected(made)
    parts = next(nx.community.girvan_newman(made))
    names = rng.permutation(12)
    env = fairgym.make("epidemic", graph=nx.relabel_nodes(made, dict(enumerate(names.tolist()))))
    order = list(nx.relabel_nodes(made, dict(enumerate(names.tolist()))))
    by_part = {frozenset(order.index(int(names[i])) for i in part) for part in parts}
    assert {frozenset(np.flatnonzero(env.community == c)) for c in (0, 1)} == by_part


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"graph": "club"}, "graph must be 'karate', pairs of numbers"),
        ({"graph": "0-1,1"}, "graph must be 'karate', pairs of numbers"),
        ({"graph": ((0, 1), (1, -2))}, "graph must be 'karate', pairs of numbers"),
        ({"graph": [(0, 1), (1, 2.5)]}, "graph must be 'karate', pairs of numbers"),
        ({"graph": ((0, 1, 2),)}, "graph must be 'karate', pairs of numbers"),
        ({"graph": ((0, 1), (2, 2))}, "graph pairs person 2 with themselves; a contact needs two"),
        ({"graph": ()}, "the graph must have from 1 to 2,000 people, got 0"),
        (
            {"graph": BARBELL, "population": 5},
            "population must be at least 6, the number of people in the graph, got 5",
        ),
        (
            {"population": 60},
            "population must be 34, the number of people in the graph, got 60",
        ),
        ({"population": -1}, "population must be a whole number from 0 to 2000, got -1"),
        (
            {"graph": BARBELL, "communities": (0, 1, 2, 0, 1, 1)},
            "communities must have 0 or 1 for each of 6 people, and both must occur, got 6 entries",
        ),
        (
            {"graph": BARBELL, "communities": (0, 1)},
            "communities must have 0 or 1 for each of 6 people, and both must occur, got 2 entries",
        ),
        (
            {"graph": ((0, 1), (2, 3)), "population": 5},
            "the graph divides into 4 parts instead of two; set communities to 0 or 1 for each",
        ),
    ],
)
def test_graphs_that_do_not_fit(shapes, message):
    with pytest.raises(FairgymError, match=message):
        fairgym.make("epidemic", **shapes)


def test_without_networkx_communities_have_to_be_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    assert fairgym.make("epidemic").population == 34
    path = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6))
    with pytest.raises(FairgymError, match=r"needs networkx: pip install .*, or set communities"):
        fairgym.make("epidemic", graph=path)
    assert fairgym.make("epidemic", graph=path, communities=(0, 0, 0, 0, 1, 1, 1)).population == 7
