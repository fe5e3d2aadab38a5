"""The preset "authors": settings of F-PPO's authors, the same as in the experiments."""

import pytest

from fairgym.benchmark.presets import preset_of
from fairgym.cli.train import plan_of
from fairgym.core import FairgymError
from fairgym.experiments.fppo._systems import A_PPO, ATTENTION, BANK_LOANS, EPIDEMIC, F_PPO, PPO

OBSERVED = (
    (BANK_LOANS, ["--memory", "rates", "--no-shows-cash"]),
    (ATTENTION, ["--memory", "rates"]),
    (EPIDEMIC, []),
)


@pytest.mark.parametrize("label", [PPO, A_PPO, F_PPO])
@pytest.mark.parametrize(("system", "flags"), OBSERVED, ids=lambda one: getattr(one, "name", ""))
def test_the_preset_of_the_authors_is_the_learner_of_the_experiment(system, flags, label):
    expected = system.config(label, system.sizes["paper"], **system.of_code(label))
    words = [system.name, "--algorithm", expected.algorithm, *flags, "--preset", "authors"]
    for name in ("epochs", "episodes_per_epoch"):
        words += [f"--{name.replace('_', '-')}", str(expected.algorithm_args[name])]
    found, wanted = plan_of(words).config.build(), expected.build()
    assert found.algorithm == wanted.algorithm and found.env == wanted.env
    assert found.objective == wanted.objective


def test_a_flag_wins_against_the_preset_of_the_authors():
    words = ["epidemic", "--algorithm", "f-ppo", "--preset", "authors", "--delta", "0.2"]
    arguments = plan_of(words).config.algorithm_args
    assert arguments["delta"] == 0.2 and arguments["threshold_start"] == 50


@pytest.mark.parametrize(("environment", "algorithm"), [("loan", "ppo"), ("attention", "cpo")])
def test_the_authors_have_no_other_learners_and_systems(environment, algorithm):
    got = f"ppo, a-ppo, f-ppo in .*, got {algorithm} in {environment}"
    with pytest.raises(FairgymError, match=got):
        preset_of("authors", environment, algorithm)
