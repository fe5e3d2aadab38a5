"""Declarations of college admissions: metrics, baselines, logged decisions."""

from jaxtyping import Array

from fairgym.core import Decision, Moment
from fairgym.environments.college_admissions.types import ADMISSIONS
from fairgym.fairness import Direct, Disparity, Metric, Rate

GROUPS = ("advantaged", "disadvantaged")
STAGES = ("unqualified", "qualified")


def metrics(applications: int) -> dict[str, Metric]:
    """Return right decisions, admissions, equal opportunity, and what gaming costs.

    The social burden is that of Milli et al. (2019): the mean cost at which a qualified applicant
    reaches the threshold. Its disparity is their social gap. ml-fairness-gym divides the same sum
    by all applicants.

    Args:
        applications: Number of applications in an episode.
    """
    admission = Rate("admitted", "applicants", title="Admission rate")
    opportunity = Rate("admitted_qualified", "qualified", title="True positive rate")
    accuracy = Rate("correct", "applicants", title="Accuracy")
    burden = Rate("burden", "qualified", sign=-1, title="Social burden", unit=ADMISSIONS)
    return {
        "right_decisions": Direct(
            "correct", normaliser=float(applications), title="Right decisions"
        ),
        "accuracy": accuracy,
        "accuracy_disparity": Disparity(accuracy),
        "admission_rate": admission,
        "admission_disparity": Disparity(admission),
        "tpr": opportunity,
        "tpr_disparity": Disparity(opportunity, title="Gap of true positive rates"),
        "social_burden": burden,
        "burden_disparity": Disparity(burden, title="Gap of social burdens"),
        "burden_per_applicant": Rate(
            "burden", "applicants", sign=-1, title="Burden per applicant", unit=ADMISSIONS
        ),
        "gaming_rate": Rate("gamed", "applicants", sign=-1, title="Applicants who game"),
    }


# Terms of objectives such as "uniform": the other metrics repeat these.
TERMS = (
    "right_decisions",
    "admission_disparity",
    "tpr_disparity",
    "social_burden",
    "burden_disparity",
)


def baseline_policies() -> dict[str, dict[str, object]]:
    """Return the juries of D'Amour et al. (2020), a jury that admits everybody, and chance."""
    juries = ("static", "continuous", "robust")
    return {
        **{f"{name}_jury": {"jury": f"{name}-jury"} for name in juries},
        "admit_everybody": {"jury": 0.0},
        "random": {"jury": "random"},
    }


def _applications(step: Moment) -> dict[str, Array]:
    counts = step.components
    return {
        "asked": counts.applicants,
        "admitted": counts.admitted,
        "settled": counts.admitted,
        "qualified": counts.qualified,
        "test_score": step.after.seen_score,
        "true_score": step.before.score,
        "gamed": counts.gamed,
        "cost": counts.paid,
    }


APPLICATIONS = Decision(
    about="A row is an application in a round, with the test score that the jury sees, that is,"
    " after the applicant has responded to the threshold. The outcome is whether the applicant is"
    " qualified, known only for those admitted. A person is a place among the applicants: somebody"
    " new in every round.",
    decision="admitted",
    rows=_applications,
    outcome="qualified",
    score="test_score",
)
