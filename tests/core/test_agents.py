"""An agent that there is not is refused in a sentence, wherever one is named."""

import jax
import pytest
from room import Room
from sized import of_size
from toys import Toy

import fairgym
from fairgym.core import FairgymError, record, require_agent
from fairgym.core.environment import require_agents
from fairgym.fairness import Objective
from fairgym.policies import FirstCome, Random, fixed_policies
from fairgym.training import evaluate
from fairgym.utils.registry import environments
from fairgym.wrappers import AutoReset, EndsAfter, NeverEnds

KEY = jax.random.key(0)
# those of other tests in this process apart
NAMES = [n for n in environments.names() if environments.get(n).__module__.startswith("fairgym.")]
MADE = {name: of_size(name, 20, horizon=3) for name in NAMES}
MADE |= {"toy": Toy(population=6, horizon=3), "room": Room()}
MADE |= {
    "ends-after": EndsAfter(MADE["loan_simple"], 2),
    "never-ends": NeverEnds(MADE["loan_simple"]),
    "auto-reset": AutoReset(MADE["loan_simple"]),
}


@pytest.fixture(params=MADE)
def env(request):
    return MADE[request.param]


def told(env, problem="unknown agent 'landlord'"):
    """The sentence, which names the agents that there are."""
    return pytest.raises(
        FairgymError, match=f"^{problem}; {env.name} has the agents: {', '.join(env.agents)}(\n|$)"
    )


def test_spaces_of_an_unknown_agent(env):
    for space in (env.action_space, env.observation_space):
        with told(env):
            space("landlord")
        assert space(env.agents[0]) is space(env.agents[0])


def test_actions_and_policies_of_unknown_and_missing_agents(env):
    first = env.agents[0]
    state = jax.eval_shape(env.reset, KEY, env.default_params)[1]
    actions = {agent: env.action_space(agent).sample(KEY) for agent in env.agents}
    policies = {agent: Random(env.action_space(agent)) for agent in env.agents}

    def use(function, given):
        jax.eval_shape(lambda s: function(KEY, s, given, env.default_params), state)

    def act(given):
        return fairgym.rollout(env, env.default_params, given, KEY)

    for change, problem in (
        (lambda given: given | {"landlord": given[first]}, "unknown agent 'landlord'"),
        (lambda given: {a: x for a, x in given.items() if a != first}, f"no {{}} for '{first}'"),
    ):
        for function in (env.step, env.advance):
            with told(env, problem.format("action")):
                use(function, change(actions))
        with told(env, problem.format("policy")):
            act(change(policies))
        with told(env, problem.format("policy")):
            evaluate(env, env.default_params, change(policies), KEY, 2)
        with told(env, problem.format("policy")):
            record(env, env.default_params, change(policies), KEY, 2, pick=lambda step: step)


def test_what_is_no_mapping_is_told(env):
    for given, kind in ((None, "None"), ([1, 2], "a list")):
        problem = f"{kind} is given where a mapping has one policy for each agent by name"
        with told(env, problem):
            require_agents(env, given, "policy")
    require_agent(env, env.agents[-1])


def test_other_places_that_name_agents():
    env = MADE["loan_simple"]
    uniform = Objective.uniform(env)
    policies = {agent: Random(env.action_space(agent)) for agent in env.agents}
    with told(env):
        fixed_policies(env, {"landlord": 0.5})
    with told(env):
        FirstCome(env, "landlord")
    with told(env):
        evaluate(env, env.default_params, policies, KEY, 2, objective={"landlord": uniform})
