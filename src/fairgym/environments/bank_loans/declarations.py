"""Observations, metrics and baselines of the bank loans environment (section VI-A)."""

import functools
from collections.abc import Mapping

import jax.numpy as jnp
from jaxtyping import Array

from fairgym.core import Decision, EntitySpace, Feature, Moment
from fairgym.environments.bank_loans.dynamics import SCORES
from fairgym.fairness import Direct, Disparity, Distance, Metric, Rate, Windowed, WindowedRates

GROUPS = ("advantaged", "disadvantaged")
OPTIONS = ("deny", "approve")
START_ADVANTAGED = (0.0, 0.1, 0.1, 0.2, 0.3, 0.3, 0.0)
START_DISADVANTAGED = (0.1, 0.1, 0.2, 0.3, 0.3, 0.0, 0.0)
REPAYMENT = (0.1, 0.2, 0.45, 0.6, 0.65, 0.7, 0.7)
WINDOW = 300  # w, steps over which the measures are taken
SCORE_NAMES = tuple(f"score_{number}" for number in range(1, SCORES + 1))
CASH_SHOWN = 20_000.0  # upper bound for scaling the cash as network input


def metrics_of(horizon: int, selective_labels: bool) -> dict[str, Metric]:
    """Return metrics of profit, equal opportunity and distance of score distributions.

    The true positive rate is the share of people who would repay that get a loan (equation 8).
    The distance over an episode is that of the groups' mean distributions. With selective labels
    these metrics are the truth, and the bank's estimates are added.
    """
    rate = Rate("successful", "would_repay", title="True positive rate")
    metrics = {
        "profit": Direct("profit", normaliser=float(horizon)),
        "tpr": rate,
        "tpr_disparity": Disparity(rate, title="Gap of true positive rates"),
        "score_distance": Distance(
            "score_shares", title="Distance of score distributions", unit="scores"
        ),
    }
    if not selective_labels:
        return metrics
    estimated = Rate("successful", "estimated_would_repay", title="Estimated true positive rate")
    gap = Disparity(estimated, title="Gap of estimated true positive rates")
    return {**metrics, "estimated_tpr": estimated, "estimated_tpr_disparity": gap}


def measures_of(metrics: Mapping[str, Metric], selective_labels: bool) -> dict[str, Windowed]:
    """Return the measures of section VI-A: of the last 300 steps, and of the current scores.

    "long_term_window" is the distance between applicants' scores, which a bank can observe. With
    selective labels "short_term" is the bank's estimate and "short_term_truth" the truth.
    """
    truth = Windowed(metrics["tpr_disparity"], WINDOW)
    found = {
        "short_term": truth,
        "long_term": Windowed(metrics["score_distance"], 1),
        "long_term_window": Windowed(Distance("applicants", unit="scores"), WINDOW),
    }
    if selective_labels:
        found["short_term"] = Windowed(metrics["estimated_tpr_disparity"], WINDOW)
        found["short_term_truth"] = truth
    return found


def memories_of(measures: Mapping[str, Windowed]) -> dict[str, Windowed]:
    """Return memories that the bank can observe.

    "window" has the sums of the short-term measure: people who repaid, and who would have repaid.
    "rates" is what the bank of the authors' code observes beside the applicant: the groups' true
    positive rates and the applicants' scores, both of the last 300 steps.
    """
    short_term = measures["short_term"]
    return {
        "window": short_term,
        "rates": WindowedRates(short_term.metric, WINDOW, shares_of="applicants"),
    }


def baseline_policies(informed: bool, selective_labels: bool) -> dict[str, dict[str, str]]:
    """Return baselines: approve who is expected to be profitable, approve all, act at random.

    An informed bank can also maximise profit under equal opportunity. With selective labels
    `learned_threshold` uses what the bank has learned from its own loans; `threshold` knows the
    truth.
    """
    equal = {"equal_opportunity": {"bank": "equal-opportunity"}} if informed else {}
    learned = {"learned_threshold": {"bank": "learned-threshold"}}
    return {
        "threshold": {"bank": "threshold"},
        **(learned if selective_labels else {}),
        **equal,
        "everybody": {"bank": "approve"},
        "random": {"bank": "random"},
    }


def observation_space(shows_cash: bool, informed: bool, selective_labels: bool) -> EntitySpace:
    """Return the space of the applicant, with what the bank knows as context."""
    features = (
        Feature("score", 1, SCORES, "", "X, the credit score", levels=SCORES),
        Feature("group", 0, 1, source="0 for advantaged, 1 for disadvantaged", levels=2),
    )
    context = []
    if shows_cash:
        context.append(Feature("cash", 0.0, CASH_SHOWN, "dollars", "cash of the bank"))
    if informed:
        context += [
            Feature(f"{group}_{score}", 0, 1, source="share of the group with the score")
            for group in GROUPS
            for score in SCORE_NAMES
        ]
    if selective_labels:
        context += [
            Feature(f"estimated_{score}", 0, 1, source="estimated probability to repay")
            for score in SCORE_NAMES
        ]
    return EntitySpace(1, features, tuple(context))


def decisions(selective_labels: bool) -> dict[str, Decision]:
    """Return the decisions that can be logged: the loans.

    Args:
        selective_labels: Whether outcomes are known only for loans that were granted.
    """
    known = (
        "known only for loans that were granted"
        if selective_labels
        else "known also for those denied, as in the source"
    )
    loan = Decision(
        about="A row is the applicant of a step, whose loan the bank approves or denies. The"
        f" outcome is whether the applicant repays, {known}. Its amount is that of the loan in"
        " dollars. Applicants have no identity.",
        decision="approved",
        rows=functools.partial(_applications, selective_labels),
        outcome="repaid",
        score="score",
        amount="amount",
        groups=("group",),
    )
    return {"loan": loan}


def _applications(selective_labels: bool, step: Moment) -> dict[str, Array]:
    """Return the row of a step."""
    counts, group = step.components, step.before.group
    approved = counts.approved[group]
    return {
        "asked": jnp.ones(1),
        "group": group[None],
        "approved": approved[None],
        "settled": approved[None] if selective_labels else jnp.ones(1),
        "repaid": counts.would_repay[group][None],
        "score": step.before.score[None] + 1,
        "amount": jnp.asarray(step.params.loan, jnp.float32)[None],
    }
