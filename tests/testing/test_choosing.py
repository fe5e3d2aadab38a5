"""Conformance of systems in which an agent chooses one of the people: each property can fail."""

import dataclasses

import jax
import pytest

from fairgym.core import EntitySpace, OneEntity
from fairgym.environments.doughnut import Doughnut
from fairgym.testing import _declared, _population
from fairgym.testing._compare import Case, ConformanceError


def case(env):
    return Case(env, env.default_params, jax.random.key(4), 3, {})


class Favours(Doughnut):
    """The first person gets another doughnut in every step."""

    def transition(self, noise, state, actions, params):
        state, components, ended = super().transition(noise, state, actions, params)
        more = components.handed_out.at[0].add(1.0)
        return state, components.replace(handed_out=more), ended


class Hides(Doughnut):
    """Those who are absent are masked."""

    def observe(self, state, params):
        seen = super().observe(state, params)["server"]
        return {"server": seen.replace(mask=seen.features[:, 0] > 0)}


class Short(Doughnut):
    """The components have an entry for each of fewer people than there are."""

    def transition(self, noise, state, actions, params):
        state, components, ended = super().transition(noise, state, actions, params)
        return state, components.replace(handed_out=components.handed_out[1:]), ended


@dataclasses.dataclass(frozen=True)
class Narrow(Doughnut):
    """The server may choose one of fewer people than it sees."""

    def action_space(self, agent):
        return SMALLER

    def observation_space(self, agent):
        return SEEN


SMALLER = OneEntity(3, present="present")
SEEN = EntitySpace(4, Doughnut().observation_space("server").features)


@pytest.mark.parametrize(
    ("env", "check", "message"),
    [
        (Favours, _population.numbering, "components of step 0, with people renumbered"),
        (Hides, _declared.observations, "has masked rows, which the agent could choose"),
        (Short, _declared.components, "has shape (3,); declared: one number per person"),
        (Narrow, _declared.spaces, "'server' observes 4 rows but chooses among 3"),
    ],
)
def test_what_is_wrong_is_found(env, check, message):
    with pytest.raises(ConformanceError) as error:
        check(case(env(population=4, horizon=9)))
    assert message in str(error.value)
