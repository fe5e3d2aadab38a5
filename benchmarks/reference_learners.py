"""fairgym's PPO and DQN beside those of stable-baselines3: same settings, same number of steps.

    python -m venv build/sb3
    build/sb3/bin/pip install -e ".[data,interop,plot]" -r benchmarks/requirements-sb3.txt
    build/sb3/bin/python benchmarks/reference_learners.py --seeds 5 --out build/reference

PPO learns bank_loans, attention and epidemic; DQN learns doughnut with a dense memory. Both
libraries have one environment, networks of the same size and activation, and normalised inputs and
returns (stable-baselines3 by `VecNormalize`, fairgym by `normalise_inputs` and by the standardised
returns of its critic). fairgym's PPO is also trained as it is by default, with inputs as they are.
Weights begin as in either library. In attention both act by logits, of which a softmax is
apportioned. PPO is scored by its episodes of training, DQN by a greedy episode after each one.

No setting removes these differences. The critic's loss of PPO is Huber's here and squared there;
DQN's loss is squared here and Huber's there. stable-baselines3 scales the rewards, fairgym only the
targets of its critic. It clips attention's logits to -3 and 3, and its DQN acts at random in the
first 100 steps.

For each system it prints the mean score of an episode at the end of training, its difference with
Welch's 95% interval over seeds, an equivalence test, and the seconds of a run; it writes the curves
as CSV and PNG.
"""

import argparse
import csv
import dataclasses
import functools
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

import fairgym
from fairgym.adapters.gymnasium import GymnasiumEnv
from fairgym.algorithms import algorithms
from fairgym.core import Environment
from fairgym.experiments._showing import Curves, curves_figure
from fairgym.fairness import Objective
from fairgym.report.svg import png
from fairgym.statistics.checks import Check
from fairgym.statistics.intervals import mean_interval

OURS, PLAIN, THEIRS = "fairgym", "fairgym, default inputs", "stable-baselines3"
ROUND = 2_048  # steps between two updates of PPO, and between two points of a curve
MARGIN = 0.1  # share of the score by which equivalent learners may differ
LAST = 0.1  # share of the points of a curve that are its end
# Hyperparameters of both, by the names of fairgym.
PPO = {
    "learning_rate": 3e-4,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip_eps": 0.2,
    "update_epochs": 10,
    "num_minibatches": 32,
    "init_std": 1.0,
    "max_std": 1_000.0,  # no limit, as in stable-baselines3
    "max_grad_norm": 0.5,
}
LAYERS = (64, 64)
DQN = {
    "learning_rate": 1e-3,
    "gamma": 0.95,
    "buffer_size": 5_000,
    "batch_size": 64,
    "learning_starts": 100,
    "target_network_frequency": 200,
}
EPSILON, HIDDEN = 0.2, (32, 16)


@dataclasses.dataclass(frozen=True)
class System:
    """A system, its learner, and the steps of training at full length.

    Attributes:
        name: Name of the environment.
        arguments: Its arguments.
        memory: Name of the memory that agents observe.
        learner: "ppo" or "dqn".
        steps: Steps of training.
    """

    name: str
    steps: int
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    memory: str = ""
    learner: str = "ppo"

    def make(self) -> Environment:
        """Return the environment."""
        env = fairgym.make(self.name, **self.arguments)
        return fairgym.wrappers.augmented(env, self.memory) if self.memory else env

    def steps_per_round(self, horizon: int) -> int:
        """Return the steps between two points of a curve; whole episodes for DQN."""
        return ROUND if self.learner == "ppo" else max(1, round(ROUND / horizon)) * horizon


SYSTEMS = (
    System("bank_loans", 200_000),
    System("attention", 200_000),
    System("epidemic", 200_000),
    System("doughnut", 50_000, {"population": 5, "horizon": 100}, "full", "dqn"),
)


def ours(system: System, seed: int, rounds: int, normalise_inputs: bool = True) -> np.ndarray:
    """Return the mean score of an episode in each round of training, (rounds,)."""
    env = system.make()
    objective = Objective.published(env)
    episodes = max(1, round(ROUND / env.horizon))
    length = {"epochs": rounds, "episodes_per_epoch": episodes}
    if system.learner == "ppo":
        learner = algorithms.get("ppo")(
            **PPO,
            **length,
            num_envs=1,
            num_steps=ROUND,
            layers=LAYERS,
            critic_layers=LAYERS,
            normalise_inputs=normalise_inputs,
            evaluation_episodes=1,
        )
    else:
        explored = {"epsilon_start": EPSILON, "epsilon_end": EPSILON, "epsilon_decay": 1.0}
        settings = {**DQN, **length, **explored, "hidden": HIDDEN, "input_code": "scaled"}
        learner = algorithms.get("dqn")(**settings)
    state = learner.init(jax.random.key(seed), env, objective)
    found = []
    for _ in range(rounds):
        state, log = learner.update(state)
        found.append(float(log["step_reward" if system.learner == "ppo" else "objective"]))
    return np.array(found)


def theirs(system: System, seed: int, rounds: int) -> np.ndarray:
    """Return the same for stable-baselines3."""
    import stable_baselines3 as sb3  # pyright: ignore[reportMissingImports]
    import torch  # pyright: ignore[reportMissingImports]
    from stable_baselines3.common.callbacks import (  # pyright: ignore[reportMissingImports]
        BaseCallback,
    )
    from stable_baselines3.common.vec_env import (  # pyright: ignore[reportMissingImports]
        DummyVecEnv,
        VecNormalize,
    )

    torch.set_num_threads(1)
    env = system.make()
    made = DummyVecEnv([lambda: _by_logits(env) if system.name == "attention" else _adapter(env)])
    horizon = env.horizon
    steps = system.steps_per_round(horizon)
    greedy = _adapter(env)

    class Scores(BaseCallback):
        """Score of an episode in each round: of training, or greedy ones after each episode."""

        def __init__(self) -> None:
            super().__init__()
            self.found: list[float] = []
            self.scores: list[float] = []

        def _on_step(self) -> bool:
            if system.learner == "ppo":
                (reward,) = self.training_env.get_original_reward()
                self.scores.append(float(reward) * horizon)
            elif self.num_timesteps % horizon == 0:
                self.scores.append(_greedy(self.model, greedy, self.num_timesteps))
            if self.num_timesteps % steps == 0:
                self.found.append(float(np.mean(self.scores)))
                self.scores = []
            return True

    scores = Scores()
    if system.learner == "ppo":
        training = VecNormalize(made, gamma=PPO["gamma"])
        model = sb3.PPO(
            "MlpPolicy",
            training,
            seed=seed,
            device="cpu",
            n_steps=ROUND,
            batch_size=ROUND // int(PPO["num_minibatches"]),
            n_epochs=int(PPO["update_epochs"]),
            learning_rate=PPO["learning_rate"],
            gamma=PPO["gamma"],
            gae_lambda=PPO["gae_lambda"],
            clip_range=PPO["clip_eps"],
            max_grad_norm=PPO["max_grad_norm"],
            policy_kwargs={"net_arch": list(LAYERS), "log_std_init": 0.0},
        )
    else:
        model = sb3.DQN(
            "MlpPolicy",
            made,
            seed=seed,
            device="cpu",
            learning_rate=DQN["learning_rate"],
            gamma=DQN["gamma"],
            buffer_size=int(DQN["buffer_size"]),
            batch_size=int(DQN["batch_size"]),
            learning_starts=int(DQN["learning_starts"]),
            target_update_interval=int(DQN["target_network_frequency"]),
            train_freq=1,
            gradient_steps=1,
            exploration_initial_eps=EPSILON,
            exploration_final_eps=EPSILON,
            policy_kwargs={"net_arch": list(HIDDEN)},
        )
    model.learn(total_timesteps=rounds * steps, callback=scores)
    return np.array(scores.found[:rounds])


def _adapter(env: Environment) -> GymnasiumEnv:
    """Return the environment for stable-baselines3."""
    return GymnasiumEnv(env, objective="published", scaled=True)


def _greedy(model: Any, env: GymnasiumEnv, seed: int) -> float:
    """Return the score of an episode of the greedy policy."""
    seen, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        action, _ = model.predict(seen, deterministic=True)
        seen, reward, terminated, truncated, _ = env.step(action)
        total, over = total + float(reward), terminated or truncated
    return total


def _by_logits(env: Environment) -> Any:
    """Return attention with logits as actions, from -3 to 3 as in the authors' code."""
    import gymnasium

    class Logits(gymnasium.ActionWrapper):
        """Softmax of logits; the adapter apportions the units."""

        def __init__(self) -> None:
            super().__init__(_adapter(env))
            (agent,) = env.agents
            size = len(env.action_space(agent).elements)
            self.action_space = gymnasium.spaces.Box(-3.0, 3.0, (size,), np.float32)

        def action(self, action: np.ndarray) -> np.ndarray:
            weights = np.exp(action - np.max(action))
            return weights / weights.sum()

    return Logits()


def compared(curves: Mapping[str, np.ndarray]) -> str:
    """Return both scores at the end of training, their difference and whether they are alike."""
    ends = {}
    for label, rows in curves.items():
        last = max(1, round(LAST * rows.shape[1]))
        ends[label] = rows[:, -last:].mean(axis=1)
    told = [
        f"{label} {mean:.4g} [{low:.4g}, {high:.4g}]"
        for label, (mean, low, high) in ((n, mean_interval(x)) for n, x in ends.items())
    ]
    margin = MARGIN * abs(float(ends[THEIRS].mean()))
    for label in ends:
        if label != THEIRS:
            check = Check.alike("", ends[label], ends[THEIRS], margin)
            difference = f"{check.estimate:.3g} [{check.low:.3g}, {check.high:.3g}]"
            outcome = f"alike within {margin:.3g}: {check.outcome}"
            told.append(f"{label} minus {THEIRS} {difference}, {outcome}")
    return "; ".join(told)


def main() -> None:
    """Train both in every system, print the comparison, and write the curves."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    names = [system.name for system in SYSTEMS]
    parser.add_argument("--systems", nargs="+", choices=names, default=names)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--share", type=float, default=1.0, help="share of the steps of training")
    parser.add_argument("--out", type=Path, default=Path("build/reference"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    panels = []
    for system in (one for one in SYSTEMS if one.name in given.systems):
        length = system.steps_per_round(system.make().horizon)
        rounds = max(2, round(given.share * system.steps / length))
        learners = {OURS: ours, PLAIN: functools.partial(ours, normalise_inputs=False)}
        if system.learner == "dqn":
            del learners[PLAIN]
        curves, seconds = {}, {}
        for label, learn in {**learners, THEIRS: theirs}.items():
            start = time.perf_counter()
            curves[label] = np.stack([learn(system, seed, rounds) for seed in range(given.seeds)])
            seconds[label] = (time.perf_counter() - start) / given.seeds
        print(f"{system.name}, {rounds * length:,} steps: {compared(curves)}")
        times = (f"{label} {spent:.0f}" for label, spent in seconds.items())
        print(f"{system.name}, seconds of a run: {', '.join(times)}", flush=True)
        steps = length * np.arange(1, rounds + 1)
        with (given.out / f"{system.name}.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["learner", "seed", *steps])
            for label, rows in curves.items():
                table.writerows([label, seed, *row] for seed, row in enumerate(rows))
        lines = {label: (steps, rows) for label, rows in curves.items()}
        title = f"{system.name}, {system.learner.upper()}"
        panels.append(Curves(lines, "environment step", "score of an episode", title))
    (given.out / "curves.png").write_bytes(png(curves_figure(panels, 2, 2.6), dpi=120))


if __name__ == "__main__":
    main()
