"""Actions that the agents learn with all terms weighted equally."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import PyTree

from fairgym.algorithms import log_keys
from fairgym.experiments import _parts as ex
from fairgym.policies import fixed_policies
from fairgym.report.actions import mean_actions
from fairgym.results.labels import words

ENVIRONMENTS = ("loan", "health", "education")
RELIEF = {
    "relief_advantaged": 0.12,
    "relief_disadvantaged": 0.18,
}  # of the fixed policy of appendix D.3
NEAR = 0.05
NEARLY_ALL = 0.95  # share of the applicants
SIMILAR = 0.05  # difference between two default rates
# Episodes of education in which grades are compared -> policies.
GRADED = {
    "fixed": "fixed policy without mentors",
    "starts": "untrained policies",
    "ends": "learned policies",
}
FIXED = "plausible_fixed_policy"
NO_MENTORS = {"university": [0.05, 0.40, 0.25, 0.0, 0.30]}
SEMESTER = 40  # in which grades are compared; with untrained policies, universities fail later
NEAR_CAP = 0.9  # share of the highest premium
DEFAULTS = "default_disparity"


@ex.experiments.register("mafe-fig10")
class MafeFig10(ex.Experiment):
    """Mean actions over training in three environments."""

    title = "MAFE figure 10: learned actions over training"
    source = "MAFE, figure 10 and appendix D.5"
    claim = (
        'in loan "the agent learns to lower the threshold, effectively admitting nearly all'
        ' applicants", with relief "neither too high to protect profits, nor too low" and "similar'
        ' default rates across both groups"; in health premiums go "near the upper limit", the'
        ' "largest share of the planner\'s budget is allocated to public health", the next to'
        ' premium subsidies; in education the planner "primarily invests in tertiary resources and'
        ' employer diversity incentives", and the university moves money from faculty salaries to'
        ' scholarships and mentorship, which "helps address disparities in cumulative GPAs"; the'
        ' employer "decreases average salaries", and "this trend inverts as training progresses"'
    )

    sizes: ClassVar = ex.SCALES

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return the objective with all terms in three environments."""
        return {name: ex.run_config(name, size) for name in ENVIRONMENTS}

    def measure(self, size: ex.Size, runs: ex.Runs, seeds: Sequence[int]) -> PyTree:
        """Return environment -> "runs", whose logs hold most of the numbers, and "ends".

        "ends" are held-out episodes of the learned policies, one entry per seed, where a check is
        about groups: in loan and education. In education these have people and end after
        `SEMESTER`, "starts" are the same episodes with the untrained policies, and "fixed" those
        with a fixed policy without mentors.
        """
        assert size.held_out is not None
        data: dict[str, dict[str, Any]] = {
            name: {"runs": several, "ends": []} for name, several in runs.items()
        }
        data["loan"]["ends"] = [
            ex.held_out_run(run, size.held_out, ex.PERMUTATIONS) for run in runs["loan"]
        ]
        several = runs["education"]
        env, params = several[0].env, several[0].params
        fixed = fixed_policies(env, {**env.spec.baselines[FIXED], **NO_MENTORS})
        given: dict[str, Any] = {"people": True, "steps": SEMESTER}
        data["education"] |= {
            "ends": [ex.held_out_run(run, size.held_out, **given) for run in several],
            "starts": [ex.untrained_run(run, size.held_out, **given) for run in several],
            "fixed": [
                ex.held_out(env, params, fixed, seed, size.held_out, **given) for seed in seeds
            ],
        }
        return data

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check the directions that the paper reports."""
        checks = [check for name, found in data.items() for check in CHECKS[name](**found)]
        actions = {}
        for name, found in data.items():
            runs = found["runs"]
            for agent, slug in log_keys.actions_in(runs[0].metrics[0]):
                elements = {e.name: e for e in runs[0].env.action_space(agent).elements}
                if elements[slug].of:
                    continue  # the figure shows how a share is split further
                place = (name, words(agent), elements[slug].title)
                ends = action_ends(runs, agent, slug)
                actions[place] = {"first": ends[0], "last": ends[1]}
        caption = "Mean actions of the learned policy; interquartile mean over seeds [95% CI]."
        head = ["environment", "agent", "action", "first epoch", "last tenth of the epochs"]
        return ex.Outcome(
            figures={name: mean_actions(list(found["runs"])) for name, found in data.items()},
            caption="Lines and areas are means over seeds; bands are the range of the seeds.",
            tables=[
                ex.columns_table(head, actions, caption),
                _default_table(data["loan"]["ends"]),
                _grades_table(data["education"]),
            ],
            checks=checks,
        )


def _default_table(ends: ex.Ends) -> ex.Table:
    values, null = ex.disparity(ends, DEFAULTS)
    return ex.Table(
        ["loan", "learned policies", "null mean"],
        [[words(DEFAULTS), ex.iqm_text(values), ex.null_text(null)]],
        "Difference between the groups' default rates in held-out episodes; interquartile mean"
        f" over seeds [95% CI]. {ex.NULL_NOTE}",
    )


def _grades_table(found: PyTree) -> ex.Table:
    return ex.Table(
        ["education", *GRADED.values()],
        [["gap of cumulative GPAs", *(ex.iqm_text(grade_gaps(found[k])) for k in GRADED)]],
        "Mean cumulative GPA of the majority's students minus that of the minority's, after"
        f" {SEMESTER} semesters of held-out episodes; interquartile mean over seeds [95% CI]."
        " Untrained policies give the five parts of the university's budget about equal shares, and"
        " mentors one of them.",
    )


def grade_gaps(ends: ex.Ends) -> np.ndarray:
    """Return the gap between the groups' mean cumulative GPAs, majority minus minority, (seeds,).

    Of the students at the end of an episode; episodes in which a group has none do not count.

    Args:
        ends: Episodes of education, measured with people.
    """
    found = []
    for one in ends:
        people = one.people_end
        gaps = []
        for gpa, group, studies in zip(
            *(people[name] for name in ("gpa", "group", "in_university")), strict=True
        ):
            own = [gpa[(studies > 0.0) & (group == code)] for code in (0.0, 1.0)]
            if all(side.size for side in own):
                gaps.append(own[0].mean(dtype=np.float64) - own[1].mean(dtype=np.float64))
        found.append(np.mean(gaps) if gaps else np.nan)
    return np.array(found, np.float64)


def action_ends(runs: Sequence[ex.Run], agent: str, *elements: str) -> np.ndarray:
    """Return first and last of the mean of an agent's action elements (default: all)."""
    names = elements or runs[0].env.action_space(agent).names
    return ex.logged_ends(runs, *(log_keys.action(agent, name) for name in names))


def loan_checks(runs: Sequence[ex.Run], ends: ex.Ends) -> list[ex.Check]:
    """Check the directions in loan; `ends` are measured under permutations of the groups.

    The forgiven share of relief and the monthly payout cap were chosen by the learned relief,
    admissions and defaults. Too few loans default for the groups to differ by the limit.
    """
    thresholds = action_ends(runs, "admissions")
    relief = np.array([action_ends(runs, "debt_management", name)[1] for name in RELIEF])
    away = np.abs(relief - np.array(list(RELIEF.values()))[:, None])
    return [
        ex.Check.higher("loan: thresholds fall", thresholds[0], thresholds[1]),
        ex.Check.above(
            f"loan: nearly everybody is admitted at the end (above {NEARLY_ALL})",
            ex.logged_ends(runs, log_keys.metric("admission_rate"))[1],
            NEARLY_ALL,
            "calibrated",
        ),
        ex.Check.below(
            "loan: relief ends near that of the published fixed policy,"
            f" {' and '.join(f'{share:g}' for share in RELIEF.values())} (off by less than {NEAR})",
            np.max(away, axis=0),
            NEAR,
            "calibrated",
        ),
        ex.Check.above(
            "loan: some loans default (share of the loans that end)",
            -ex.logged_ends(runs, log_keys.metric("default_rate"))[1],
            kind="by construction",
        ),
        ex.Check.below(
            f"loan: the groups' default rates end alike (excess over the null below {SIMILAR})",
            ex.excess(*ex.disparity(ends, DEFAULTS)),
            SIMILAR,
            "by construction",
        ),
    ]


def health_checks(runs: Sequence[ex.Run], ends: ex.Ends) -> list[ex.Check]:
    """Check the directions in health.

    Beds by people, and how much public health changes features, were chosen by the planner's
    largest share.
    """
    premium = action_ends(runs, "insurer", "premium")
    public, subsidies, beds, rollover = (
        action_ends(runs, "planner", kind)[1]
        for kind in ("public_health", "insurance_subsidies", "hospital_infrastructure", "rollover")
    )
    return [
        ex.Check.higher("health: premiums rise", premium[1], premium[0]),
        ex.Check.above(
            f"health: premiums end near the cap (above {NEAR_CAP})", premium[1], NEAR_CAP
        ),
        ex.Check.higher(
            "health: the planner's largest share is public health (lead over the next)",
            public,
            np.max([subsidies, beds, rollover], axis=0),
            "calibrated",
        ),
        ex.Check.higher(
            "health: subsidies are above beds and rollover",
            subsidies,
            np.maximum(beds, rollover),
        ),
    ]


def education_checks(
    runs: Sequence[ex.Run], ends: ex.Ends, starts: ex.Ends = (), fixed: ex.Ends = ()
) -> list[ex.Check]:
    """Check the directions in education.

    Terms, salaries and tuition were chosen by the planner's shares.

    Args:
        runs: Runs, one per seed.
        ends: Held-out episodes of the learned policies, with people.
        starts: The same with the untrained policies; without them grades are not checked.
        fixed: The same with a fixed policy, which only the table shows.
    """
    tertiary, university, diversity = (
        action_ends(runs, "planner", kind)[1]
        for kind in ("tertiary_education", "university", "diversity_incentives")
    )
    salaries = ex.logged_curves(runs, log_keys.action("university", "salaries"))
    early = salaries[:, : max(1, salaries.shape[1] // 4)].mean(axis=1)
    paid = ex.logged_curves(runs, log_keys.action("employer", "salary"))
    first, last = ex.first_and_last(paid)
    fifths = np.array_split(paid, 5, axis=1)
    midway = fifths[2].mean(axis=1)
    checks = [
        ex.Check.higher(
            "education: the planner's largest share is tertiary education (lead over the next)",
            tertiary,
            np.maximum(university, diversity),
            "calibrated",
        ),
        ex.Check.higher(
            "education: the planner gives tertiary education more than the university",
            tertiary,
            university,
            "calibrated",
        ),
        ex.Check.higher(
            "education: the planner gives diversity incentives more than the university",
            diversity,
            university,
            "calibrated",
        ),
        ex.Check.higher(
            "education: the university's share for salaries falls after the first quarter of the"
            " epochs",
            early,
            ex.first_and_last(salaries)[1],
        ),
        *(
            ex.Check.higher(
                f"education: {kind} rise{'s' * (kind == 'mentorship')} after the first epoch",
                *action_ends(runs, "university", kind)[::-1],
            )
            for kind in ("scholarships", "mentorship")
        ),
        ex.Check.higher(
            "education: the employer's mean salary falls at first (first epoch minus the middle"
            " fifth of the epochs)",
            first,
            midway,
        ),
        ex.Check.higher(
            "education: the employer's mean salary rises after the middle of training",
            last,
            midway,
        ),
    ]
    if starts:
        statement = (
            "education: the gap between the groups' cumulative GPAs is smaller than untrained, in"
            " the same semester"
        )
        narrower = ex.narrowing(*(grade_gaps(episodes) for episodes in (starts, ends)))
        checks.append(ex.Check.above(statement, narrower))
    return checks


CHECKS = {"loan": loan_checks, "health": health_checks, "education": education_checks}
