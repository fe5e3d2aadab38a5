"""The health system once more, in plain vectorised NumPy: the benchmark's opponent and a check.

Written from the description of the system and not from the JAX code. It touches only the people
whom a step concerns (index arrays instead of masks), counts the months of illness and of building
instead of storing dates, and is stateful, as such a simulator usually is:

    country = NumpyHealth(env, params)
    country.reset(np.random.default_rng(0))
    components, failed = country.step({"insurer": ..., "hospital": ..., "planner": ...})

`test_health.py` checks that it agrees with `fairgym.environments.health`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairgym.data import load_population

HEALTHY, WAITING, IN_HOSPITAL = range(3)
REGIONS = ("Northeast", "Midwest", "South", "West")

FIXED = (
    "year",
    "age",
    "female",
    "family_size",
    "race_black",
    "race_asian",
    "race_other",
    "born_in_us",
    "education_years",
    "high_cholesterol",
    "smokes_now",
)
INCOMES = ("personal_income", "family_income")
DISTRESS = ("effort", "nervous", "restless", "hopeless", "sad", "worthless")
SAMPLED = (*FIXED, *INCOMES, "poverty_level", *DISTRESS)
_SEEN = (*REGIONS, *SAMPLED, "health_risk", "insured", "premium")
SEEN_BY = {
    "insurer": (*_SEEN, "needs_bed", "in_hospital", "time_ill", "time_waited"),
    "hospital": (*_SEEN, "time_ill", "time_waited"),
    "planner": (*_SEEN, "needs_bed", "in_hospital", "time_ill", "time_waited"),
}


class NumpyHealth:
    """An insurer, four regions with a hospital each, a planner, and their people.

    Attributes:
        sees: names of the features that each agent sees.

    Args:
        env: the JAX environment; its shapes are taken (population, decision period).
        params: its parameters.
        dtype: float type of all numbers; float64 where digits are compared.
    """

    sees = SEEN_BY

    def __init__(self, env: Any, params: Any, dtype: Any = np.float32) -> None:
        self.size = env.population
        self.period = env.decision_period
        self.dtype = dtype
        self.observe_group = env.observe_group
        self.params = {name: float(getattr(params, name)) for name in params.info()}
        data = load_population("health", env.population_source)
        self.rows = {name: np.asarray(data.columns[name], dtype) for name in SAMPLED}
        self.fitted = data.scores["health_risk"]
        # members of each region among the rows, and how likely each of them is sampled
        region = np.asarray(data.columns["group"])
        risk = self.risk(self.rows).astype(np.float64)
        self.pools = []
        for g in range(len(REGIONS)):
            members = np.flatnonzero(region == g)
            z = (risk[members].mean() - risk[members]) / risk[members].std()
            weight = np.exp(data.directions[g] * self.params["bias_strength"] * z)
            self.pools.append((members, np.cumsum(weight) / weight.sum()))
        self.region_share = np.bincount(region, minlength=len(REGIONS)) / len(region)
        ends = np.round(np.cumsum(self.region_share) * self.size)
        self.region_sizes = np.diff(ends, prepend=0.0).astype(int)

    # ------------------------------------------------------------------ start

    def reset(self, rng: np.random.Generator) -> None:
        """Draw new people and start at month 0."""
        self.rng = rng
        region = np.repeat(np.arange(len(REGIONS)), self.region_sizes)
        sampled = self.sampled(region)
        self.start({n: column[sampled] for n, column in self.rows.items()}, region)

    def start(self, people: Mapping[str, np.ndarray], region: np.ndarray) -> None:
        """Start at month 0 with these people, all of them healthy and uninsured."""

        def zeros(dtype: Any = self.dtype) -> np.ndarray:
            return np.zeros(self.size, dtype)

        self.people = {name: np.array(people[name], self.dtype) for name in SAMPLED}
        self.region = np.array(region)
        self.stage, self.ill, self.waited = zeros(int), zeros(int), zeros(int)
        self.insured = zeros(bool)
        self.premium, self.subsidy = zeros(), zeros()
        self.time = 0
        by_people = self.params["beds_by_people"]
        of_mean = 1.0 - by_people + by_people * len(REGIONS) * self.region_share
        self.beds = np.floor(self.params["beds_at_start"] * of_mean).astype(int)
        self.projects: list[list[int]] = []  # region, beds, months until they open
        self.fund = np.zeros(len(REGIONS))
        self.public_health = np.zeros(len(REGIONS))
        self.paid = np.zeros(len(REGIONS))  # to the insurer in the last month
        self.rollover = self.held = self.profit = 0.0
        self.luck = self.chance("illness", np.arange(self.size))

    # ------------------------------------------------------------------ chance

    def chance(self, kind: str, rows: np.ndarray) -> np.ndarray:
        """A uniform number in [0, 1) for each of these people; `kind` says what for."""
        return self.rng.random(len(rows), np.float32)

    def shuffled(self, rows: np.ndarray) -> np.ndarray:
        """The order in which people stand who have the same score."""
        return self.rng.permutation(rows)

    def sampled(self, region: np.ndarray) -> np.ndarray:
        """A row of the data for each of these regions."""
        uniform = self.rng.random(len(region))
        rows = np.empty(len(region), int)
        for g, (members, cumulative) in enumerate(self.pools):
            here = np.flatnonzero(region == g)
            found = np.searchsorted(cumulative, uniform[here], side="right")
            rows[here] = members[np.minimum(found, len(members) - 1)]
        return rows

    def newcomers(self, rows: np.ndarray) -> np.ndarray:
        """The rows of the data that replace these people."""
        return self.sampled(self.region[rows])

    # ------------------------------------------------------------------ looking

    def risk(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """The fitted health risk in [1, 5]."""
        line = sum(
            (self.dtype(w) * columns[key] for key, w in self.fitted.coefficients.items() if w),
            start=self.dtype(self.fitted.intercept),
        )
        return np.clip(line, 1.0, 5.0)

    def illness_chance(self, rows: np.ndarray, insured: Any, risk: np.ndarray) -> np.ndarray:
        """Equation (10) for some of the people."""
        params = self.params
        return params["illness_uninsured"] * ~insured[rows] + params["illness_risk"] / 5 * risk

    def observe(self, agent: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observation of an agent: `(rows, features, context)`, features of shape (rows, features).

        The hospital sees who waits and who falls ill now; when offers are made in this month, and
        nobody knows yet who will be insured, all who may fall ill.
        """
        rows = np.arange(self.size)
        people, risk = self.people, self.risk(self.people)
        if agent == "hospital":
            offers = self.time % self.period == 0
            covered = np.zeros(self.size, bool) if offers else self.insured
            struck = self.luck < self.illness_chance(rows, covered, risk)
            rows = np.flatnonzero((self.stage == WAITING) | (self.stage == HEALTHY) & struck)
            people, risk = {name: column[rows] for name, column in people.items()}, risk[rows]
        seen = self.observe_group
        columns = people | {
            **{name: seen * (self.region[rows] == g) for g, name in enumerate(REGIONS)},
            "health_risk": risk,
            "insured": self.insured[rows],
            "premium": seen * self.premium[rows],  # less the subsidy of the region
            "needs_bed": self.stage[rows] == WAITING,
            "in_hospital": self.stage[rows] == IN_HOSPITAL,
            "time_ill": self.ill[rows],
            "time_waited": self.waited[rows],
        }
        features = np.empty((len(rows), len(SEEN_BY[agent])), self.dtype)
        for place, name in enumerate(SEEN_BY[agent]):
            features[:, place] = columns[name]
        context = (
            self.time,
            self.profit,
            self.budget(),
            self.params["hospital_cost"],
            *self.beds,
            *(self.beds - self._per_region(self.stage == IN_HOSPITAL)),
            *self.paid,
        )
        return rows, features, np.array(context, self.dtype)

    def budget(self) -> float:
        """The planner's money, were the next cycle to begin now."""
        return self.params["planner_budget"] + self.rollover

    # ------------------------------------------------------------------ one month

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """One month.

        Args:
            actions: "insurer" and "hospital" one number for each person of the population,
                "planner" four shares and three splits over the regions.

        Returns:
            The components by name, and whether the system has failed.
        """
        if self.time % self.period == 0:
            self._begin_cycle(actions)
        params, stage = self.params, self.stage

        # premiums
        paying = np.flatnonzero(self.insured)
        insured_people = self._per_region(paying)
        by_planner = self._per_region(paying, self.subsidy[paying])
        self.paid = by_planner + self._per_region(paying, self.premium[paying])
        self.held = max(self.held - by_planner.sum(), 0.0)

        # illness
        risk = self.risk(self.people)
        healthy = np.flatnonzero(stage == HEALTHY)
        chance = self.illness_chance(healthy, self.insured, risk[healthy])
        struck = healthy[self.luck[healthy] < chance]
        stage[struck] = WAITING

        # beds, and what stays cost
        queue = np.flatnonzero(stage == WAITING)
        free = self.beds - self._per_region(stage == IN_HOSPITAL)
        admitted = self.admit(queue, free, np.asarray(actions["hospital"]))
        stage[admitted] = IN_HOSPITAL
        cost = params["hospital_cost"] * np.sum((stage == IN_HOSPITAL) & self.insured)

        # illness and waiting last another month; some illnesses end
        sick = np.flatnonzero(stage != HEALTHY)
        self.ill[sick] += 1
        self.waited[stage == WAITING] += 1
        luck = self.chance("illness_ends", sick)
        ends = self.end_chance(self.ill[sick])
        over = luck < ends
        ended = sick[over]
        dead = ended[luck[over] < (ends * self.death_chance(sick, risk))[over]]
        stage[ended] = HEALTHY
        self.ill[ended] = self.waited[ended] = 0

        # others come for the dead
        born = self.newcomers(dead)
        for name, column in self.people.items():
            column[dead] = self.rows[name][born]
        self.insured[dead] = False

        self._public_health()

        # books
        profit = float(self.paid.sum() - cost)
        self.profit += profit
        components = {
            "profit": profit,
            "people": self._per_region(np.arange(self.size)),
            "insured": insured_people,
            "healthy": self._per_region(healthy),
            "fell_ill": self._per_region(struck),
            "illnesses_ended": self._per_region(ended),
            "died": self._per_region(dead),
        }
        self.time += 1
        self._build()
        self.luck = self.chance("illness", np.arange(self.size))
        return components, self.profit < 0.0 or len(dead) == self.size

    def end_chance(self, ill: np.ndarray) -> np.ndarray:
        """That an illness of so many months ends in this one."""
        return self.params["end_base"] ** (self.params["end_illness_time"] * ill)

    def death_chance(self, rows: np.ndarray, risk: np.ndarray) -> np.ndarray:
        """That the end of these people's illness is their death."""
        params = self.params
        power = (
            params["survival_illness_time"] * self.ill[rows]
            + params["survival_wait"] * self.waited[rows]
            + params["survival_risk"] * risk[rows]
            + params["survival_offset"]
        )
        survive = params["survival_ceiling"] - params["survival_base"] ** power
        return np.clip(1.0 - survive, 0.0, 1.0)

    def admit(self, queue: np.ndarray, free: np.ndarray, score: np.ndarray) -> np.ndarray:
        """People of the queue who find a bed in their region."""
        admitted = []
        for g, places in enumerate(free):
            here = queue[self.region[queue] == g]
            if len(here) > places:
                here = self.shuffled(here)
                here = here[np.argsort(-score[here], kind="stable")[: max(0, int(places))]]
            admitted.append(here)
        return np.concatenate(admitted)

    def _begin_cycle(self, actions: Mapping[str, Any]) -> None:
        """The planner spends, the insurer offers, people decide."""
        params = self.params
        tree = np.asarray(actions["planner"], np.float64)
        shares, *splits = (part / part.sum() for part in np.split(tree, [4, 8, 12]))
        infrastructure, public_health, subsidies = shares[:3, None] * self.budget() * splits
        self.rollover, self.held = float(shares[3] * self.budget()), float(subsidies.sum())
        self.public_health = public_health

        self.fund += infrastructure
        for g, money in enumerate(self.fund):
            beds = int((money - params["bed_base_cost"]) // params["bed_cost"])
            if beds > 0:
                self.fund[g] -= params["bed_base_cost"] + beds * params["bed_cost"]
                months = params["build_base_time"] + beds * params["build_bed_time"]
                self.projects.append([g, beds, max(1, int(np.ceil(months)))])

        per_head = self.people["family_income"] / self.people["family_size"]
        weight = 1.0 / per_head
        monthly = subsidies / self.period / self._per_region(np.arange(self.size), weight)
        price = params["max_premium"] * np.asarray(actions["insurer"], self.dtype)
        self.premium = np.maximum(price - (weight * monthly[self.region]).astype(self.dtype), 0.0)
        self.subsidy = price - self.premium
        with np.errstate(divide="ignore"):
            years = per_head / (params["months_of_premium_per_income"] * self.premium)
        luck = self.chance("coverage", np.arange(self.size))
        self.insured = luck < 1.0 - np.exp(-years)

    def _public_health(self) -> None:
        """Features of people get better, stay, or get worse."""
        params, people = self.params, self.people
        money = params["improve_slope"] * len(REGIONS) / params["planner_budget"]
        each_month = self.public_health / params["public_health_months"]
        line = money * each_month + params["improve_shift"]
        improve = params["improve_base"] + params["improve_gain"] / (1.0 + np.exp(-line))
        luck = self.chance("move", np.arange(self.size))
        better = luck <= improve[self.region]
        worse = luck > improve[self.region] + params["stay"]
        rows = np.flatnonzero(better | worse)
        step = np.where(better[rows], 1.0, -1.0).astype(self.dtype)
        for name in (*INCOMES, "poverty_level", *DISTRESS):
            if name in INCOMES:
                change, low, high = params["income_change"], 1_000.0, np.inf
            elif name in DISTRESS:
                change, low, high = -params["distress_change"], 0.0, 4.0
            else:
                change, low, high = params["poverty_change"], 0.0, np.inf
            people[name][rows] = np.clip(people[name][rows] + change * step, low, high)

    def _build(self) -> None:
        """Beds whose time has come are there from the next month on."""
        for project in self.projects:
            project[2] -= 1
            if project[2] == 0:
                self.beds[project[0]] += project[1]
        self.projects = [project for project in self.projects if project[2] > 0]

    def _per_region(self, rows: np.ndarray, values: Any = None) -> np.ndarray:
        return np.bincount(self.region[rows], values, minlength=len(REGIONS))


System = NumpyHealth
