"""purejaxrl's `ppo.py`, from its repository.

purejaxrl is in no released package. Where its repository cannot be reached, the wrappers that
gymnax has taken from it are run instead, and the last line says so.
"""

import functools
import sys

import gymnax
import jax
import jax.numpy as jnp
import numpy as np
from gymnax.wrappers.purerl import FlattenObservationWrapper, LogWrapper
from small import CONTINUOUS, DISCRETE, STEPS, ran, report, repository, small

from fairgym.adapters.gymnax import GymnaxEnv

CONFIG = {
    "LR": 2.5e-4,
    "NUM_ENVS": 4,
    "NUM_STEPS": 4 * STEPS,
    "TOTAL_TIMESTEPS": 2 * 4 * 4 * STEPS,
    "UPDATE_EPOCHS": 2,
    "NUM_MINIBATCHES": 2,
    "GAMMA": 0.99,
    "GAE_LAMBDA": 0.95,
    "CLIP_EPS": 0.2,
    "ENT_COEF": 0.01,
    "VF_COEF": 0.5,
    "MAX_GRAD_NORM": 0.5,
    "ACTIVATION": "tanh",
    "ANNEAL_LR": True,
    "DEBUG": False,
}
runs: dict[str, list[str]] = {}
source, words = repository()
if source:
    sys.path.insert(0, str(source))
    from purejaxrl.ppo import make_train

    for name in DISCRETE:
        gymnax.register(f"fairgym/{name}", functools.partial(GymnaxEnv, small(name)))
        train = make_train({**CONFIG, "ENV_NAME": f"fairgym/{name}"})
        metrics = jax.jit(train)(jax.random.PRNGKey(0))["metrics"]
        assert metrics["returned_episode"].sum() == 2 * 4 * 4, "every episode ends"
        assert np.isfinite(metrics["returned_episode_returns"]).all()
        ran(runs, "ppo.py of its repository", name)


def wrapped(name):
    """Make random steps in gymnax's copies of purejaxrl's wrappers."""
    plain = GymnaxEnv(small(name), step_values=6)
    env, params = LogWrapper(FlattenObservationWrapper(plain)), plain.default_params
    envs = CONFIG["NUM_ENVS"]

    def step(state, key):
        keys = jax.random.split(key, envs)
        action = jax.vmap(env.action_space(params).sample)(keys)
        _, state, reward, *_, info = jax.vmap(env.step, (0, 0, 0, None))(
            keys, state, action, params
        )
        return state, (reward, info["returned_episode"])

    @jax.jit
    def play(key):
        _, state = jax.vmap(env.reset, (0, None))(jax.random.split(key, envs), params)
        return jax.lax.scan(step, state, jax.random.split(key, 3 * STEPS))[1]

    rewards, ended = play(jax.random.PRNGKey(0))
    assert jnp.isfinite(rewards).all() and int(ended.sum()) >= 3 * envs
    ran(runs, "its wrappers in gymnax", name)


for name in (*DISCRETE, *CONTINUOUS):
    wrapped(name)

report("purejaxrl", "gymnax", runs, f" of gymnax{words}")
