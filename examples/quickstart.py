"""The ten lines of the README: a bank with fixed rules, for 400 months."""

import jax

import fairgym
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies

fairgym.configure()  # every core, compiled programs kept for the next time
env = fairgym.make("loan", population=10_000)
params = env.default_params.replace(deposit_rate=0.02)
policies = fixed_policies(
    env, {"admissions": 0.5, "disbursement": "first-come", "debt_management": (0.12, 0.18)}
)
episode = jax.jit(lambda key: fairgym.rollout(env, params, policies, key))(jax.random.key(0))
print(Objective.uniform(env).values(episode.totals), env.census(episode.final_state))
