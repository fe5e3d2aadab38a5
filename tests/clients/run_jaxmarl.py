"""JaxMARL: its wrappers, and its IPPO, MAPPO and Q-learning programs from its repository.

The released package has the wrappers only. Where the repository cannot be reached, the programs are
left out, and the last line has no row of them.
"""

import importlib
import os
import sys

import jax
import jax.numpy as jnp
import jaxmarl
from jaxmarl.environments import MultiAgentEnv
from jaxmarl.wrappers.baselines import CTRolloutManager, LogWrapper
from small import DISCRETE, SEVERAL, STEPS, ran, report, repository, small

from fairgym.adapters.jaxmarl import JaxMarlEnv

ENVS = 4
SHARED = {
    "ENV_NAME": "fairgym",
    "NUM_ENVS": ENVS,
    "NUM_STEPS": 2 * STEPS,
    "TOTAL_TIMESTEPS": 2 * 2 * STEPS * ENVS,
    "GAMMA": 0.99,
    "MAX_GRAD_NORM": 0.5,
    "LR": 1e-3,
}
POLICY_GRADIENT = SHARED | {
    "UPDATE_EPOCHS": 2,
    "NUM_MINIBATCHES": 2,
    "GAE_LAMBDA": 0.95,
    "CLIP_EPS": 0.2,
    "ENT_COEF": 0.01,
    "VF_COEF": 0.5,
    "ANNEAL_LR": True,
}
IPPO = POLICY_GRADIENT | {"ACTIVATION": "tanh"}
MAPPO = POLICY_GRADIENT | {"FC_DIM_SIZE": 16, "GRU_HIDDEN_DIM": 16, "SCALE_CLIP_EPS": False}
IQL = SHARED | {
    "BUFFER_SIZE": 400,
    "BUFFER_BATCH_SIZE": 4,
    "HIDDEN_SIZE": 16,
    "EPS_START": 1.0,
    "EPS_FINISH": 0.05,
    "EPS_DECAY": 0.1,
    "NUM_EPOCHS": 2,
    "LEARNING_STARTS": 0,
    "TARGET_UPDATE_INTERVAL": 1,
    "TAU": 1.0,
    "TEST_DURING_TRAINING": True,
    "TEST_INTERVAL": 0.5,
    "TEST_NUM_ENVS": ENVS,
    "TEST_NUM_STEPS": STEPS,
    "WANDB_MODE": "disabled",
}
runs: dict[str, list[str]] = {}
source, words = repository()


def program(folder, name):
    """Import one of JaxMARL's programs from its repository."""
    sys.path.insert(0, str(source / "baselines" / folder))
    return importlib.import_module(name)


def finite(tree):
    """Whether all numbers of a tree are finite."""
    leaves = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.floating)]
    return bool(leaves) and all(bool(jnp.isfinite(x).all()) for x in leaves)


def logged(name):
    """Make random steps in JaxMARL's log, which wants one number per agent in `infos`."""
    env = JaxMarlEnv(small(name), padded=name in SEVERAL)
    assert isinstance(env, MultiAgentEnv)
    log = LogWrapper(env)

    def step(state, key):
        keys = jax.random.split(key, ENVS)
        actions = {a: jax.vmap(env.action_space(a).sample)(keys) for a in env.agents}
        seen, state, rewards, _, infos = jax.vmap(log.step)(keys, state, actions)
        infos = jax.tree.map(lambda x: x.reshape(ENVS * env.num_agents), infos)
        return state, (seen, rewards, infos["returned_episode"])

    @jax.jit
    def play(key):
        _, state = jax.vmap(log.reset)(jax.random.split(key, ENVS))
        return jax.lax.scan(step, state, jax.random.split(key, 3 * STEPS))[1]

    seen, rewards, ended = play(jax.random.PRNGKey(0))
    assert finite((seen, rewards)) and int(ended.sum()) >= 3 * ENVS * env.num_agents
    assert name not in SEVERAL or len({x.shape for x in seen.values()}) == 1, "of one size"
    ran(runs, "LogWrapper", name)


for name in (*DISCRETE, *SEVERAL):
    logged(name)

for name in DISCRETE:
    manager = CTRolloutManager(LogWrapper(JaxMarlEnv(small(name))), batch_size=ENVS)
    seen, state = manager.batch_reset(jax.random.PRNGKey(0))
    for number in range(STEPS):
        key = jax.random.PRNGKey(number)
        actions = {agent: manager.batch_sample(key, agent) for agent in manager.agents}
        seen, state, rewards, dones, _ = manager.batch_step(key, state, actions)
        assert seen[manager.agents[0]].shape == (ENVS, manager.obs_size)
        assert finite((seen, rewards))
    assert dones["__all__"].all()
    ran(runs, "CTRolloutManager", name)

if source:
    os.environ["WANDB_MODE"] = "disabled"
    import wandb

    wandb.init()
    key = jax.random.PRNGKey(0)
    for name in DISCRETE:
        env = JaxMarlEnv(small(name), padded=True)
        jaxmarl.make = lambda _, env=env: env
        trained = jax.jit(program("IPPO", "ippo_ff_mpe").make_train({**IPPO, "ENV_KWARGS": {}}))(
            key
        )
        assert finite(trained["metrics"])
        ran(runs, "ippo_ff_mpe.py", name)
        mappo = program("MAPPO", "mappo_rnn_mpe").make_train({**MAPPO, "ENV_KWARGS": {}})
        assert finite(jax.jit(mappo)(key)["runner_state"][0][0][0].params)
        ran(runs, "mappo_rnn_mpe.py", name)
        iql = program("QLearning", "iql_rnn").make_train(dict(IQL), LogWrapper(env))
        assert finite(jax.jit(iql)(key)["runner_state"][0].params)
        ran(runs, "iql_rnn.py", name)

report("JaxMARL", "jaxmarl", runs, words)
