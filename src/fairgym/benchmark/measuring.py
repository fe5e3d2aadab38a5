"""Measures of policies in held-out episodes, as rows."""

import json
import warnings
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from fairgym.benchmark.store import CHOSEN, FIXED, RANDOM, RULES, Row, text_of
from fairgym.benchmark.task import Task
from fairgym.benchmark.tiers import Tier
from fairgym.core import AnyPolicy
from fairgym.fairness.measuring import measuring
from fairgym.policies import fixed_policies, sampled
from fairgym.policies.exploration import has_logits
from fairgym.statistics import gap_test
from fairgym.training.baselines import baselines_of
from fairgym.training.evaluation import Evaluation, evaluate
from fairgym.training.provenance import now, provenance
from fairgym.training.run import Run

# Seeds 0, 1, ... have held-out episodes of their own, the same for all learners. No run has this
# seed.
HELD_OUT = 2**31 - 1


def measured(
    task: Task,
    policies: Mapping[str, AnyPolicy],
    seed: int,
    tier: Tier,
    env: Any = None,
    sample: bool = False,
) -> dict[str, str]:
    """Return the measures of policies in the held-out episodes of a seed.

    Args:
        task: The task.
        policies: Agent -> policy.
        seed: Seed of the run. Episodes depend on it alone, so learners are compared in the same
            episodes, and different seeds are independent.
        tier: Number of episodes and permutations.
        env: Environment of the run, if it observes something else than the task's.
        sample: Whether discrete actions are sampled instead of the most likely ones.

    Returns:
        Columns of a row. "reward" and "unfairness" are means over the episodes that do not
        terminate, missing if all do. "rates" has the mean rate of each group behind the disparity,
        and "p" is that of the permutation test of their systematic gap.
    """
    own, params = task.world
    reward, fairness = task.parts
    env = measuring(own if env is None else env, (reward, fairness))
    choosing = any(env.action_space(a).discrete and has_logits(policies[a]) for a in env.agents)
    if sample and choosing:
        policies = sampled(env, policies)
    key = jax.random.fold_in(jax.random.key(HELD_OUT), seed)
    found = evaluate(
        env,
        params,
        policies,
        key,
        tier.episodes,
        objective=reward,
        permutations=tier.permutations if task.disparity else 0,
    )
    scores = found.scored_by(fairness).objective
    assert found.objective is not None and scores is not None
    ended = np.asarray(found.terminated, bool)
    alive = not ended.all()
    return {
        "reward": text_of(_mean(found.objective[~ended]) if alive else None),
        "unfairness": text_of(task.parity - _mean(scores[~ended]) if alive else None),
        "terminated": text_of(_mean(ended)),
        **_gaps(task, found),
        "episodes": str(tier.episodes),
    }


def _mean(values: Any) -> float:
    return float(np.mean(np.asarray(values, np.float64)))


def _gaps(task: Task, found: Evaluation) -> dict[str, str]:
    """Return the published disparity, its null mean, the groups' mean rates and the test."""
    name = task.disparity
    if not name:
        return dict.fromkeys(("disparity", "null", "p", "rates"), "")
    known = found.metrics[name][found.defined[name]]
    null = p = None
    if name in found.nulls:
        values, permuted = found.beside_null(name)
        null = -_mean(permuted) if values.size else None
        if name in found.rates and name in found.null_rates:
            p = gap_test(found.rates[name], found.null_rates[name]).p
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a group that is never defined
        rates = np.nanmean(np.asarray(found.rates[name], np.float64), axis=0)
    return {
        "disparity": text_of(-_mean(known) if known.size else None),
        "null": text_of(null),
        "p": text_of(p),
        "rates": json.dumps([float(text_of(x)) if np.isfinite(x) else None for x in rates]),
    }


def row_of_run(task: Task, tier: Tier, labels: Mapping[str, Any], run: Run, *, sample: bool) -> Row:
    """Return the row of a finished run.

    Args:
        task: The task.
        tier: The tier.
        labels: "algorithm", "learner_fingerprint", "stage", "setting", "level" and "settings" of
            the row.
        run: The run.
        sample: Whether discrete actions are sampled instead of the most likely ones.
    """
    numbers = measured(task, run.policies, run.config.seed, tier, run.env, sample)
    algorithm = run.job.algorithm
    steps = sum(line.get("environment_steps") or 0.0 for line in run.metrics)
    steps = steps or algorithm.num_updates * algorithm.steps_per_update(run.env)
    return {
        **_head(task, str(labels["algorithm"]), run.config.seed, run.provenance),
        **{name: str(value) for name, value in labels.items()},
        **numbers,
        "steps": text_of(float(steps)),
        "seconds": text_of(float(run.summary["wall_time_s"])),
    }


def rows_of_rules(task: Task, tier: Tier) -> list[Row]:
    """Return the rows of the random policy and of all fixed rules, for every seed of the tier."""
    env, _ = task.world
    about = provenance(task.base.build())
    rows = []
    for name, specification in baselines_of(env, random=True).items():
        policies = fixed_policies(env, specification)
        for seed in range(tier.rule_seeds):
            rows.append(
                {
                    **_head(task, RANDOM if name == RANDOM else FIXED, seed, about),
                    "learner_fingerprint": "",
                    "stage": RULES,
                    "setting": CHOSEN,
                    "level": name,
                    "settings": "{}",
                    **measured(task, policies, seed, tier),
                    "steps": "0",
                    "seconds": "0",
                }
            )
    return rows


def _head(task: Task, learner: str, seed: int, about: Mapping[str, Any]) -> dict[str, str]:
    versions = about["versions"]
    return {
        "task": task.name,
        "fingerprint": task.fingerprint,
        "algorithm": learner,
        "seed": str(seed),
        "commit": about["git_commit"][:12]
        + ("+" if about["git_commit"].endswith("+changes") else ""),
        "versions": f"fairgym {versions['fairgym']}, jax {versions['jax']}",
        "finished": now(),
    }
