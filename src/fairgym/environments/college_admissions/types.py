"""Parameters, state, components and noise of college admissions."""

from jaxtyping import Array, Bool, Float

from fairgym.core import (
    Components,
    Params,
    PopulationState,
    Struct,
    component,
    fraction,
    group_count,
    param,
)
from fairgym.core.params import Number

UNQUALIFIED, QUALIFIED = range(2)  # stages
ADMISSIONS = "admissions"  # unit of costs: what an admission is worth to an applicant


class CollegeAdmissionsState(PopulationState):
    """Applicants of this round, and what the jury saw of the last one.

    The stage says whether an applicant is qualified.

    Attributes:
        score: True score of each applicant.
        test_score: Test score before the applicant has responded to the threshold.
        seen_score: Test score that the jury saw in the last round.
        seen_admitted: Who was admitted in the last round.
        seen_qualified: Who of them turned out to be qualified; False for those not admitted.
        threshold: Threshold of the last round; 0 before the first.
    """

    score: Float[Array, " people"]
    test_score: Float[Array, " people"]
    seen_score: Float[Array, " people"]
    seen_admitted: Bool[Array, " people"]
    seen_qualified: Bool[Array, " people"]
    threshold: Float[Array, ""]


class CollegeAdmissionsComponents(Components):
    """Components of one round."""

    applicants: Float[Array, " groups"] = group_count("people who applied")
    qualified: Float[Array, " groups"] = group_count("qualified applicants")
    admitted: Float[Array, " groups"] = group_count("admitted applicants")
    admitted_qualified: Float[Array, " groups"] = group_count(
        "admitted applicants who are qualified"
    )
    correct: Float[Array, " groups"] = group_count(
        "qualified applicants who were admitted and unqualified ones who were not"
    )
    gamed: Float[Array, " groups"] = group_count("applicants who raised their test score")
    paid: Float[Array, " groups"] = group_count("cost that they paid for it", unit=ADMISSIONS)
    burden: Float[Array, " groups"] = group_count(
        "cost at which qualified applicants reach the threshold, paid or not", unit=ADMISSIONS
    )
    threshold: Float[Array, ""] = component("threshold of the jury", unit="points", level=True)


class CollegeAdmissionsNoise(Struct):
    """Random numbers of one round.

    Attributes:
        lottery: Uniform in [0, 1) for each applicant; decides who is admitted whatever the score.
        target: Standard normal number for each applicant; the error in the threshold that the
            applicant aims at.
        score: Standard normal number for each applicant of the next round; the true score.
        test: Standard normal number for each applicant of the next round; the error of the test.
    """

    lottery: Float[Array, " people"]
    target: Float[Array, " people"]
    score: Float[Array, " people"]
    test: Float[Array, " people"]


class CollegeAdmissionsParams(Params):
    """Parameters of college admissions; every field can be vmapped.

    Scores are points from 0 to 1. `CollegeAdmissions.default_params` has the published cost, which
    differs between the groups.
    """

    advantaged: float = fraction(0.5, "Share of advantaged applicants.")
    mean_score: Number = fraction(0.5, "Mean of the true score.", unit="points", per="group")
    score_spread: Number = fraction(
        0.1, "Standard deviation of the true score.", unit="points", per="group"
    )
    margin: float = param(
        0.1,
        "Qualified applicants have a true score of at least 1 + margin times their group's mean.",
        low=-1.0,
        high=10.0,
    )
    cost: Number = param(
        5.0,
        "Cost of raising the test score by a point; an admission is worth 1.",
        unit="admissions per point",
        low=0.0,
        high=10_000.0,
        per="group",
    )
    subsidy: float = fraction(
        0.0, "Share of the disadvantaged applicants' cost that somebody else pays (1 - beta)."
    )
    most_change: float = fraction(
        1.0,
        "Largest change of a test score by its applicant; 0: nobody changes it.",
        unit="points",
    )
    score_noise: float = fraction(
        0.0, "Standard deviation of the test's error; 0 for none.", unit="points"
    )
    threshold_noise: float = fraction(
        0.0,
        "Standard deviation of the error in the threshold that applicants aim at; 0 for none.",
        unit="points",
    )
    noise_mean: float = param(
        0.0, "Mean of both errors where there are any.", unit="points", low=-1.0, high=1.0
    )
    noise_low: float = param(-0.35, "Lowest error.", unit="points", low=-1.0, high=1.0)
    noise_high: float = param(0.35, "Highest error.", unit="points", low=-1.0, high=1.0)
