"""What the bank observes, and how bank loans are measured (section 6.A of the source)."""

from collections.abc import Mapping

from fairgym.core import EntitySpace, Feature
from fairgym.environments.bank_loans.dynamics import SCORES
from fairgym.fairness import Direct, Disparity, Distance, Metric, Rate, Windowed

GROUPS = ("advantaged", "disadvantaged")
OPTIONS = ("deny", "approve")
START_ADVANTAGED = (0.0, 0.1, 0.1, 0.2, 0.3, 0.3, 0.0)
START_DISADVANTAGED = (0.1, 0.1, 0.2, 0.3, 0.3, 0.0, 0.0)
REPAYMENT = (0.1, 0.2, 0.45, 0.6, 0.65, 0.7, 0.7)
WINDOW = 300  # w, the steps that measures are taken over
SCORE_NAMES = tuple(f"score_{number}" for number in range(1, SCORES + 1))
CASH_SHOWN = 20_000.0  # upper end of the range that scales the inputs of networks


def metrics_of(horizon: int, selective_labels: bool) -> dict[str, Metric]:
    """Profit, equal opportunity, and how far apart the groups' scores are.

    The true positive rate is the share of loans among those who would repay (equation 8). Of
    an episode, the distance is that of the groups' mean distributions. With selective labels
    these are the truth, beside which stands what the bank can estimate.
    """
    rate = Rate("successful", "would_repay", title="True positive rate")
    known = {
        "profit": Direct("profit", normaliser=float(horizon)),
        "tpr": rate,
        "tpr_disparity": Disparity(rate, title="Gap of true positive rates"),
        "score_distance": Distance(
            "score_shares", title="Distance of score distributions", unit="scores"
        ),
    }
    if not selective_labels:
        return known
    estimated = Rate("successful", "estimated_would_repay", title="Estimated true positive rate")
    gap = Disparity(estimated, title="Gap of estimated true positive rates")
    return {**known, "estimated_tpr": estimated, "estimated_tpr_disparity": gap}


def measures_of(metrics: Mapping[str, Metric], selective_labels: bool) -> dict[str, Windowed]:
    """Those of section 6.A: of the last 300 steps, and the scores as they are now.

    "long_term_window" is the distance of those who applied, which a bank can know. With
    selective labels "short_term" is what it estimates, and "short_term_truth" the truth.
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


def baseline_policies(informed: bool, selective_labels: bool) -> dict[str, dict[str, str]]:
    """Loans for whom they pay off with, for everybody, and at random.

    A bank that is informed can also maximise profit under equal opportunity. With selective
    labels one decides by what it has learned from its own loans; `threshold` knows the truth.
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
    """The applicant; as context what the bank knows of itself and of the groups."""
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
            Feature(f"estimated_{score}", 0, 1, source="estimated chance to repay")
            for score in SCORE_NAMES
        ]
    return EntitySpace(1, features, tuple(context))
