"""The education system once more, in plain vectorised NumPy: the benchmark's opponent and a check.

Written from the description of the system and not from the JAX code. It touches only the people
whom a step concerns (index arrays instead of masks, except for tertiary money, which concerns
everybody), counts semesters instead of storing dates, keeps sums of grades instead of running
means and classes as lists of cohorts, and is stateful, as such a simulator usually is:

    country = NumpyEducation(env, params)
    country.reset(np.random.default_rng(0))
    components, failed = country.step({"admissions": ..., "university": ..., ...})

`test_education.py` checks that it agrees with `fairgym.environments.education`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairgym.data import load_population

TERTIARY, UNIVERSITY, WORKFORCE = range(3)
GROUPS, REGIONS = 2, 9
SAMPLED = (
    "group",
    "region",
    "female",
    "race_black",
    "race_asian",
    "race_other",
    "major_first",
    "major_highest",
    "occupation",
    "hours_per_week",
    "employer_sector",
    "employer_size",
    "undergraduate_loans",
    "graduate_loans",
)
OF_PERSON = ("minority", *SAMPLED[2:], "baseline_gpa")
OF_STUDENT = ("gpa", "semester_gpa", "time_in_university", "mentored")
OF_WORKER = ("time_in_workforce", "degree", "age", "salary", "average_salary")
TELLING = ("minority", "race_black", "race_asian", "race_other", "mentored", *OF_WORKER[3:])
NAMES_OF_REGIONS = (
    "New England",
    "Middle Atlantic",
    "East North Central",
    "West North Central",
    "South Atlantic",
    "East South Central",
    "West South Central",
    "Mountain",
    "Pacific",
)
SEEN_BY = {
    "admissions": (*OF_PERSON, "region"),
    "university": (*OF_PERSON, "region", *OF_STUDENT),
    "employer": (*OF_PERSON, "region", "gpa", "time_in_university", *OF_WORKER),
    "planner": (
        *OF_PERSON,
        *OF_STUDENT,
        *OF_WORKER,
        *NAMES_OF_REGIONS,
        "in_university",
        "in_workforce",
        "time_in_environment",
    ),
}
# What tertiary money moves: parameter with the size of a move, sign of an improvement, range.
MOVES = {
    "hours_per_week": ("hours_change", 1.0, 0.0, 168.0),
    "employer_sector": ("employer_change", 1.0, 1.0, 5.0),
    "employer_size": ("employer_change", 1.0, 1.0, 8.0),
    "undergraduate_loans": ("loan_change", -1.0, 0.0, np.inf),
    "graduate_loans": ("loan_change", -1.0, 0.0, np.inf),
    "gpa_shift": ("gpa_change", 1.0, -4.0, 4.0),
}


def simplex(shares: np.ndarray) -> np.ndarray:
    """Shares that sum to 1; uniform ones where there are none."""
    total = shares.sum()
    return shares / total if total > 0.0 else np.full(len(shares), 1.0 / len(shares))


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


class NumpyEducation:
    """One country: its people, its university, its employers.

    Attributes:
        sees: names of the features that each agent sees.

    Args:
        env: the JAX environment; its shapes are taken (population, applicants).
        params: its parameters.
        dtype: float type of all numbers about people; float64 where digits are compared.
    """

    sees = SEEN_BY

    def __init__(self, env: Any, params: Any, dtype: Any = np.float32) -> None:
        self.size = env.population
        self.applicants_per_step = env.applicants
        self.dtype = dtype
        self.observe_group = env.observe_group
        self.params = {name: float(getattr(params, name)) for name in params.info()}
        data = load_population("education", env.population_source)
        self.rows = {name: np.asarray(data.columns[name], dtype) for name in SAMPLED}
        self.fitted = data.scores["gpa"]
        # members of each group among the rows, and how likely each of them is sampled
        group = self.rows["group"]
        fitted = self.fitted_gpa(self.rows)
        self.rows["residual"] = dtype(self.params["residual_share"]) * (
            np.asarray(data.columns["gpa"], dtype) - fitted
        )
        score = (fitted + self.rows["residual"]).astype(np.float64)
        self.pools = []
        for g in range(GROUPS):
            members = np.flatnonzero(group == g)
            z = (score[members] - score[members].mean()) / score[members].std()
            weight = np.exp(data.directions[g] * self.params["bias_strength"] * z)
            self.pools.append((members, weight / weight.sum()))
        majority = round(float((group == 0).mean()) * self.size)
        self.group_sizes = (majority, self.size - majority)

    # ------------------------------------------------------------------ start

    def reset(self, rng: np.random.Generator) -> None:
        """Draw new people and start at semester 0."""
        self.rng = rng
        sampled = np.concatenate(
            [
                rng.choice(members, size, p=chance)
                for (members, chance), size in zip(self.pools, self.group_sizes, strict=True)
            ]
        )
        self.start({name: column[sampled] for name, column in self.rows.items()})

    def start(self, people: Mapping[str, np.ndarray]) -> None:
        """Start at semester 0 with these people, all of them in the tertiary population."""

        def zeros(dtype: Any = self.dtype) -> np.ndarray:
            return np.zeros(self.size, dtype)

        self.people = {name: np.array(people[name], self.dtype) for name in SAMPLED}
        self.people["gpa_shift"] = zeros()
        self.people["residual"] = np.array(people["residual"], self.dtype)
        self.group = self.people["group"].astype(int)
        self.region = self.people["region"].astype(int)
        self.stage = zeros(int)
        # semesters: of this pass, as a student, as a worker
        self.inside, self.studied, self.worked = zeros(int), zeros(int), zeros(int)
        self.grades, self.gpa, self.semester_gpa = zeros(), zeros(), zeros()
        self.mentored = zeros(bool)
        self.degree = zeros(int)
        self.salary, self.earned = zeros(), zeros()
        self.time = 0
        # of each programme: [semesters until it is complete, people per group] of its classes
        self.classes: tuple[list[list[Any]], ...] = ([], [], [])
        self.projects: list[list[float]] = []  # [semesters until they open, units]
        self.units, self.fund = self.params["units_at_start"], 0.0
        self.account = self.params["reserve_at_start"]
        self.tuition_share, self.supplement = 1.0, 0.0
        self.profit = 0.0
        self._sample_applicants()

    def _sample_applicants(self) -> None:
        outside = np.flatnonzero(self.stage == TERTIARY)
        luck = self.chance("apply", outside)
        count = min(self.applicants_per_step, len(outside))
        if count < len(outside):
            first = np.argpartition(-luck, count)[:count]
            outside, luck = outside[first], luck[first]
        self.applying = outside[np.argsort(-luck)]

    # ------------------------------------------------------------------ chance

    def chance(self, kind: str, rows: np.ndarray) -> np.ndarray:
        """A uniform number in [0, 1) for each of these people; `kind` says what for."""
        return self.rng.random(len(rows), np.float32)

    def best(self, rows: np.ndarray, score: np.ndarray, places: float, kind: str) -> np.ndarray:
        """The `places` rows with the highest scores; equals by chance."""
        if places >= len(rows):
            return rows
        order = np.lexsort((self.chance(kind, rows), score))
        return rows[order[len(rows) - max(int(places), 0) :]]

    # ------------------------------------------------------------------ looking

    def fitted_gpa(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """f(u), grade points."""
        line = sum(
            (self.dtype(w) * columns[key] for key, w in self.fitted.coefficients.items() if w),
            start=self.dtype(self.fitted.intercept),
        )
        return np.clip(line, 0.0, 4.0)

    def baseline_gpa(self, rows: np.ndarray) -> np.ndarray:
        """f(u), the own residual, and what tertiary money has changed."""
        return np.clip(self._merit(rows), 0.0, 4.0)

    def _merit(self, rows: np.ndarray) -> np.ndarray:
        people = {name: column[rows] for name, column in self.people.items()}
        return self.fitted_gpa(people) + people["residual"] + people["gpa_shift"]

    def observe(self, agent: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observation of an agent: `(rows, features, context)`, features of shape (rows, features).

        The rows are places in the agent's action: of applicants their place among them.
        """
        if agent == "admissions":
            who = self.applying
            rows = np.arange(len(who))
        else:
            stages = {"university": UNIVERSITY, "employer": WORKFORCE}
            everybody = np.ones(self.size, bool)
            rows = np.flatnonzero(self.stage == stages[agent] if agent in stages else everybody)
            who = rows
        stage, region = self.stage[who], self.region[who]
        columns: dict[str, Any] = {
            name: self.people[name][who] for name in (*OF_PERSON[1:-1], "region")
        }
        columns |= {
            "minority": self.group[who],
            "baseline_gpa": self.baseline_gpa(who),
            "gpa": self.gpa[who],
            "semester_gpa": self.semester_gpa[who],
            "time_in_university": self.studied[who],
            "mentored": self.mentored[who],
            "time_in_workforce": self.worked[who],
            "degree": self.degree[who],
            "age": 18.0 + self.inside[who] / 2.0,
            "salary": self.salary[who],
            "average_salary": self.earned[who] / np.maximum(self.worked[who], 1),
            "in_university": stage == UNIVERSITY,
            "in_workforce": stage == WORKFORCE,
            "time_in_environment": self.inside[who],
        }
        if not self.observe_group:
            columns |= {name: np.zeros(len(who)) for name in TELLING}
        features = np.empty((len(who), len(SEEN_BY[agent])), self.dtype)
        for place, name in enumerate(SEEN_BY[agent]):
            if name in NAMES_OF_REGIONS:
                features[:, place] = region == NAMES_OF_REGIONS.index(name)
            else:
                features[:, place] = columns[name]
        context = [
            self.time,
            self.profit,
            self.params["planner_budget"],
            self.account,
            self.tuition_share,
            self.supplement,
            self.units,
            self.params["faculty_per_unit"] * self.units,
            (self.stage == UNIVERSITY).sum(),
        ]
        return rows, features, np.array(context, self.dtype)

    # ------------------------------------------------------------------ one semester

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """One semester.

        Args:
            actions: "admissions" one score for each applicant, "employer" one salary for each
                person of the population, "university" five shares, "planner" 3 + 9 shares; shares
                need not sum to 1.

        Returns:
            The components by name, and whether the university or the employer has failed.
        """
        params = self.params
        planner = np.asarray(actions["planner"], np.float64)
        split = simplex(planner[3:])
        budget = params["planner_budget"]
        tertiary, funding, diversity = simplex(planner[:3]) * budget

        # who applies, and who of them finds a seat
        applying = self.applying
        students = np.flatnonzero(self.stage == UNIVERSITY)
        workers = np.flatnonzero(self.stage == WORKFORCE)
        seats = np.floor(params["seats_per_unit"] * self.units) - len(students)
        scores = np.asarray(actions["admissions"])[: len(applying)]
        entered = self.best(applying, scores, seats, "admission")
        rejected = np.setdiff1d(applying, entered, assume_unique=True)
        self._begin_pass(applying)

        solvent = self._spend(
            np.asarray(actions["university"], np.float64),
            funding,
            np.concatenate([students, entered]),
        )
        self._grade(students, entered)
        finished, completing, gone = self._leave(students, entered)
        profit, measured = self._work(workers, np.asarray(actions["employer"]), diversity)
        self._keep_grades(np.concatenate([students, entered, workers]))
        self._move(tertiary * split)

        components = {
            "profit": profit,
            "applied": self._per_group(applying),
            "entered": self._per_group(entered),
            "workers": self._per_group(workers),
            "salaries": self._per_group(workers, measured),
        }
        for place, (group_name, name) in enumerate(
            (
                ("bachelor_class", "bachelors"),
                ("master_class", "masters"),
                ("doctorate_class", "doctorates"),
            )
        ):
            components[group_name] = completing[place]
            components[name] = self._per_group(finished[place])
        components["classes"] = np.sum(completing, axis=0)
        components["graduates"] = np.sum([self._per_group(who) for who in finished], axis=0)

        # where everybody goes
        self.stage[entered] = UNIVERSITY
        self.stage[np.concatenate([rejected, gone])] = WORKFORCE
        self._end_passes(np.concatenate([students, entered, rejected, workers]))
        self.time += 1
        self._open()
        self._sample_applicants()
        return components, not solvent or self.profit < 0.0

    def _begin_pass(self, rows: np.ndarray) -> None:
        for counter in (self.inside, self.studied, self.worked, self.degree):
            counter[rows] = 0
        for sums in (self.grades, self.earned):
            sums[rows] = 0.0
        self.gpa[rows] = self.baseline_gpa(rows)  # until there are grades

    def _keep_grades(self, rows: np.ndarray) -> None:
        """Let the grades of those whose pass ends count in their next one."""
        over = self.inside[rows] + 1 >= self.params["pass_length"]
        rows = rows[over & (self.studied[rows] > 0)]
        surplus = self.gpa[rows] - self._merit(rows)
        self.people["residual"][rows] += self.params["gpa_kept"] * surplus

    def _end_passes(self, rows: np.ndarray) -> None:
        self.inside[rows] += 1
        over = rows[self.inside[rows] >= self.params["pass_length"]]
        self.stage[over] = TERTIARY
        for column in (self.inside, self.studied, self.worked):
            column[over] = 0
        for column in (self.semester_gpa, self.salary, self.earned):
            column[over] = 0.0
        self.mentored[over] = False

    def _spend(self, shares: np.ndarray, funding: float, students: np.ndarray) -> bool:
        """The university's budget; False where it cannot pay its faculty."""
        params = self.params
        bill = len(students) * params["tuition"]
        self.account += bill + funding
        infrastructure, salaries, scholarships, mentorship, _ = self.account * simplex(shares)

        due = params["faculty_per_unit"] * self.units * params["faculty_salary"]
        discount = min(scholarships, bill)
        if bill > 0.0:
            self.tuition_share = 1.0 - discount / bill
        else:  # nobody studies, or studying is free
            self.tuition_share = float(params["tuition"] > 0.0)

        minority = students[self.group[students] == 1]
        mentors = np.floor(mentorship / params["mentorship_cost"])
        mentees = self.best(minority, -self.studied[minority], mentors, "mentor")
        self.mentored[:] = False
        self.mentored[mentees] = True

        self.account -= infrastructure + min(salaries, due) + discount
        self.account = max(self.account - len(mentees) * params["mentorship_cost"], 0.0)
        self._build(infrastructure)
        return bool(salaries >= due)

    def _build(self, money: float) -> None:
        params = self.params
        self.fund += money
        units = np.floor((self.fund - params["unit_base_cost"]) / params["unit_cost"])
        if units >= 1.0:
            self.fund = max(self.fund - params["unit_base_cost"] - units * params["unit_cost"], 0.0)
            wait = np.ceil(params["build_base_time"] + units * params["build_unit_time"])
            self.projects.append([max(wait, 1.0), units])

    def _open(self) -> None:
        for project in self.projects:
            project[0] -= 1.0
        self.units += sum(units for wait, units in self.projects if wait <= 0.0)
        self.projects = [project for project in self.projects if project[0] > 0.0]

    def _grade(self, students: np.ndarray, entered: np.ndarray) -> None:
        params = self.params
        drift = (2.0 * self.chance("gpa", students) - 1.0) * params["gpa_drift"]
        self.semester_gpa[students] = np.clip(self.semester_gpa[students] + drift, 0.0, 4.0)

        scholarship, mentored = 1.0 - self.tuition_share, self.mentored[entered]
        large = scholarship > 0.0 and scholarship >= params["large_scholarship"]
        centre = np.where(mentored | large, params["gpa_support"], 0.0)
        first = (
            self.gpa[entered]  # the baseline
            + centre
            + (2.0 * self.chance("gpa", entered) - 1.0) * params["gpa_noise"]
            + params["gpa_scholarship"] * scholarship
            + params["gpa_mentor"] * mentored
        )
        self.semester_gpa[entered] = np.clip(first, 0.0, 4.0)
        rows = np.concatenate([students, entered])
        self.grades[rows] += self.semester_gpa[rows]
        self.gpa[rows] = self.grades[rows] / (self.studied[rows] + 1)

    def leaving_chance(self, rows: np.ndarray) -> np.ndarray:
        params, t = self.params, self.studied[rows]
        return sigmoid(
            params["leave_base"]
            + params["leave_gpa"] * self.gpa[rows]
            + params["leave_tuition"] * self.tuition_share
            + params["leave_time"] * t
            + params["leave_time_squared"] * t**2
        )

    def _leave(
        self, students: np.ndarray, entered: np.ndarray
    ) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
        """Finishers of each programme, the size of the class of each, and those who are gone."""
        params = self.params
        rows = np.concatenate([students, entered])
        stays = self.chance("leave", rows) >= self.leaving_chance(rows)
        self.studied[rows] += 1
        stayed, left = rows[stays], rows[~stays]
        self.classes[0].append([params["bachelor_length"], self._per_group(entered)])
        finished, completing, semesters = [], [], 0.0
        lengths = [params[f"{name}_length"] for name in ("bachelor", "master", "doctorate")]
        for place, cohorts in enumerate(self.classes):
            semesters += lengths[place]
            done = stayed[self.studied[stayed] == semesters]
            self.degree[done] = place + 1
            finished.append(done)
            for cohort in cohorts:
                cohort[0] -= 1.0
            completing.append(sum((n for wait, n in cohorts if wait == 0.0), np.zeros(GROUPS)))
            cohorts[:] = [cohort for cohort in cohorts if cohort[0] > 0.0]
        for place in (0, 1):
            self.classes[place + 1].append([lengths[place + 1], self._per_group(finished[place])])
        gone = np.concatenate([left, finished[2]])
        self.semester_gpa[gone] = 0.0
        self.mentored[gone] = False
        return finished, completing, gone

    def _work(
        self, workers: np.ndarray, salaries: np.ndarray, diversity: float
    ) -> tuple[float, np.ndarray]:
        """The employer's profit, and the salary of every worker as it is measured."""
        params = self.params
        minority = self.group[workers] == 1
        most = minority.sum() * params["max_salary"]
        given = min(diversity, most)
        self.supplement = given / most if most > 0.0 else 0.0

        salary = salaries[workers]
        extra = np.where(minority, self.supplement, 0.0)
        longest = params["bachelor_length"] + params["master_length"] + params["doctorate_length"]
        e = self.worked[workers] / params["pass_length"]
        cost = (
            params["cost_base"]
            + params["cost_gpa"] * self.gpa[workers] / 4.0
            + params["cost_university"] * self.studied[workers] / longest
            + params["cost_experience"] * e * (1.0 - e)
        )
        received = salary + extra
        utility = params["utility_base"] + params["utility_pay"] * received - cost * salary**2
        profit = float(utility.sum(dtype=np.float64))
        self.profit += profit
        self.salary[workers] = received
        self.earned[workers] += received
        self.worked[workers] += 1
        return profit, salary + params["supplement_in_salary"] * extra

    def _move(self, money: np.ndarray) -> None:
        """Features improve, stay or deteriorate by the money of each region."""
        params = self.params
        slope = params["improve_slope"] * REGIONS / params["planner_budget"]
        better = params["improve_base"] + params["improve_gain"] * sigmoid(
            slope * money + params["improve_shift"]
        )
        better = better[self.region]
        luck = self.chance("move", np.arange(self.size))
        up = np.flatnonzero(luck <= better)
        down = np.flatnonzero(luck > better + params["stay"])
        for name, (change, sign, low, high) in MOVES.items():
            column, step = self.people[name], sign * params[change]
            column[up] = np.clip(column[up] + step, low, high)
            column[down] = np.clip(column[down] - step, low, high)

    def _per_group(self, rows: np.ndarray, values: Any = None) -> np.ndarray:
        return np.bincount(self.group[rows], values, minlength=GROUPS).astype(np.float64)


System = NumpyEducation
