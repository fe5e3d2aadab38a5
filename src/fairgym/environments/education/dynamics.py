"""The formulas of the education environment (MAFE, appendix H).

| symbol | name here |
| --- | --- |
| f(u) | the fitted score "gpa" |
| GPA-hat (CURRENTGPA), GPA | `semester_gpa`, `gpa`, grade points 0 to 4 |
| ANNUALTUIT | `tuition_share`, share of the sticker price that students pay |
| INMINTYPGRM | `mentored` |
| TIMEINUNIV | `time_in_university`, semesters |
| SALARY, DIVINVEST | `salary`, `supplement`, shares of the maximum salary |
| P^Leave, U, alpha_2 | `leaves`, `utility`, `pay_cost` |

Equation (24), "improve, stay, deteriorate", is in `fairgym.core.moves`; building is in
`fairgym.core.schedule`. All functions work elementwise on arrays of any equal shape.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from fairgym.environments.education.params import EducationParams

Numbers = Float[Array, "..."]
Flags = Bool[Array, "..."]
HIGHEST_GPA = 4.0

# What the planner's tertiary money moves: name -> (sign of an improvement, lowest, highest value).
# The baseline GPA moves through its shift.
MOVABLE = {
    "hours_per_week": (1.0, 0.0, 168.0),
    "employer_sector": (1.0, 1.0, 5.0),
    "employer_size": (1.0, 1.0, 8.0),
    "undergraduate_loans": (-1.0, 0.0, jnp.inf),
    "graduate_loans": (-1.0, 0.0, jnp.inf),
    "gpa_shift": (1.0, -HIGHEST_GPA, HIGHEST_GPA),
}


def change_of(name: str, params: EducationParams) -> float | Numbers:
    """How far an improvement moves a feature, in its unit, with its sign."""
    sizes = {
        "hours_per_week": params.hours_change,
        "employer_sector": params.employer_change,
        "employer_size": params.employer_change,
        "undergraduate_loans": params.loan_change,
        "graduate_loans": params.loan_change,
        "gpa_shift": params.gpa_change,
    }
    return MOVABLE[name][0] * sizes[name]


def entering_gpa(
    baseline: Numbers,
    uniform: Numbers,
    tuition_share: Numbers,
    mentored: Flags,
    params: EducationParams,
) -> Numbers:
    """Equation (20): f(u) + g0 + gamma_1 (1 - ANNUALTUIT) + gamma_2 INMINTYPGRM, in [0, 4].

    g0 is uniform in (-delta + C, delta + C), C > 0 only with a large scholarship or a mentor.

    Args:
        baseline: f(u) and what tertiary money has changed in it.
        uniform: uniform numbers in [0, 1).
        tuition_share: ANNUALTUIT.
        mentored: INMINTYPGRM.
        params: delta, C, gamma_1, gamma_2 and what a large scholarship is.
    """
    scholarship = 1.0 - tuition_share
    supported = mentored | ((scholarship > 0.0) & (scholarship >= params.large_scholarship))
    noise = (2.0 * uniform - 1.0) * params.gpa_noise + params.gpa_support * supported
    gpa = baseline + noise + params.gpa_scholarship * scholarship + params.gpa_mentor * mentored
    return jnp.clip(gpa, 0.0, HIGHEST_GPA)


def next_semester_gpa(semester_gpa: Numbers, uniform: Numbers, params: EducationParams) -> Numbers:
    """Equation (19): the last semester's GPA + Uniform(-Delta, Delta), in [0, 4]."""
    drift = (2.0 * uniform - 1.0) * params.gpa_drift
    return jnp.clip(semester_gpa + drift, 0.0, HIGHEST_GPA)


def running_mean(mean: Numbers, value: Numbers, semesters: Numbers) -> Numbers:
    """Equation (18): GPA = ((t - 1) GPA + GPA-hat) / t, t = `semesters`, this one included."""
    return mean + (value - mean) / semesters


def leaves(
    gpa: Numbers, tuition_share: Numbers, time_in_university: Numbers, params: EducationParams
) -> Numbers:
    """Equation (21): sigmoid(a0 + a1 GPA + a2 ANNUALTUIT + a3 TIMEINUNIV + a4 TIMEINUNIV^2)."""
    return jax.nn.sigmoid(
        params.leave_base
        + params.leave_gpa * gpa
        + params.leave_tuition * tuition_share
        + params.leave_time * time_in_university
        + params.leave_time_squared * time_in_university**2
    )


def programme_lengths(params: EducationParams) -> Float[Array, " 3"]:
    """Semesters of bachelor's, master's and doctorate; a semester that is begun counts whole."""
    lengths = (params.bachelor_length, params.master_length, params.doctorate_length)
    return jnp.ceil(jnp.stack([jnp.asarray(length, jnp.float32) for length in lengths]))


def pay_cost(
    gpa: Numbers, time_in_university: Numbers, experience: Numbers, params: EducationParams
) -> Numbers:
    """Equation (23): alpha_2 = b0 + b1 gpa + b2 t + b3 (e - e^2), above 0 by default.

    Args:
        gpa: grade points, 0 to 4; the equation takes its share of 4.
        time_in_university: semesters; the equation takes their share of all programmes.
        experience: semesters in the workforce; the equation takes their share of a pass.
        params: b0 to b3 and the lengths.
    """
    e = experience / params.pass_length
    return (
        params.cost_base
        + params.cost_gpa * gpa / HIGHEST_GPA
        + params.cost_university * time_in_university / jnp.sum(programme_lengths(params))
        + params.cost_experience * (e - e**2)
    )


def utility(
    salary: Numbers, supplement: Numbers, cost: Numbers, params: EducationParams
) -> Numbers:
    """Equation (22): U = a0 + a1 (SALARY + DIVINVEST) - alpha_2 SALARY^2, shares of the maximum."""
    return params.utility_base + params.utility_pay * (salary + supplement) - cost * salary**2
