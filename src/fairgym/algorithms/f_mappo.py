"""F-MAPPO: multi-agent PPO with fairness in the reward of every step (MAFE, appendix D.6).

Agents act on their own observations; a centralised critic sees all of them (`CentralCritic`) and
values the discounted sum of step rewards, equation (5), of each trained agent. The recipe is that
of Yu et al., "The Surprising Effectiveness of PPO in Cooperative Multi-Agent Games" (2022),
https://arxiv.org/abs/2103.01955: PPO with generalised advantage estimation, normalised values, an
entropy bonus and clipped gradients.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from jaxtyping import PRNGKeyArray

from fairgym.algorithms._algorithm import Objectives, algorithms
from fairgym.algorithms._networks import Networks, make_networks
from fairgym.algorithms._normalised import NormalisedPpo, NormalisedState
from fairgym.core import Environment


@algorithms.register("f-mappo")
@dataclasses.dataclass(frozen=True)
class FMappo(NormalisedPpo[NormalisedState]):
    """Hyperparameters of F-MAPPO: those of PPO, with defaults for the systems of MAFE.

    Attributes:
        ent_coef: weight of the entropy bonus. Ten times the default lets the exploration of
            loan's admissions grow to `max_std`.
    """

    gamma: float = 0.997  # what is done about a loan shows over years
    learning_rate: float = 1e-3
    gae_lambda: float = 0.98
    ent_coef: float = 0.0003
    failure_penalty: float = 100.0  # as much as the objective of a hundred steps

    def init(
        self,
        key: PRNGKeyArray,
        env: Environment,
        objective: Objectives,
        *,
        params: Any = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> NormalisedState:
        """Networks near the middle of every action, and worlds at their start.

        Arguments and errors as in `fairgym.algorithms.Algorithm.init`.
        """
        return NormalisedState(**self._init_fields(key, env, objective, params, fixed))

    def _networks(
        self, env: Environment, params: Any, trained: tuple[str, ...], key: PRNGKeyArray
    ) -> Networks:
        sizes = self.hidden, self.critic_hidden
        values = len(trained)
        return make_networks(env, params, trained, *sizes, key, values=values, with_actions=False)
