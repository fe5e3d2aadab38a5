"""Actions by the names of their elements, and fixed policies changed by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import Toy

import fairgym
from fairgym.core import ActionSpace, FairgymError, PerEntity, Shares, Unit, per_group
from fairgym.policies import Constant, fixed_policies, with_fixed
from fairgym.policies.named import named_action

REGIONS = ("Northeast", "Midwest", "South", "West")
LEVELS = Unit(per_group("level", ("first", "second")))
# A budget, and the split of two of its parts over four regions.
TREE = Shares(
    (
        ("beds", "care", "rollover"),
        per_group("beds", REGIONS, of="beds"),
        per_group("care", REGIONS, of="care"),
    )
)
BASE = np.array([0.25, 0.25, 0.5, 0.1, 0.2, 0.3, 0.4, 0.25, 0.25, 0.25, 0.25])


def action(values, base=None, space: ActionSpace = TREE):
    found = named_action(space, "planner", list(values.items()), base)
    assert space.contains(jnp.asarray(found, jnp.float32))
    return np.round(np.asarray(found, float), 6).tolist()


class TestNamedAction:
    def test_a_share_holds_and_the_others_of_its_block_are_scaled(self):
        # 0.6 is left for 0.1, 0.2 and 0.4, which sum to 0.7
        changed = action({"beds_south": 0.4}, BASE)
        seventh = 0.6 / 0.7
        expected = [0.1 * seventh, 0.2 * seventh, 0.4, 0.4 * seventh]
        np.testing.assert_allclose(changed[3:7], expected, atol=1e-6)
        assert changed[:3] == [0.25, 0.25, 0.5] and changed[7:] == [0.25] * 4

    def test_a_group_is_every_element_of_it_in_small_or_capital_letters(self):
        for name in ("South", "south", "SOUTH"):
            changed = action({name: 0.4}, BASE)
            assert changed[5] == changed[9] == 0.4
            assert changed[7:] == [0.2, 0.2, 0.4, 0.2]

    def test_a_label_is_what_the_elements_of_all_groups_share(self):
        assert action({"level": 0.4}, None, LEVELS) == [0.4, 0.4]
        # the name of an element comes first: these are splits of a share of the same label
        changed = action({"beds": 0.4}, BASE)
        assert changed[:3] == [0.4, 0.2, 0.4] and changed[3:] == BASE[3:].tolist()

    def test_several_shares_hold_together(self):
        assert action({"care_south": 0.5, "care_west": 0.3}, BASE)[7:] == [0.1, 0.1, 0.5, 0.3]

    def test_the_others_share_evenly_if_all_of_them_are_zero(self):
        base = np.array([0.0, 0.0, 1.0, *[0.25] * 8])
        assert action({"rollover": 0.5}, base)[:3] == [0.25, 0.25, 0.5]

    def test_without_a_base_the_others_divide_the_rest_evenly(self):
        assert action({"South": 0.4}) == [0.333333] * 3 + [0.2, 0.2, 0.4, 0.2] * 2

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ({"beds": 0.8, "care": 0.8}, [0.5, 0.5, 0.0]),  # more than 1: nothing is left
            ({"beds": 0.25, "care": 0.75}, [0.25, 0.75, 0.0]),
            ({"beds": 0.1, "care": 0.1, "rollover": 0.2}, [0.25, 0.25, 0.5]),  # all are named
            ({"beds": 0, "care": 0, "rollover": 0}, [0.333333] * 3),
        ],
    )
    def test_where_nothing_is_left_shares_are_divided_by_their_sum(self, values, expected):
        assert action(values, BASE)[:3] == expected

    def test_relative_numbers_change_those_of_the_base(self):
        changed = action({"beds_south": "+30%", "rollover": "-10%"}, BASE)
        assert changed[5] == 0.39 and changed[2] == 0.45
        assert changed[:2] == [0.275, 0.275]

    def test_of_two_names_for_an_element_the_later_counts(self):
        assert action({"South": 0.4, "beds_south": 0.1}, BASE)[5] == 0.1
        assert action({"beds_south": 0.1, "South": 0.4}, BASE)[5] == 0.4

    def test_independent_numbers_are_as_given(self):
        assert action({"second": 0.9}, np.array([0.1, 0.2]), LEVELS) == [0.1, 0.9]
        assert action({"level_first": "0.3", "level-second": 1}, None, LEVELS) == [0.3, 1.0]

    def test_inside_vmap(self):
        """A sweep over a share; what is left for the others is known as the program runs."""
        found = jax.vmap(lambda x: named_action(TREE, "planner", [("South", x)]))(
            jnp.array([0.4, 1.0])
        )
        np.testing.assert_allclose(found[:, 3:7], [[0.2, 0.2, 0.4, 0.2], [0, 0, 1, 0]], atol=1e-6)

    @pytest.mark.parametrize(
        ("space", "base", "values", "message"),
        [
            (
                TREE,
                BASE,
                {"Suoth": 0.4},
                "unknown element 'Suoth' of 'planner'; did you mean 'South'",
            ),
            (
                TREE,
                BASE,
                {"": 0.4},
                "unknown element '' of 'planner'; its elements are: beds,",
            ),
            (TREE, BASE, {"Here": 0.4}, "its elements are: .*Northeast, Midwest, South, West"),
            (TREE, BASE, {"South": 1.5}, "planner.South must be a number from 0 to 1, got 1.5"),
            (TREE, BASE, {"South": -0.1}, "planner.South must be a number from 0 to 1, got -0.1"),
            (TREE, BASE, {"South": float("nan")}, "planner.South must be a number.*got nan"),
            (TREE, BASE, {"South": "much"}, "planner.South must be a number, or .*, got 'much'"),
            (TREE, BASE, {"South": True}, "planner.South must be a number, or .*, got True"),
            (TREE, BASE, {"South": None}, "planner.South must be a number, or .*, got None"),
            (TREE, BASE, {"South": 10**400}, "planner.South must be a number, or .*, got 1000.*"),
            (TREE, BASE, {"rollover": "+300%"}, "must be .*got '.300%', which makes 2 of 0.5"),
            (TREE, None, {"South": "+30%"}, "a number, since there is none to change, got '.30%'"),
            (LEVELS, None, {"first": 0.1}, "but not level_second; give all of level_first, le"),
        ],
    )
    def test_names_and_numbers_that_do_not_fit(self, space, base, values, message):
        with pytest.raises(FairgymError, match=message):
            named_action(space, "planner", list(values.items()), base)


class TestFixedByName:
    def test_mappings_are_constants(self):
        given = {
            "level": {"first": 0.1, "second": 0.9},
            "rank": {"score": 0.5},
            "split": {"first": 0.25},
        }
        made = fixed_policies(Toy(), given)
        np.testing.assert_allclose(made["level"].action, [0.1, 0.9])
        np.testing.assert_allclose(made["rank"].action, [0.5] * 5)
        np.testing.assert_allclose(made["split"].action, [0.25, 0.75])
        assert all(isinstance(policy, Constant) for policy in made.values())


FIXED = {"level": [0.2, 0.4], "rank": 0.5, "split": (0.5, 0.5)}


class TestWithFixed:
    @pytest.mark.parametrize(
        ("changes", "agent", "expected"),
        [
            ([("level.first", 0.3)], "level", [0.3, 0.4]),
            ([("Level.First", "0.3")], "level", [0.3, 0.4]),
            ([("level.second", "+50%")], "level", [0.2, 0.6]),
            ([("rank.score", "-50%")], "rank", 0.25),
            ([("split.rest", "0.2")], "split", [0.8, 0.2]),
            ([("level", "random")], "level", "random"),
            ([("rank", "first-come")], "rank", "first-come"),
            ([("level", "my_rules:strict")], "level", "my_rules:strict"),
            ([("level", "0.1,0.9")], "level", [0.1, 0.9]),
            ([("level", "0.7")], "level", 0.7),
            ([("rank", "random"), ("rank.score", 0.3)], "rank", 0.3),  # all that there is
            ([("level", "random"), ("level.level", 0.3)], "level", [0.3, 0.3]),
            ([("level", 0.7), ("level.first", 0.1)], "level", [0.1, 0.7]),
            ([("level.first", 0.1), ("level", 0.7)], "level", 0.7),
            ([("split", {"first": 0.25}), ("split.first", "+100%")], "split", [0.5, 0.5]),
            # one after the other, as those of parameters
            ([("level.first", 0.4), ("level.first", "+50%")], "level", [0.6, 0.4]),
            ([("level.level", "-50%"), ("level.first", "+100%")], "level", [0.2, 0.2]),
            (
                [("level", "random"), ("level.level", 0.4), ("level.first", "+50%")],
                "level",
                [0.6, 0.4],
            ),
        ],
    )
    def test_one_change(self, changes, agent, expected):
        changed = with_fixed(Toy(), FIXED, changes)
        numbers = not isinstance(expected, str)
        assert changed[agent] == (pytest.approx(expected) if numbers else expected)
        assert {name: changed[name] for name in changed if name != agent} == {
            name: value for name, value in FIXED.items() if name != agent
        }
        assert FIXED["level"] == [0.2, 0.4]

    def test_changes_of_an_agent_hold_together(self):
        """Each as given: the second one does not scale the first."""
        env = fairgym.make("health", population=60)
        base = env.spec.baselines["premium_half_uniform_planner"]
        changes = [("planner.public_health_south", "0.4"), ("planner.public_health_west", 0.3)]
        changed = with_fixed(env, base, changes)
        np.testing.assert_allclose(changed["planner"][8:12], [0.15, 0.15, 0.4, 0.3])
        assert changed["insurer"] == 0.5 and changed["hospital"] == "random"
        assert set(fixed_policies(env, changed)) == set(env.agents)

    def test_an_agent_without_a_policy(self):
        made = with_fixed(Toy(), {}, [("level.first", 0.3), ("level.second", 0.4)])
        assert made == {"level": [0.3, 0.4]}
        assert with_fixed(Toy(), {}, [("rank.score", 0.3)]) == {"rank": 0.3}
        with pytest.raises(FairgymError, match=r"but not level_second.*or first a policy"):
            with_fixed(Toy(), {}, [("level.first", 0.3)])

    @pytest.mark.parametrize(
        ("base", "change", "message"),
        [
            ({}, ("boss.first", 1), "unknown agent 'boss'; toy has the agents: level, rank, split"),
            ({}, ("levle", 1), "unknown agent 'levle'; did you mean 'level'"),
            (FIXED, ("level.frist", 1), "unknown element 'frist' of 'level'; did you mean 'first'"),
            (FIXED, ("level.", 1), "unknown element '' of 'level'"),
            ({"level": "random"}, ("level.first", 1), "is 'random', which has no elements to chan"),
            ({"level": "a:b"}, ("level.first", 1), "is 'a:b', which has no elements to change"),
            ({"level": [1, 2, 3]}, ("level.first", 1), "which has no elements to change"),
            (
                FIXED,
                ("level.first", "+500%"),
                "must be .* from 0 to 1, got '.500%', which makes 1.2 of 0.2",
            ),
        ],
    )
    def test_changes_that_do_not_fit(self, base, change, message):
        with pytest.raises(FairgymError, match=message):
            with_fixed(Toy(), base, [change])


def test_an_agent_that_scores_people_has_one_element():
    space = PerEntity(3, "score")
    assert np.asarray(named_action(space, "rank", [("Score", 0.5)])).tolist() == [0.5]
