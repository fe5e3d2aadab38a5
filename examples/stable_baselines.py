"""Stable-Baselines3's PPO on `bank_loans`, and on one agent of `loan` with the others fixed.

pip install -e ".[data,interop]" -r examples/requirements-stable-baselines.txt
python examples/stable_baselines.py
"""

import argparse
from typing import Any

import numpy as np

import fairgym
from fairgym.adapters.gymnasium import GymnasiumEnv

SHOWN = ("profit", "tpr", "tpr_disparity", "admission_rate", "default_rate", "default_disparity")


def make_bank_loans() -> GymnasiumEnv:
    """The bank decides about one applicant at a time; it is paid for profit."""
    return GymnasiumEnv(fairgym.make("bank_loans", horizon=500), objective="direct")


def make_debt_management() -> GymnasiumEnv:
    """Relief for two groups; admissions are half strict, the first to come is paid out first."""
    return GymnasiumEnv(
        fairgym.make("loan", population=200),
        agent="debt_management",
        fixed={"admissions": 0.5, "disbursement": "first-come"},
        objective="direct-fair",
        failure_penalty=0.25,
    )


def measured(model: Any, env: GymnasiumEnv, scaled: Any, episodes: int = 5) -> dict[str, float]:
    """Means of metrics over episodes of the learned policy; `scaled` scales observations."""
    found = []
    for seed in range(episodes):
        seen, _ = env.reset(seed=1_000 + seed)
        over, info = False, {}
        while not over:
            action, _ = model.predict(scaled.normalize_obs(seen), deterministic=True)
            seen, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        found.append(info["metrics"])
    names = [name for name in SHOWN if all(name in one for one in found)]
    return {name: round(float(np.mean([one[name] for one in found])), 3) for name in names}


def main(steps: int) -> None:
    """Train on both, and print metrics before and after."""
    from stable_baselines3 import PPO  # pyright: ignore
    from stable_baselines3.common.env_checker import check_env  # pyright: ignore
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # pyright: ignore

    # Relief tells after years, and shares in [0, 1] are explored in tenths: PPO's usual noise, of
    # size 1, would give nothing or everything by turns.
    patient = {"gamma": 0.995, "policy_kwargs": {"log_std_init": -2.0}}
    for make, changed in ((make_bank_loans, {}), (make_debt_management, patient)):
        env = make()
        check_env(env)
        # dollars and months in one size
        scaled = VecNormalize(DummyVecEnv([make]), gamma=changed.get("gamma", 0.99))
        model = PPO(
            "MlpPolicy", scaled, seed=0, n_steps=1_000, batch_size=100, device="cpu", **changed
        )
        model.learn(total_timesteps=1)  # one round, from which the scales are known
        before = measured(model, env, scaled)
        model.learn(total_timesteps=steps)
        after = measured(model, env, scaled)
        print(f"{env.environment.name}: {before} at first, {after} in the end", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=20_000, help="environment steps of each")
    main(parser.parse_args().steps)
