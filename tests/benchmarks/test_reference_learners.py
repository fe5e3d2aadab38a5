"""The comparison with stable-baselines3: its verdict, and equal settings on both sides."""

import numpy as np


def test_the_ends_of_curves_are_compared(benchmark_script):
    """Ten points, of which the last one is the end: 2.0 against 2.0 and against 3.0."""
    script = benchmark_script("reference_learners")
    noise = 0.01 * np.array([-1.0, 0.0, 1.0, 0.0])[:, None]
    curve = np.linspace(0.2, 2.0, 10) + noise
    same = script.compared({script.OURS: curve, script.THEIRS: curve[::-1]})
    assert same.startswith("fairgym 2 [1.987, 2.013]") and same.endswith("alike within 0.2: holds")
    other = script.compared({script.OURS: curve, script.THEIRS: curve + 1.0})
    assert "fairgym minus stable-baselines3 -1 [" in other
    assert other.endswith("alike within 0.3: contradicted")


def test_the_systems_are_those_of_the_page(benchmark_script):
    script = benchmark_script("reference_learners")
    made = {system.name: system.make() for system in script.SYSTEMS}
    assert set(made) == {"bank_loans", "attention", "epidemic", "doughnut"}
    features = made["doughnut"].observation_space("server").features
    assert len(features) == 2  # who is present, and the memory
    steps = {system.steps_per_round(made[system.name].horizon) for system in script.SYSTEMS[:3]}
    assert steps == {script.ROUND}
    assert script.SYSTEMS[3].steps_per_round(100) == 2_000
