"""The formulas of the education environment (MAFE, appendix H).

| symbol | name in the code |
| --- | --- |
| f(u) | the fitted score "gpa" |
| GPA-hat (CURRENTGPA), GPA | `semester_gpa`, `gpa`, grade points 0 to 4 |
| ANNUALTUIT | `tuition_share`, share of the sticker price that students pay |
| INMINTYPGRM | `mentored` |
| TIMEINUNIV | `time_in_university`, semesters |
| SALARY, DIVINVEST | `salary`, `supplement`, shares of the maximum salary |
| P^Leave, U, alpha_2 | `leaves`, `utility`, `pay_cost` |

Equation (24), "improve, stay, deteriorate", is in `_common/moves.py`; building is in
`_common/schedule.py`. All functions work elementwise on arrays of equal shape.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from fairgym.environments._common.regions import Move

Numbers = Float[Array, "..."]
Flags = Bool[Array, "..."]
Parameter = float | Numbers
HIGHEST_GPA = 4.0

# The movable columns of the data: the planner's tertiary money changes them. The baseline GPA
# moves through its shift.
_DEBT = Move("loan_change", -1.0, 0.0, jnp.inf)
MOVES = {
    "hours_per_week": Move("hours_change", 1.0, 0.0, 168.0),
    "employer_sector": Move("employer_change", 1.0, 1.0, 5.0),
    "employer_size": Move("employer_change", 1.0, 1.0, 8.0),
    "undergraduate_loans": _DEBT,
    "graduate_loans": _DEBT,
    "gpa_shift": Move("gpa_change", 1.0, -HIGHEST_GPA, HIGHEST_GPA),
}


def entering_gpa(
    baseline: Numbers,
    uniform: Numbers,
    tuition_share: Numbers,
    mentored: Flags,
    *,
    scholarship_gain: Parameter,
    mentor_gain: Parameter,
    half_width: Parameter,
    support: Parameter,
    large: Parameter,
) -> Numbers:
    """Equation (20): f(u) + g0 + gamma_1 (1 - ANNUALTUIT) + gamma_2 INMINTYPGRM, in [0, 4].

    g0 is uniform in (-delta + C, delta + C); C > 0 only with a large scholarship or a mentor.

    Args:
        baseline: f(u), including its changes by tertiary money.
        uniform: Uniform numbers in [0, 1).
        tuition_share: ANNUALTUIT.
        mentored: INMINTYPGRM.
        scholarship_gain: gamma_1.
        mentor_gain: gamma_2.
        half_width: delta.
        support: C.
        large: Smallest share of the tuition at which a scholarship counts as large.
    """
    scholarship = 1.0 - tuition_share
    supported = mentored | ((scholarship > 0.0) & (scholarship >= large))
    noise = (2.0 * uniform - 1.0) * half_width + support * supported
    gpa = baseline + noise + scholarship_gain * scholarship + mentor_gain * mentored
    return jnp.clip(gpa, 0.0, HIGHEST_GPA)


def as_gpa(merit: Numbers) -> Numbers:
    """Return the baseline GPA, f(u) and what is added to it, in [0, 4]."""
    return jnp.clip(merit, 0.0, HIGHEST_GPA)


def kept_of_pass(merit: Numbers, gpa: Numbers, returning: Flags, kept: Parameter) -> Numbers:
    """Return the change of the baseline by a pass: a share `kept` of the gap to its final GPA.

    Args:
        merit: The baseline before it is clipped to [0, 4].
        gpa: GPA at the end of the pass.
        returning: Whether the person has studied and the pass ends.
        kept: Share of the GPA in the baseline of the next pass.
    """
    return jnp.where(returning, kept * (gpa - merit), 0.0)


def next_semester_gpa(semester_gpa: Numbers, uniform: Numbers, half_width: Parameter) -> Numbers:
    """Equation (19): the last semester's GPA + Uniform(-Delta, Delta), in [0, 4].

    Args:
        semester_gpa: GPA of the last semester.
        uniform: Uniform numbers in [0, 1).
        half_width: Delta.
    """
    drift = (2.0 * uniform - 1.0) * half_width
    return jnp.clip(semester_gpa + drift, 0.0, HIGHEST_GPA)


def running_mean(mean: Numbers, value: Numbers, semesters: Numbers) -> Numbers:
    """Equation (18): GPA = ((t - 1) GPA + GPA-hat) / t, t = `semesters`, including this one."""
    return mean + (value - mean) / semesters


def leaves(
    gpa: Numbers, tuition_share: Numbers, time_in_university: Numbers, alpha: Sequence[Parameter]
) -> Numbers:
    """Equation (21): sigmoid(a0 + a1 GPA + a2 ANNUALTUIT + a3 TIMEINUNIV + a4 TIMEINUNIV^2).

    Args:
        gpa: GPA.
        tuition_share: ANNUALTUIT.
        time_in_university: TIMEINUNIV.
        alpha: a0 to a4.
    """
    return jax.nn.sigmoid(
        alpha[0]
        + alpha[1] * gpa
        + alpha[2] * tuition_share
        + alpha[3] * time_in_university
        + alpha[4] * time_in_university**2
    )


def whole_semesters(lengths: Sequence[Parameter]) -> Float[Array, " programmes"]:
    """Return the semesters of each programme, rounded up."""
    return jnp.ceil(jnp.stack([jnp.asarray(length, jnp.float32) for length in lengths]))


def pay_cost(
    gpa: Numbers,
    time_in_university: Numbers,
    experience: Numbers,
    beta: Sequence[Parameter],
    longest_study: Parameter,
    longest_pass: Parameter,
) -> Numbers:
    """Equation (23): alpha_2 = b0 + b1 gpa + b2 t + b3 (e - e^2), above 0 by default.

    Args:
        gpa: Grade points, 0 to 4; divided by 4 in the equation.
        time_in_university: Semesters; divided by `longest_study` in the equation.
        experience: Semesters in the workforce; divided by `longest_pass` in the equation.
        beta: b0 to b3.
        longest_study: Semesters of all programmes.
        longest_pass: Semesters of a pass.
    """
    e = experience / longest_pass
    return (
        beta[0]
        + beta[1] * gpa / HIGHEST_GPA
        + beta[2] * time_in_university / longest_study
        + beta[3] * (e - e**2)
    )


def utility(
    salary: Numbers, supplement: Numbers, cost: Numbers, base: Parameter, pay: Parameter
) -> Numbers:
    """Equation (22): U = a0 + a1 (SALARY + DIVINVEST) - alpha_2 SALARY^2, shares of the maximum.

    Args:
        salary: SALARY.
        supplement: DIVINVEST.
        cost: alpha_2.
        base: a0.
        pay: a1.
    """
    return base + pay * (salary + supplement) - cost * salary**2
