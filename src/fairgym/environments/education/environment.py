"""A university (admissions and budget), employers as one agent, and a planner.

One step is one semester. It follows MAFE, appendix H: the planner's money, application
and admission, the university's budget, grades, leaving and graduation, work, tertiary education.
The steps are in `steps.py`, their formulas in `dynamics.py`.
"""

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    ActionSpace,
    Entities,
    EntitySpace,
    EnvironmentSpec,
    param,
    sample_rows,
    uniform,
)
from fairgym.environments._common.base import PublishedProfit
from fairgym.environments._common.sampled import (
    RACE_AND_SEX,
    SampledEnvironment,
    filled,
    number_of_people,
    number_of_steps,
    people_per_step,
    race_and_sex,
)
from fairgym.environments._common.schedule import Construction, Schedule
from fairgym.environments.education import dynamics, steps
from fairgym.environments.education.declarations import (
    APPENDIX_H,
    DECISIONS,
    FIXED_COLUMNS,
    GROUPS,
    PLANNER,
    PROFIT,
    REGIONS,
    action_spaces,
    baseline_policies,
    graduation_metrics,
    observation_spaces,
    published_metrics,
)
from fairgym.environments.education.params import EducationParams
from fairgym.environments.education.types import (
    MINORITY,
    OUTSIDE,
    STUDYING,
    WORKING,
    EducationComponents,
    EducationNoise,
    EducationState,
)
from fairgym.utils import register_environment

COLUMNS = (*FIXED_COLUMNS, *(name for name in dynamics.MOVES if name != "gpa_shift"))
FIRST_AGE, SEMESTERS_PER_YEAR = 18.0, 2.0


@register_environment("education")
@dataclasses.dataclass(frozen=True)
class Education(SampledEnvironment[EducationState, EducationParams, EducationComponents]):
    """The MAFE-Edu environment; see the card (`README.md` in this folder).

    Raises:
        FairgymError: If an argument is out of range (applicants lie between 1 and N).
    """

    name: ClassVar[str] = "education"
    dataset: ClassVar[str] = "education"
    published_profit: ClassVar[PublishedProfit] = PROFIT

    population: int = number_of_people(10_000)
    horizon: int = number_of_steps(
        100, "Time limit T in semesters, after which an episode is truncated (100 in the paper)."
    )
    applicants: int | None = people_per_step(
        "People sampled from the tertiary population each semester, N_1; 2% by default."
    )
    population_source: str = param(
        "built-in", 'Source of the people: "built-in", or the name of imported data.'
    )
    observe_group: bool = param(True, "Whether agents observe each person's group.")

    def __post_init__(self) -> None:
        """Check the arguments and fill in those that follow the population."""
        super().__post_init__()
        self._fill_in("applicants", 0.02 * self.population)

    # ---------------------------------------------------------------- declarations

    @cached_property
    def spec(self) -> EnvironmentSpec:
        """Declarations of the environment."""
        return EnvironmentSpec(
            version=2,
            agents=("admissions", "university", "employer", "planner"),
            groups=GROUPS,
            components=EducationComponents,
            metrics={**published_metrics(self._profit_scale), **graduation_metrics()},
            time_unit="semesters",
            failure="the university or the employer fails",
            # The nine regions, and the subgroups of race and sex.
            partitions={"region": REGIONS, "race_and_sex": RACE_AND_SEX},
            # The terms of MAFE, appendix H; table 1 has one graduation rate for all programmes.
            terms=APPENDIX_H,
            # salaries: university, employer and planner all affect what people earn
            benefit="salaries",
            baselines=baseline_policies(),
            stages=("tertiary", "university", "workforce"),
            core_attribute="baseline_gpa",
            counts_people=True,
            decisions=DECISIONS,
            data_checksum=self._data.checksum,
            size_text=f"{self.population:,} people",
        )

    @property
    def default_params(self) -> EducationParams:
        """Table 8 scaled to the population, with the bias strength and group sizes of its data."""
        params = EducationParams(
            bias_strength=self._data.bias_strength,
            minority_share=float(np.mean(self._data.columns["group"])),
        )
        return params.at_population(self.population)

    @cached_property
    def _observation_spaces(self) -> dict[str, EntitySpace]:
        params = self.default_params
        return observation_spaces(
            self.population,
            filled(self.applicants),
            self.horizon,
            self._profit_scale,
            float(params.planner_budget),
            10.0 * float(params.units_at_start),
        )

    @cached_property
    def _action_spaces(self) -> dict[str, ActionSpace]:
        return action_spaces(self.population, filled(self.applicants))

    # ---------------------------------------------------------------- start

    def initial_state(self, key: PRNGKeyArray, params: EducationParams) -> EducationState:
        """Sample the people from the data, group by group. All are outside the university."""
        people_key, apply_key = jax.random.split(key)
        columns, share = (*COLUMNS, "region", "gpa"), params.minority_share
        shares = jnp.stack([1.0 - share, share])
        group, data = self._sample_people(
            people_key, columns, shares, params, params.residual_share
        )
        region, gpa = data.pop("region").astype(jnp.int32), data.pop("gpa")
        priority = jax.random.uniform(apply_key, group.shape)
        everybody = jnp.ones(group.shape, bool)
        applicants, applying = sample_rows(priority, everybody, filled(self.applicants))
        nothing = jnp.zeros(group.shape, jnp.float32)
        never, zero = jnp.zeros(group.shape, jnp.int32), jnp.float32(0.0)
        return EducationState(
            time=jnp.int32(0),
            group=group,
            region=region,
            stage=never,
            data={**data, "gpa_shift": nothing},
            residual=params.residual_share * (gpa - self._fitted_gpa(data, group)),
            entered_at=never,
            left_at=never,
            gpa=nothing,
            semester_gpa=nothing,
            mentored=jnp.zeros(group.shape, bool),
            degree=nothing,
            salary=nothing,
            salary_sum=nothing,
            applicants=applicants,
            applying=applying,
            classes=Schedule.empty(self.horizon, (3, len(GROUPS))),
            units=jnp.asarray(params.units_at_start, jnp.float32),
            building=Construction.at_start(1, self.horizon),
            tuition_share=jnp.float32(1.0),
            supplement=zero,
            account=jnp.asarray(params.reserve_at_start, jnp.float32),
            total_profit=zero,
        )

    def counting_people(self, state: EducationState) -> EducationState:
        """Return the state that counts person by person, including the classes under way."""
        classes = Schedule.empty(self.horizon, (3, self.population))
        return super().counting_people(state).replace(classes=classes)

    # ---------------------------------------------------------------- observation

    def _fitted_gpa(
        self, data: Mapping[str, Float[Array, " people"]], group: Int[Array, " people"]
    ) -> Float[Array, " people"]:
        """Return f(u), the fitted ridge regression."""
        return self._data.scores["gpa"].predict({**data, "group": group.astype(jnp.float32)})

    def _merit(self, state: EducationState) -> Float[Array, " people"]:
        """Return f(u) plus the residual and the changes by tertiary money, not yet clipped."""
        return self._fitted_gpa(state.data, state.group) + state.residual + state.data["gpa_shift"]

    def people(self, state: EducationState) -> dict[str, Float[Array, " population"]]:
        """Return every feature of every person by name, including the fitted baseline GPA."""
        student, worker = state.stage == STUDYING, state.stage == WORKING
        past = state.times
        minority = (state.group == MINORITY).astype(jnp.float32)
        return {
            "group": state.group.astype(jnp.float32),
            "minority": minority,
            "region": state.region.astype(jnp.float32),
            **{region: jnp.float32(1) * (state.region == g) for g, region in enumerate(REGIONS)},
            **state.data,
            "race_and_sex": race_and_sex(state.data),
            "baseline_gpa": dynamics.as_gpa(self._merit(state)),
            "gpa": state.gpa,
            "semester_gpa": jnp.where(student, state.semester_gpa, 0.0),
            "mentored": (student & state.mentored).astype(jnp.float32),
            "degree": state.degree,
            "in_university": student.astype(jnp.float32),
            "in_workforce": worker.astype(jnp.float32),
            "time_in_university": past.in_university,
            "time_in_workforce": past.in_workforce,
            "time_in_environment": past.in_environment,
            "age": FIRST_AGE + past.in_environment / SEMESTERS_PER_YEAR,
            "salary": jnp.where(worker, state.salary, 0.0),
            "average_salary": jnp.where(
                worker, state.salary_sum / jnp.maximum(past.in_workforce, 1.0), 0.0
            ),
        }

    def observe(self, state: EducationState, params: EducationParams) -> dict[str, Entities]:
        """Return the observations: applicants, students, workers, and everybody for the planner."""
        people = self._seen(state)
        units = state.units + state.building.opened(state.time)[0]
        context = {
            "time": state.time,
            "total_profit": state.total_profit,
            "planner_budget": params.planner_budget,
            "university_budget": state.account,
            "tuition_share": state.tuition_share,
            "supplement": state.supplement,
            "units": units,
            "faculty": params.faculty_per_unit * units,
            "students": jnp.sum(people["in_university"]),
        }
        spaces = self._observation_spaces
        return {
            "admissions": spaces["admissions"].view(
                people, state.applying, context, state.applicants
            ),
            "university": spaces["university"].view(people, state.stage == STUDYING, context),
            "employer": spaces["employer"].view(people, state.stage == WORKING, context),
            "planner": spaces["planner"].view(people, jnp.ones((self.population,), bool), context),
        }

    # ---------------------------------------------------------------- one semester

    def noise(self, key: PRNGKeyArray, params: EducationParams) -> EducationNoise:
        """Sample five uniform numbers for every person; one of them is used twice."""
        numbers = uniform(key, (5, self.population))
        return EducationNoise(*numbers, apply=numbers[0])

    def transition(
        self,
        noise: EducationNoise,
        state: EducationState,
        actions: Mapping[str, Array],
        params: EducationParams,
    ) -> tuple[EducationState, EducationComponents, Bool[Array, ""]]:
        """Simulate one semester: the numbered steps of the card, in `steps.py`."""
        units = state.units + state.building.opened(state.time)[0]

        # 1. the planner's money
        share, split = PLANNER.by_name(actions["planner"]), PLANNER.splits(actions["planner"])
        budget = params.planner_budget
        # 2. application and admission
        admission = steps.admit(noise, state, actions["admissions"], params.seats_per_unit * units)
        # 3. the university's budget
        funding = share["university"] * budget
        spending = steps.spend(
            noise, state, admission, actions["university"], funding, units, params
        )
        # 4. grades
        merit = self._merit(state)
        grades = steps.grade(noise, state, admission, spending, dynamics.as_gpa(merit), params)
        # 5. leaving and graduation
        progress = steps.progress(noise, state, admission, spending, grades, params)
        # 6. work
        incentives = share["diversity_incentives"] * budget
        work = steps.work(state, actions["employer"], incentives, params)
        # 7. tertiary money
        tertiary = share["tertiary_education"] * budget * split["tertiary_education"]
        data = steps.educate(noise, state, tertiary, params)
        # 8. passes end; next semester's step 2: who applies
        ending = steps.end_passes(state, admission, progress, work.worker, params.pass_length)
        change = dynamics.kept_of_pass(merit, grades.gpa, ending.returning, params.gpa_kept)
        outside = ending.stage == OUTSIDE
        applicants, applying = sample_rows(noise.apply, outside, filled(self.applicants))

        total_profit = state.total_profit + work.profit
        components = EducationComponents(
            profit=work.profit,
            applied=self._count(admission.applied, state),
            entered=self._count(admission.entered, state),
            bachelor_class=progress.completing[0],
            bachelors=progress.finishing[0],
            master_class=progress.completing[1],
            masters=progress.finishing[1],
            doctorate_class=progress.completing[2],
            doctorates=progress.finishing[2],
            classes=jnp.sum(progress.completing, axis=0),
            graduates=jnp.sum(progress.finishing, axis=0),
            workers=self._count(work.worker, state),
            salaries=self._count(work.measured, state),
        )
        salary_sum = jnp.where(admission.applied, 0.0, state.salary_sum) + work.salary
        state = state.replace(
            time=state.time + 1,
            stage=ending.stage.astype(jnp.int32),
            data=data,
            residual=state.residual + change,
            entered_at=admission.entered_at,
            left_at=ending.left_at,
            gpa=grades.gpa,
            semester_gpa=grades.semester_gpa,
            mentored=spending.mentored,
            degree=progress.degree,
            salary=work.salary,
            salary_sum=salary_sum,
            applicants=applicants,
            applying=applying,
            classes=progress.classes,
            units=units,
            building=spending.building,
            tuition_share=spending.tuition_share,
            supplement=work.supplement,
            account=spending.account,
            total_profit=total_profit,
        )
        bankrupt = spending.salaries < spending.salaries_due
        return state, components, bankrupt | (total_profit < 0.0)
