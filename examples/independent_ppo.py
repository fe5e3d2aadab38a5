"""Independent PPO on `loan_simple` in one compiled program, over JaxMARL's interface.

Every agent has its own actor, critic and observations, and treats the others as part
of the environment. Environments, episodes and updates are one `lax.scan`, as in JaxMARL's
baselines.

    python examples/independent_ppo.py
"""

import argparse
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import fairgym
from fairgym.adapters.jaxmarl import JaxMarlEnv

NUM_ENVS, NUM_STEPS, NUM_MINIBATCHES, UPDATE_EPOCHS = 16, 50, 4, 4
GAMMA, GAE_LAMBDA, CLIP_EPS, ENT_COEF, LEARNING_RATE = 0.99, 0.95, 0.2, 0.001, 1e-3
STD = 0.5  # of a logit at the start


class ActorCritic(eqx.Module):
    """A Gaussian over logits, whose sigmoid is the action, and a value."""

    actor: eqx.nn.MLP
    critic: eqx.nn.MLP
    log_std: jax.Array

    def __init__(self, inputs: int, outputs: int, key: Any) -> None:
        actor_key, critic_key = jax.random.split(key)
        self.actor = eqx.nn.MLP(inputs, outputs, 32, 2, jax.nn.tanh, key=actor_key)
        self.critic = eqx.nn.MLP(inputs, 1, 32, 2, jax.nn.tanh, key=critic_key)
        self.log_std = jnp.full((outputs,), jnp.log(STD))

    def log_prob(self, observations: jax.Array, logits: jax.Array) -> jax.Array:
        z = (logits - self.actor(observations)) / jnp.exp(self.log_std)
        return -jnp.sum(0.5 * z**2 + self.log_std)

    def value(self, observations: jax.Array) -> jax.Array:
        return self.critic(observations)[0]


class Transition(NamedTuple):
    """What an agent remembers of a step."""

    observations: jax.Array
    logits: jax.Array
    log_prob: jax.Array
    value: jax.Array
    reward: jax.Array
    done: jax.Array


def squashed(observations: jax.Array) -> jax.Array:
    """Inputs of networks: dollars and months in one size."""
    return jnp.sign(observations) * jnp.log1p(jnp.abs(observations))


def gae(steps: Transition, last: jax.Array) -> jax.Array:
    """Generalised advantage estimates (Schulman et al. 2016)."""

    def back(carry: Any, step: Transition) -> Any:
        advantage, following = carry
        alive = 1.0 - step.done
        delta = step.reward + GAMMA * following * alive - step.value
        advantage = delta + GAMMA * GAE_LAMBDA * alive * advantage
        return (advantage, step.value), advantage

    return jax.lax.scan(back, (jnp.zeros_like(last), last), steps, reverse=True)[1]


def loss(network: ActorCritic, batch: Any) -> jax.Array:
    """PPO's clipped loss of one agent."""
    steps, advantages = batch
    log_probs = jax.vmap(network.log_prob)(steps.observations, steps.logits)
    values = jax.vmap(network.value)(steps.observations)
    ratio = jnp.exp(log_probs - steps.log_prob)
    normal = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    clipped = jnp.clip(ratio, 1.0 - CLIP_EPS, 1.0 + CLIP_EPS)
    policy_loss = -jnp.minimum(ratio * normal, clipped * normal).mean()
    value_loss = ((values - steps.value - advantages) ** 2).mean()
    return policy_loss + 0.5 * value_loss - ENT_COEF * jnp.sum(network.log_std)


def make_update(env: JaxMarlEnv, optimiser: Any) -> Any:
    """A round of experience and learning, compiled."""

    def act(networks: Any, observations: Any, key: Any) -> Any:
        found, keys = {}, jax.random.split(key, len(env.agents))
        for agent, agent_key in zip(env.agents, keys, strict=True):
            network, inputs = networks[agent], squashed(observations[agent])
            noise = jax.random.normal(agent_key, network.log_std.shape)
            logits = network.actor(inputs) + jnp.exp(network.log_std) * noise
            value = network.value(inputs)
            found[agent] = (inputs, logits, network.log_prob(inputs, logits), value)
        return found

    @eqx.filter_jit
    def update(networks: Any, memories: Any, observations: Any, states: Any, key: Any) -> Any:
        arrays, rest = eqx.partition(networks, eqx.is_array)

        def step(carry: Any, key: Any) -> Any:
            observations, states = carry
            act_key, env_key = jax.random.split(key)
            acted = jax.vmap(lambda s, k: act(networks, s, k))(
                observations, jax.random.split(act_key, NUM_ENVS)
            )
            actions = {agent: jax.nn.sigmoid(acted[agent][1]) for agent in env.agents}
            keys = jax.random.split(env_key, NUM_ENVS)
            observations, states, rewards, dones, infos = jax.vmap(env.step)(keys, states, actions)
            done = dones["__all__"].astype(jnp.float32)
            remembered = {a: Transition._make([*acted[a], rewards[a], done]) for a in env.agents}
            metrics = {name: x[:, 0] for name, x in infos["metrics"].items()}  # equal for all
            return (observations, states), (remembered, metrics, done)

        keys = jax.random.split(key, NUM_STEPS + 1)
        (observations, states), (steps, metrics, done) = jax.lax.scan(
            step, (observations, states), keys[1:]
        )
        learned = {}
        for agent in env.agents:
            last = jax.vmap(networks[agent].value)(squashed(observations[agent]))
            batch = steps[agent], gae(steps[agent], last)
            flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch)
            learned[agent] = learn(arrays[agent], rest[agent], memories[agent], flat, keys[0])
        networks = {a: eqx.combine(one[0], rest[a]) for a, one in learned.items()}
        ends = {n: jnp.sum(x * done) / jnp.maximum(done.sum(), 1.0) for n, x in metrics.items()}
        return networks, {a: one[1] for a, one in learned.items()}, observations, states, ends

    def learn(arrays: Any, rest: Any, memory: Any, flat: Any, key: Any) -> Any:
        size = NUM_ENVS * NUM_STEPS

        def minibatch(carry: Any, rows: Any) -> Any:
            arrays, memory = carry
            batch = jax.tree.map(lambda x: x[rows], flat)
            slope = jax.grad(lambda a: loss(eqx.combine(a, rest), batch))(arrays)
            change, memory = optimiser.update(slope, memory, arrays)
            return (optax.apply_updates(arrays, change), memory), None

        orders = [jax.random.permutation(k, size) for k in jax.random.split(key, UPDATE_EPOCHS)]
        rows = jnp.stack(orders).reshape(UPDATE_EPOCHS * NUM_MINIBATCHES, -1)
        return jax.lax.scan(minibatch, (arrays, memory), rows)[0]

    return update


def main(updates: int) -> list[dict[str, float]]:
    """Train, and print metrics of the episodes that ended in a round of experience."""
    system = fairgym.make("loan_simple", population=100, horizon=25)
    env = JaxMarlEnv(system, objective="direct-fair", failure_penalty=0.4)
    keys = jax.random.split(jax.random.key(0), env.num_agents + 2)
    networks = {
        agent: ActorCritic(
            env.observation_space(agent).shape[0], env.action_space(agent).shape[0], key
        )
        for agent, key in zip(env.agents, keys[2:], strict=True)
    }
    optimiser = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(LEARNING_RATE))
    memories = {a: optimiser.init(eqx.filter(n, eqx.is_array)) for a, n in networks.items()}
    observations, states = jax.vmap(env.reset)(jax.random.split(keys[0], NUM_ENVS))
    update, history = make_update(env, optimiser), []
    for number in range(updates):
        key = jax.random.fold_in(keys[1], number)
        networks, memories, observations, states, ends = update(
            networks, memories, observations, states, key
        )
        history.append({name: float(value) for name, value in ends.items()})
        if number % max(1, updates // 10) == 0 or number == updates - 1:
            shown = ("profit", "admission_disparity", "wait_disparity", "default_disparity")
            print(number, {n: round(history[-1][n], 3) for n in shown}, flush=True)
    profit = [found["profit"] for found in history]
    first, last = np.mean(profit[:5]), np.mean(profit[-5:])
    print(f"profit of an episode: {first:.0f} at first, {last:.0f} in the end")
    return history


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--updates", type=int, default=100, help="rounds of experience")
    main(parser.parse_args().updates)
