"""A university (admissions and budget), employers as one agent, and a planner.

One step is one semester, in the order of MAFE, appendix H: the planner's money, application and
admission, the university's budget, grades, leaving and graduation, work, tertiary education. The
formulas are in `dynamics.py`.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fairgym.core import (
    ActionSpace,
    Components,
    Construction,
    Entities,
    EntitySpace,
    Feature,
    Schedule,
    Struct,
    by_group,
    check_shape,
    fill_places,
    improve_or_deteriorate,
    improvement_probability,
    moved,
    register_environment,
    sample_rows,
)
from fairgym.data.sampling import group_shares, resample_people, whole_groups
from fairgym.environments._sampled import SampledEnvironment
from fairgym.environments.education import dynamics
from fairgym.environments.education.metrics import (
    baseline_policies,
    profit_scale,
    published_metrics,
)
from fairgym.environments.education.params import EducationParams
from fairgym.environments.education.spaces import (
    FEATURES,
    FIXED_COLUMNS,
    REGIONS,
    action_spaces,
    observation_spaces,
)
from fairgym.environments.education.types import (
    EducationComponents,
    EducationNoise,
    EducationState,
)
from fairgym.fairness import Metric

TERTIARY, UNIVERSITY, WORKFORCE = 0, 1, 2
MINORITY = 1
COLUMNS = (*FIXED_COLUMNS, *(name for name in dynamics.MOVABLE if name != "gpa_shift"))
FIRST_AGE, SEMESTERS_PER_YEAR = 18.0, 2.0


class _Spending(Struct):
    """What the university does with its money in one semester; dollars unless said otherwise."""

    infrastructure: Float[Array, ""]
    salaries: Float[Array, ""]
    salaries_due: Float[Array, ""]
    scholarships: Float[Array, ""]
    tuition_share: Float[Array, ""]  # share of the sticker price
    mentors: Float[Array, ""]  # students that mentorship money covers


@register_environment("education")
@dataclasses.dataclass(frozen=True)
class Education(SampledEnvironment):
    """The MAFE-Edu environment; see the card (`README.md` in this folder).

    Args:
        population: number of people N, up to 1,000,000.
        horizon: T, semesters after which an episode is truncated (100 in the paper).
        applicants: people drawn from the tertiary population each semester, N_1; by default 2%.
        population_source: "built-in", or the name of imported data.

    Raises:
        FairgymError: an argument out of range (applicants lie between 1 and N).
    """

    name: ClassVar[str] = "education"
    dataset: ClassVar[str] = "education"
    agents: ClassVar[tuple[str, ...]] = ("admissions", "university", "employer", "planner")
    stages: ClassVar[tuple[str, ...]] = ("tertiary", "university", "workforce")
    groups: ClassVar[tuple[str, ...]] = ("majority", "minority")
    core_attribute: ClassVar[str] = "baseline_gpa"
    components: ClassVar[type[Components]] = EducationComponents
    features: ClassVar[Mapping[str, Sequence[Feature]]] = FEATURES

    population: int = 10_000
    horizon: int = 100
    applicants: int | None = None
    population_source: str = "built-in"

    def __post_init__(self) -> None:
        """Check the shapes and fill in those that follow the population."""
        people = check_shape("population", self.population, 2, 1_000_000)
        check_shape("horizon", self.horizon, 1, 100_000)
        if self.applicants is None:
            object.__setattr__(self, "applicants", max(1, round(0.02 * people)))
        check_shape("applicants", self.applicants, 1, people)
        self._data  # noqa: B018  (a missing or damaged data file is told here, not inside jit)

    # ---------------------------------------------------------------- declarations

    @property
    def default_params(self) -> EducationParams:
        """Table 8 scaled to the population; bias strength as fitted on the population's data."""
        params = EducationParams(bias_strength=self._data.bias_strength)
        return params.at_population(self.population)

    @property
    def _applicants(self) -> int:
        assert self.applicants is not None
        return self.applicants

    @property
    def _profit_scale(self) -> float:
        return profit_scale(self.population, self.horizon)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Rewards and disparities of MAFE, appendix H, with the normalisers of table 8."""
        return published_metrics(self._profit_scale)

    @property
    def baselines(self) -> Mapping[str, Mapping[str, Any]]:
        """The card's plausible fixed policy, and others that differ from it in one agent."""
        return baseline_policies()

    @property
    def partitions(self) -> Mapping[str, tuple[str, ...]]:
        """The nine regions."""
        return {"region": REGIONS}

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        params = self.default_params
        return observation_spaces(
            self.population,
            self._applicants,
            self.horizon,
            self._profit_scale,
            float(params.planner_budget),
            10.0 * float(params.units_at_start),
        )

    @cached_property
    def _action_spaces(self) -> dict[str, ActionSpace]:
        return action_spaces(self.population, self._applicants)

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: EducationParams) -> EducationState:
        """Draw the people from the data, group by group, all of them outside the university."""
        people_key, apply_key = jax.random.split(key)
        people = self.population
        group = whole_groups(jnp.array(group_shares(self._data)), people)
        columns = (*COLUMNS, "region")
        data = resample_people(people_key, self._data, columns, group, params.bias_strength)
        region = data.pop("region").astype(jnp.int32)
        applicants, applying = sample_rows(
            jax.random.uniform(apply_key, (people,)), jnp.ones((people,), bool), self._applicants
        )
        nothing = jnp.zeros((people,), jnp.float32)
        never = jnp.zeros((people,), jnp.int32)
        zero = jnp.float32(0.0)
        return EducationState(
            time=jnp.int32(0),
            group=group,
            region=region,
            stage=never,
            data={**data, "gpa_shift": nothing},
            entered_at=never,
            left_at=never,
            gpa=nothing,
            semester_gpa=nothing,
            mentored=jnp.zeros((people,), bool),
            degree=nothing,
            salary=nothing,
            salary_sum=nothing,
            applicants=applicants,
            applying=applying,
            classes=Schedule.empty(self.horizon, (3, len(self.groups))),
            units=jnp.asarray(params.units_at_start, jnp.float32),
            building=Construction.at_start(1, self.horizon),
            tuition_share=jnp.float32(1.0),
            supplement=zero,
            account=jnp.asarray(params.reserve_at_start, jnp.float32),
            total_profit=zero,
        )

    # ---------------------------------------------------------------- looking

    def _baseline_gpa(self, state: EducationState) -> Float[Array, " people"]:
        """f(u), the fitted ridge regression, and what tertiary money has changed in it."""
        columns = {**state.data, "group": state.group.astype(jnp.float32)}
        fitted = self._data.scores["gpa"].predict(columns)
        return jnp.clip(fitted + state.data["gpa_shift"], 0.0, dynamics.HIGHEST_GPA)

    def _times(self, state: EducationState) -> tuple[Array, Array, Array]:
        """Semesters in the university, in the workforce and in the environment so far."""
        student, worker = state.stage == UNIVERSITY, state.stage == WORKFORCE
        until = jnp.where(student, state.time, state.left_at)
        inside = student | worker
        in_university = jnp.where(inside, until - state.entered_at, 0)
        # whoever is rejected begins to work in the next semester, like those who leave
        hired_at = jnp.maximum(state.left_at, state.entered_at + 1)
        in_workforce = jnp.where(worker, state.time - hired_at, 0)
        in_environment = jnp.where(inside, state.time - state.entered_at, 0)
        return (
            in_university.astype(jnp.float32),
            in_workforce.astype(jnp.float32),
            in_environment.astype(jnp.float32),
        )

    def people(self, state: EducationState) -> dict[str, Float[Array, " population"]]:
        """Every feature of every person by name, the fitted baseline GPA included."""
        student, worker = state.stage == UNIVERSITY, state.stage == WORKFORCE
        in_university, in_workforce, in_environment = self._times(state)
        minority = (state.group == MINORITY).astype(jnp.float32)
        return {
            "group": state.group.astype(jnp.float32),
            "minority": minority,
            "region": state.region.astype(jnp.float32),
            **{region: jnp.float32(1) * (state.region == g) for g, region in enumerate(REGIONS)},
            **state.data,
            "baseline_gpa": self._baseline_gpa(state),
            "gpa": state.gpa,
            "semester_gpa": jnp.where(student, state.semester_gpa, 0.0),
            "mentored": (student & state.mentored).astype(jnp.float32),
            "degree": state.degree,
            "in_university": student.astype(jnp.float32),
            "in_workforce": worker.astype(jnp.float32),
            "time_in_university": in_university,
            "time_in_workforce": in_workforce,
            "time_in_environment": in_environment,
            "age": FIRST_AGE + in_environment / SEMESTERS_PER_YEAR,
            "salary": jnp.where(worker, state.salary, 0.0),
            "average_salary": jnp.where(
                worker, state.salary_sum / jnp.maximum(in_workforce, 1.0), 0.0
            ),
        }

    def observe(self, state: EducationState, params: EducationParams) -> dict[str, Entities]:
        """Those who apply, the students, the workers, and everybody for the planner."""
        people = self.people(state)
        people["minority"] = people["minority"] * params.observe_group
        units = state.units + state.building.opened(state.time)[0]
        context = [
            state.time.astype(jnp.float32),
            state.total_profit,
            jnp.asarray(params.planner_budget, jnp.float32),
            state.account,
            state.tuition_share,
            state.supplement,
            units,
            params.faculty_per_unit * units,
            jnp.sum(people["in_university"]),
        ]
        view = functools.partial(self._view, people, context)
        return {
            "admissions": view("admissions", state.applying, state.applicants),
            "university": view("university", state.stage == UNIVERSITY),
            "employer": view("employer", state.stage == WORKFORCE),
            "planner": view("planner", jnp.ones((self.population,), bool)),
        }

    # ---------------------------------------------------------------- one semester

    def noise(self, key: PRNGKeyArray, params: EducationParams) -> EducationNoise:
        """Five uniform numbers for every person."""
        return EducationNoise.sample(key, self.population)

    def _spend(
        self,
        shares: Float[Array, " five"],
        budget: Float[Array, ""],
        units: Float[Array, ""],
        students: Float[Array, ""],
        params: EducationParams,
    ) -> _Spending:
        """Step 3: what the shares of the budget buy; money without a use stays in the account."""
        infrastructure, salaries, scholarships, mentorship, _ = budget * shares
        due = params.faculty_per_unit * units * params.faculty_salary
        bill = students * params.tuition
        paid_for = jnp.minimum(scholarships, bill)
        return _Spending(
            infrastructure=infrastructure,
            salaries=jnp.minimum(salaries, due),
            salaries_due=due,
            scholarships=paid_for,
            tuition_share=jnp.where(
                bill > 0.0,
                1.0 - paid_for / jnp.where(bill > 0.0, bill, 1.0),
                jnp.where(params.tuition > 0.0, 1.0, 0.0),  # nobody studies; studying is free
            ),
            mentors=jnp.floor(mentorship / params.mentorship_cost),
        )

    def transition(
        self,
        noise: EducationNoise,
        state: EducationState,
        actions: Mapping[str, Any],
        params: EducationParams,
    ) -> tuple[EducationState, EducationComponents, Bool[Array, ""]]:
        """Make one semester's step; see the numbered comments."""
        now, group = state.time, state.group
        worker = state.stage == WORKFORCE
        minority = group == MINORITY
        units = state.units + state.building.opened(now)[0]

        def count(who: Array) -> Array:
            return by_group(who.astype(jnp.float32), group, len(self.groups))

        # 1. the planner's money
        space: Any = self.action_space("planner")
        shares, split = space.split(actions["planner"])
        budget = params.planner_budget

        # 2. application and admission to the free seats; the rejected look for work
        rows, nowhere = state.applicants, jnp.zeros((self.population,), bool)
        student = state.stage == UNIVERSITY
        seats = jnp.floor(params.seats_per_unit * units) - jnp.sum(count(student))
        taken = fill_places(
            actions["admissions"],
            state.applying,
            jnp.zeros_like(rows),
            seats[None],
            noise.admission[rows],
        )
        applied = nowhere.at[rows].set(state.applying, unique_indices=True)
        entered = nowhere.at[rows].set(taken, unique_indices=True)
        rejected = applied & ~entered
        student = student | entered
        entered_at = jnp.where(applied, now, state.entered_at)
        time = (now - entered_at).astype(jnp.float32)  # of students: TIMEINUNIV

        # 3. the university's budget: sticker tuition comes in, scholarships go out
        students = jnp.sum(count(student))
        income = students * params.tuition + shares[1] * budget
        spent = self._spend(actions["university"], state.account + income, units, students, params)
        mentored = fill_places(
            -time,  # a mentor helps those who enter
            student & minority,
            jnp.zeros_like(group),
            spent.mentors[None],
            noise.mentor,
        )
        mentorship = params.mentorship_cost * jnp.sum(count(mentored))
        account = (
            state.account
            + income
            - (spent.infrastructure + spent.salaries + spent.scholarships + mentorship)
        )
        building = state.building.invest(
            spent.infrastructure[None],
            now,
            base_cost=params.unit_base_cost,
            unit_cost=params.unit_cost,
            base_time=params.build_base_time,
            unit_time=params.build_unit_time,
        )

        # 4. grades
        baseline = self._baseline_gpa(state)
        semester_gpa = jnp.where(
            entered,
            dynamics.entering_gpa(baseline, noise.gpa, spent.tuition_share, mentored, params),
            dynamics.next_semester_gpa(state.semester_gpa, noise.gpa, params),
        )
        gpa = jnp.where(applied, baseline, state.gpa)
        mean = dynamics.running_mean(jnp.where(entered, 0.0, gpa), semester_gpa, time + 1.0)
        gpa = jnp.where(student, mean, gpa)

        # 5. leaving and graduation
        leave = dynamics.leaves(gpa, spent.tuition_share, time, params)
        stays = student & (noise.leave >= leave)
        lengths = dynamics.programme_lengths(params)
        bachelor, master, doctorate = (stays & (time + 1.0 == end) for end in jnp.cumsum(lengths))
        finishing = [count(who) for who in (bachelor, master, doctorate)]
        begins = jnp.stack([count(entered), *finishing[:2]])
        # a class that begins with this semester is complete after its last, the next ones begin
        # with the semester after this
        ahead = (lengths - jnp.array([1.0, 0.0, 0.0])).astype(jnp.int32)
        classes = state.classes.add((now + ahead)[:, None], begins)
        completing = classes.due(now)
        still = stays & ~doctorate
        degree = jnp.where(applied, 0.0, state.degree)
        for code, who in enumerate((bachelor, master, doctorate), start=1):
            degree = jnp.where(who, float(code), degree)

        # 6. work: those who were in the workforce when the semester began
        pay_of_minority = jnp.sum(count(worker & minority)) * params.max_salary
        distributed = jnp.minimum(shares[2] * budget, pay_of_minority)  # a supplement is at most 1
        supplement = jnp.where(
            pay_of_minority > 0.0, distributed / jnp.maximum(pay_of_minority, 1.0), 0.0
        )
        salary = actions["employer"]
        extra = jnp.where(minority, supplement, 0.0)
        in_university, experience, _ = self._times(state)
        pay_cost = dynamics.pay_cost(state.gpa, in_university, experience, params)
        utility = dynamics.utility(salary, extra, pay_cost, params)
        profit = jnp.sum(jnp.where(worker, utility, 0.0))
        total_profit = state.total_profit + profit
        received = jnp.where(worker, salary + extra, 0.0)

        # 7. tertiary money
        improve = improvement_probability(
            shares[0] * budget * split,
            base=params.improve_base,
            gain=params.improve_gain,
            slope=params.improve_slope * len(REGIONS) / params.planner_budget,
            shift=params.improve_shift,
        )
        direction = improve_or_deteriorate(noise.move, improve[state.region], params.stay)
        data = dict(state.data)
        for name, (_, low, high) in dynamics.MOVABLE.items():
            data[name] = moved(data[name], direction, dynamics.change_of(name, params), low, high)

        # 8. a pass ends; 2. of the next semester: who applies
        looks_for_work = rejected | student & ~still
        inside = still | looks_for_work | worker
        over = inside & (time + 1.0 >= params.pass_length)
        stage = jnp.where(
            still, UNIVERSITY, jnp.where(looks_for_work | worker, WORKFORCE, TERTIARY)
        )
        stage = jnp.where(over, TERTIARY, stage)
        applicants, applying = sample_rows(noise.apply, stage == TERTIARY, self._applicants)
        left_at = jnp.where(rejected, now, jnp.where(looks_for_work, now + 1, state.left_at))

        components = EducationComponents(
            profit=profit,
            applied=count(applied),
            entered=count(entered),
            bachelor_class=completing[0],
            bachelors=finishing[0],
            master_class=completing[1],
            masters=finishing[1],
            doctorate_class=completing[2],
            doctorates=finishing[2],
            workers=count(worker),
            salaries=by_group(received, group, len(self.groups)),
        )
        state = state.replace(
            time=now + 1,
            stage=stage,
            data=data,
            entered_at=entered_at,
            left_at=left_at,
            gpa=gpa,
            semester_gpa=semester_gpa,
            mentored=mentored,
            degree=degree,
            salary=received,
            salary_sum=jnp.where(applied, 0.0, state.salary_sum) + received,
            applicants=applicants,
            applying=applying,
            classes=classes,
            units=units,
            building=building,
            tuition_share=spent.tuition_share,
            supplement=supplement,
            account=jnp.maximum(account, 0.0),
            total_profit=total_profit,
        )
        bankrupt = spent.salaries < spent.salaries_due
        return state, components, bankrupt | (total_profit < 0.0)
