"""The comparison of learners end to end, on a very small bank, against its own episodes."""

import dataclasses
import re
from typing import Any, ClassVar

import jax
import numpy as np
import pytest

from fairgym.algorithms import log_keys
from fairgym.experiments import Size, experiments, reproduce
from fairgym.experiments._measurements import HELD_OUT, by_luck
from fairgym.experiments.mafe.learners import (
    LEARNERS,
    REWARD,
    SCORE,
    SURVIVED,
    SYSTEMS,
    UNFAIR,
    UNTRAINED,
    MafeLearners,
    ends,
    steps_per_epoch,
)
from fairgym.training import evaluate

TRAINED = ("F-MAPPO", "ELBERT-PO")  # two compiled programs
SMALL = {"hidden": 8, "critic_hidden": 8, "num_envs": 2, "num_steps": 20, "update_epochs": 1}
HORIZON = 40


class Small(MafeLearners):
    """Two learners on one system; the others are taken to have come to the same as PPO's."""

    sizes: ClassVar = {"quick": Size(people=60, epochs=2, episodes=2, held_out=3, seeds=2)}
    sizes["paper"] = sizes["quick"]
    seen: ClassVar[dict[str, Any]] = {}

    def grid(self, size):
        return {
            f"loan/{label}": dataclasses.replace(
                config,
                environment_args={"population": 60, "horizon": HORIZON},
                algorithm_args={**config.algorithm_args, **SMALL, "evaluation_episodes": 2},
            )
            for label in TRAINED
            for config in [super(Small, self).grid(size)[f"loan/{label}"]]
        }

    def measure(self, size, runs, seeds):
        self.seen.update(runs=runs, data=super().measure(size, runs, seeds))
        return self.seen["data"]

    def conclude(self, data):
        one = data["loan"]["learners"]
        known = {label: one.get(label, one["ELBERT-PO"]) for label in (*LEARNERS, UNTRAINED)}
        loan = data["loan"] | {"learners": known}
        every = {}
        for name, (disparity, _) in SYSTEMS.items():
            text = {SYSTEMS["loan"].disparity: disparity}
            every[name] = loan | {
                "learners": {
                    label: found
                    | {
                        part: {text.get(k, k): v for k, v in found[part].items()}
                        for part in ("ends", "luck", "curves")
                        if part in found
                    }
                    for label, found in known.items()
                },
                "metrics": {text.get(k, k): v for k, v in loan["metrics"].items()},
            }
        return super().conclude(every)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Page, runs and numbers."""
    out = tmp_path_factory.mktemp("learners")
    experiments.register("toy-learners")(Small)
    try:
        (result,) = reproduce(["toy-learners"], out=out, say=lambda _: None)
    finally:
        experiments._things.pop("toy-learners")
    return result, Small.seen["runs"], Small.seen["data"]["loan"]


@pytest.mark.full
def test_the_page_has_pictures_and_tables(made):
    result, _, data = made
    page = result.page.read_text()
    assert "quick scale" in page and page.count("**admission disparity ↓**") == 2
    assert re.search(r"\| \*\*admission disparity ↓\*\* .*\n\| the same by luck alone \| ", page)
    assert "**mortality disparity ↓**" in page
    links = re.findall(r"!\[.*\]\((.*)\)", page)
    assert [link.split("-")[-1] for link in links] == ["frontier.png", "curves.png"]
    assert all((result.page.parent / link).stat().st_size > 20_000 for link in links)
    assert len(result.outcome.checks) == 1 + 3 * 3 + 3 * 2
    assert set(data["learners"]) == {*TRAINED, UNTRAINED}


@pytest.mark.parametrize("label", TRAINED)
def test_numbers_are_those_of_the_held_out_episodes(made, label):
    """Sums of components over three episodes, in NumPy."""
    _, runs, data = made
    for seed, run in enumerate(runs[f"loan/{label}"]):
        key = jax.random.fold_in(jax.random.key(HELD_OUT), seed)
        found = evaluate(run.env, run.params, run.policies, key, 3)
        totals = {n: np.asarray(getattr(found.totals, n), float) for n in ("approved", "applied")}
        rates = totals["approved"] / totals["applied"]
        ends = {name: values[seed] for name, values in data["learners"][label]["ends"].items()}
        gap = np.abs(rates[:, 0] - rates[:, 1]).mean()
        assert ends["admission_disparity"] == pytest.approx(gap, abs=1e-5)
        admitted = (totals["approved"].sum(axis=1) / totals["applied"].sum(axis=1)).mean()
        assert ends["admission_rate"] == pytest.approx(admitted, abs=1e-5)
        profit = np.mean(np.asarray(found.totals.profit) / run.env.metrics["profit"].normaliser)
        assert ends[REWARD] == pytest.approx(profit, rel=1e-4)
        assert ends[SCORE] == pytest.approx(0.5 * ends[REWARD] - 0.5 * ends[UNFAIR], abs=1e-5)
        assert ends[SURVIVED] == 1.0 - found.terminated.mean()


@pytest.mark.full
def test_luck_is_that_of_permuted_groups_in_the_same_episodes(made):
    """By itself where it is defined, and the mean of the normalised ones among the terms."""
    _, runs, data = made
    for seed, run in enumerate(runs["loan/F-MAPPO"]):
        key = jax.random.fold_in(jax.random.key(HELD_OUT), seed)
        found = evaluate(run.env, run.params, run.policies, key, 3, permutations=100)
        luck = {name: of[seed] for name, of in data["learners"]["F-MAPPO"]["luck"].items()}
        assert set(luck) == {*found.nulls, UNFAIR}
        for name in found.nulls:
            if found.defined[name].any():
                assert luck[name].mean() == pytest.approx(-found.null(name).mean, rel=1e-5)
        np.testing.assert_allclose(luck[UNFAIR], -by_luck(found, run.env) / 3.0, rtol=1e-6)


@pytest.mark.full
def test_what_is_undefined_in_every_episode_is_no_parity(made):
    """A bank to which nobody applies is not fair, nor the mean of fair and unfair ones."""
    _, runs, _ = made
    run = runs["loan/F-MAPPO"][0]
    found = run.evaluate(3)
    name = "admission_disparity"
    found.metrics[name][:] = [-0.4, 0.0, -0.2]
    found.defined[name][:] = [True, False, True]
    assert ends(run.env, found)[name] == pytest.approx(0.3)
    found.defined[name][:] = False
    assert np.isnan(ends(run.env, found)[name])


def test_curves_are_those_of_the_log(made):
    _, runs, data = made
    for label in TRAINED:
        several, found = runs[f"loan/{label}"], data["learners"][label]
        assert steps_per_epoch(several[0]) == 80  # two rounds of two worlds with 20 steps
        np.testing.assert_array_equal(found["steps"], [80, 160])
        for seed, run in enumerate(several):
            gaps = [-line[log_keys.metric("admission_disparity")] for line in run.metrics]
            np.testing.assert_allclose(found["curves"]["admission_disparity"][seed], gaps)
    # F-MAPPO is trained on the objective that all are scored by; ELBERT-PO on profit
    for label, same in (("F-MAPPO", True), ("ELBERT-PO", False)):
        logged = [[line["objective"] for line in run.metrics] for run in runs[f"loan/{label}"]]
        assert np.allclose(data["learners"][label]["curves"][SCORE], logged, atol=1e-5) == same


def test_the_untrained_are_those_that_f_mappo_begins_with(made):
    _, runs, data = made
    run = runs["loan/F-MAPPO"][0]
    state = run.job.algorithm.init(jax.random.key(0), run.env, run.objective)
    key = jax.random.fold_in(jax.random.key(HELD_OUT), 0)
    found = evaluate(run.env, run.params, run.job.algorithm.policies(state), key, 3)
    expected = ends(run.env, found)
    for name, values in data["learners"][UNTRAINED]["ends"].items():
        assert values[0] == pytest.approx(expected[name], abs=1e-6, nan_ok=True)
