"""A custom algorithm: evolution strategies, in under 150 lines.

Salimans et al., "Evolution Strategies as a Scalable Alternative to Reinforcement Learning" (2017),
https://arxiv.org/abs/1703.03864. It perturbs the parameters of all policies in antithetic pairs and
runs one episode per candidate. The ranks of the scores weight the perturbations into a gradient for
Adam. Run this file to check the algorithm, train it and compare the policies.
"""

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import fairgym
from fairgym import algorithms as fa
from fairgym.core import param
from fairgym.fairness import Objective
from fairgym.policies import equivariant, split_trainable
from fairgym.testing import check_algorithm


# 1. The state: the fields of every training state and the arrays to train. Checkpoints save them.
class EvolutionState(fa.TrainState):
    """The training state.

    Attributes:
        mean: Trainable parameters: agent -> policy without its static part.
        static: Static part of the policies.
        optimiser: State of Adam.
    """

    mean: dict[str, Any]
    static: dict[str, Any]
    optimiser: Any


# 2. The algorithm: a frozen dataclass of hyperparameters. Every field is a flag and a config key.
@fa.algorithms.register("evolution-strategies")
@dataclasses.dataclass(frozen=True)
class EvolutionStrategies(fa.Algorithm[EvolutionState]):
    """Hyperparameters of evolution strategies."""

    extended_by: ClassVar[str] = "epochs"  # a larger value extends a finished run
    epochs: int = param(20, "Number of gradient steps; each is logged.", low=1)
    pairs: int = param(16, "Antithetic pairs of candidates per epoch, one episode each.", low=1)
    perturbation_std: float = param(0.3, "Standard deviation of perturbations.", low=0, above=True)
    learning_rate: float = param(0.1, "Learning rate of Adam.", low=0, above=True)
    hidden: int = param(8, "Hidden units of the two-layer policies.", low=1)
    evaluation_episodes: int = param(4, "Evaluation episodes per epoch.", low=1)

    @property
    def num_updates(self):
        return self.epochs

    def steps_per_update(self, env):  # the benchmark sets the length of training by it
        return 2 * self.pairs * env.horizon

    @property
    def _optimiser(self):
        return optax.adam(self.learning_rate)

    # 3. The initial state.
    def init(self, key, env, objective, *, params=None, fixed=None):
        fields = fa.init_fields(key, env, objective, params, fixed)
        # fold_in: updates split the key itself
        made = equivariant(env, jax.random.fold_in(key, 1), self.hidden, params=fields["params"])
        mean, static = split_trainable({agent: made[agent] for agent, _ in fields["objectives"]})
        optimiser = self._optimiser.init(mean)
        return EvolutionState(**fields, mean=mean, static=static, optimiser=optimiser)

    def policies(self, state):
        return self._policies(state, state.mean)

    def _policies(self, state, trainable):
        policies = eqx.combine(trainable, state.static) | state.fixed
        return {agent: policies[agent] for agent in state.env.agents}

    # 4. The next state and the log. The state is put on all devices, so an epoch is compiled once.
    def update(self, state):
        return self._epoch(fa.replicated(state))

    @fa.compiled
    def _epoch(self, state):
        key, next_key = state.next_key()
        noise_key, episode_key, mean_key = jax.random.split(key, 3)
        # candidates in antithetic pairs; both get the same people and the same noise
        leaves, structure = jax.tree.flatten(state.mean)
        keys = jax.random.split(noise_key, len(leaves))
        shapes = [(self.pairs, *leaf.shape) for leaf in leaves]
        half = [jax.random.normal(*each) for each in zip(keys, shapes, strict=True)]
        noise = jax.tree.unflatten(structure, [jnp.concatenate([z, -z]) for z in half])
        candidates = jax.tree.map(lambda m, z: m + self.perturbation_std * z, state.mean, noise)
        episodes = fa.run_candidates(
            state.env,
            state.params,
            lambda trainable: self._policies(state, trainable),
            candidates,
            jnp.tile(jax.random.split(episode_key, self.pairs), 2),
        )
        # gradient of each agent's score, from the ranks of the candidates
        gradient = {}
        for agent, objective in state.objectives:
            scores = jax.vmap(objective.score)(episodes.totals, episodes.memories)
            scores = jnp.where(jnp.isfinite(scores), scores, -jnp.inf)
            weights = jnp.argsort(jnp.argsort(scores)) / (scores.size - 1) - 0.5
            scale = -1.0 / (scores.size * self.perturbation_std)  # minus, since optimisers descend
            gradient[agent] = jax.tree.map(
                lambda z, w=weights, s=scale: s * jnp.tensordot(w, z, 1), noise[agent]
            )
        change, optimiser = self._optimiser.update(gradient, state.optimiser)
        trainable = {"mean": optax.apply_updates(state.mean, change), "optimiser": optimiser}
        state = state.replace(**trainable, key=next_key, updates=state.updates + 1)
        # log separate evaluation episodes of the updated policies
        keys = jax.random.split(mean_key, self.evaluation_episodes)
        measured = fa.run_episodes(state.env, state.params, self.policies(state), keys)
        return state, fa.log_episodes(state.env, state.objectives, measured)


# 5. Check it on a small environment, train on a larger one, compare with the initial policies.
def main(epochs=20, seed=0):
    small = fairgym.make("loan_simple", population=40, horizon=5)
    check_algorithm(EvolutionStrategies(pairs=2, evaluation_episodes=2), small)
    env = fairgym.make("loan_simple", population=300, horizon=30)
    objective, learner = Objective.uniform(env), EvolutionStrategies(epochs=epochs)
    states = [learner.init(jax.random.key(seed), env, objective)]
    for _ in range(learner.num_updates):
        states.append(learner.update(states[-1])[0])
    for name, state in (("untrained", states[0]), ("trained", states[-1])):
        policies, key = learner.policies(state), jax.random.key(1_000)
        episodes = fairgym.evaluate(env, env.default_params, policies, key, 32)
        scores = jax.vmap(objective.score)(episodes.totals, episodes.memories)
        print(f"{name}: objective {scores.mean():.3f} (standard deviation {scores.std():.3f})")


if __name__ == "__main__":
    main()
