"""The loan system once more, in plain vectorised NumPy: the benchmark's opponent and a check.

Written from the description of the system and not from the JAX code. It touches only the people
whom a step concerns (index arrays instead of masks), counts waiting times and remaining payments
down instead of storing dates, and is stateful, as such a simulator usually is:

    bank = NumpyLoan(env, params)
    bank.reset(np.random.default_rng(0))
    components, bankrupt = bank.step({"admissions": ..., "disbursement": ..., ...})

`test_loan.py` checks that it agrees with `fairgym.environments.loan`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairgym.data import load_population

IDLE, WAITING, REPAYING = range(3)

OF_PERSON = (
    "group",
    "interest_rate",
    "term",
    "principal",
    "annual_income",
    "debt_to_income",
    "fico_low",
    "fico_high",
    "months_since_delinquency",
    "qualification_score",
)
OF_LOAN = (
    "balance",
    "time_to_maturity",
    "warning",
    "total_requested",
    "total_received",
    "installment",
)
SEEN_BY = {
    "admissions": OF_PERSON,
    "disbursement": (*OF_PERSON, "time_waited"),
    "debt_management": (*OF_PERSON, *OF_LOAN),
}
SAMPLED = ("group", *OF_PERSON[1:-1])


class NumpyLoan:
    """One bank and its people.

    Attributes:
        sees: names of the features that each agent sees.

    Args:
        env: the JAX environment; its shapes are taken (population, applicants, cap).
        params: its parameters.
        dtype: float type of all numbers; float64 where digits are compared.
    """

    sees = SEEN_BY

    def __init__(self, env: Any, params: Any, dtype: Any = np.float32) -> None:
        self.size = env.population
        self.applicants_per_step = env.applicants
        self.groups = len(env.spec.groups)
        self.cap = env.disbursement_cap
        self.dtype = dtype
        self.observe_group = env.observe_group
        self.params = {name: float(getattr(params, name)) for name in params.info()}
        data = load_population("loan", env.population_source)
        self.rows = {name: np.asarray(data.columns[name], dtype) for name in SAMPLED}
        self.scores = data.scores
        paid_share = np.asarray(data.columns["months_to_default"], dtype) / self.rows["term"]
        residual = paid_share - self.score("propensity", self.rows)
        self.rows["residual"] = dtype(self.params["residual_share"]) * residual
        self.longest_term = int(self.rows["term"].max())

    # ------------------------------------------------------------------ start

    def reset(self, rng: np.random.Generator) -> None:
        """Draw new people and start at month 0."""
        self.rng = rng
        group = self.rows["group"]
        score = self.score("qualification", self.rows)
        size = {1: round(self.params["disadvantaged_share"] * self.size)}
        size[0] = self.size - size[1]
        sampled = []
        for code, sign in ((0, 1.0), (1, -1.0)):
            members = np.flatnonzero(group == code)
            z = (score[members] - score[members].mean()) / score[members].std()
            weight = np.exp(sign * self.params["bias_strength"] * z.astype(np.float64))
            sampled.append(rng.choice(members, size[code], p=weight / weight.sum()))
        rows = np.concatenate(sampled)
        self.start({name: column[rows] for name, column in self.rows.items()})

    def start(self, people: Mapping[str, np.ndarray]) -> None:
        """Start at month 0 with these people, all idle."""

        def zeros(dtype: Any = self.dtype) -> np.ndarray:
            return np.zeros(self.size, dtype)

        self.people = {name: np.array(people[name], self.dtype) for name in SAMPLED}
        self.residual = np.array(people["residual"], self.dtype)
        self.group = self.people["group"].astype(int)
        self.stage = zeros(int)
        self.waited, self.remaining = zeros(int), zeros(int)
        self.balance, self.installment = zeros(), zeros()
        self.requested, self.received = zeros(), zeros()
        self.warning = zeros(bool)
        self.never_served = np.ones(self.size, bool)
        self.time = 0
        self.due = np.zeros(self.longest_term)  # to depositors, this month first
        self.profit = self.losses = self.payments = 0.0
        self._sample_applicants()

    def _sample_applicants(self) -> None:
        idle = np.flatnonzero(self.stage == IDLE)
        self.applying = self.sampled(idle, min(self.applicants_per_step, len(idle)))

    # ------------------------------------------------------------------ chance

    def sampled(self, rows: np.ndarray, count: int) -> np.ndarray:
        """So many of these people, without replacement."""
        return self.rng.choice(rows, count, replace=False, shuffle=False)

    def noise(self, rows: np.ndarray) -> np.ndarray:
        """What is added to the share of the installment that these people can pay."""
        return self.rng.standard_normal(len(rows), np.float32) * self.params["payment_noise"]

    def best(self, rows: np.ndarray, score: np.ndarray, places: int) -> np.ndarray:
        """The `places` rows with the highest scores; equals by chance."""
        shuffled = self.rng.permutation(rows)
        return shuffled[np.argpartition(-score[shuffled], places - 1)[:places]]

    # ------------------------------------------------------------------ looking

    def score(self, name: str, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """A fitted score: logistic for "qualification", linear and clipped for "propensity"."""
        fitted = self.scores[name]
        line = sum(
            (self.dtype(weight) * columns[key] for key, weight in fitted.coefficients.items()),
            start=self.dtype(fitted.intercept),
        )
        return 1.0 / (1.0 + np.exp(-line)) if name == "qualification" else np.clip(line, 0.0, 1.0)

    def columns(self, rows: np.ndarray, installment: Any = None) -> dict[str, np.ndarray]:
        """The data's columns for some people, the loan's installment counted in DTI."""
        columns = {name: self.people[name][rows] for name in SAMPLED}
        installment = self.installment[rows] if installment is None else installment
        income = np.maximum(columns["annual_income"], 1.0)
        columns["debt_to_income"] = columns["debt_to_income"] + 1200.0 * installment / income
        return columns

    def observe(self, agent: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observation of an agent: `(places, features, context)`, features of (places, features).

        The places are those in the agent's action: of applicants their place among them.
        """
        if agent == "admissions":
            rows, places = self.applying, np.arange(len(self.applying))
        else:
            stage = WAITING if agent == "disbursement" else REPAYING
            rows = places = np.flatnonzero(self.stage == stage)
        columns = self.columns(rows)
        columns["qualification_score"] = self.score("qualification", columns)
        columns["group"] = columns["group"] * self.observe_group
        if agent == "disbursement":
            columns["time_waited"] = self.waited[rows]
        if agent == "debt_management":
            columns |= {
                "balance": self.balance[rows],
                "time_to_maturity": self.remaining[rows],
                "warning": self.warning[rows],
                "total_requested": self.requested[rows],
                "total_received": self.received[rows],
                "installment": self.installment[rows],
            }
        features = np.empty((len(rows), len(SEEN_BY[agent])), self.dtype)
        for column, name in enumerate(SEEN_BY[agent]):
            features[:, column] = columns[name]
        return places, features, np.array([self.time, self.profit], self.dtype)

    # ------------------------------------------------------------------ one month

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """One month.

        Args:
            actions: "admissions" and "debt_management" one number or one per group,
                "disbursement" one score for each person of the population.

        Returns:
            The components by name, and whether the bank is bankrupt.
        """
        threshold, relief = (
            np.broadcast_to(np.asarray(actions[agent], self.dtype), (self.groups,))
            for agent in ("admissions", "debt_management")
        )

        # who applies, and who of them is good enough
        applying = self.applying
        group = self.group[applying]
        good = self.score("qualification", self.columns(applying)) >= threshold[group]
        approved = applying[good]

        queue = served = np.flatnonzero(self.stage == WAITING)
        if len(queue) > self.cap:
            served = self.best(queue, np.asarray(actions["disbursement"]), self.cap)

        first_approved = approved[self.never_served[approved]]
        first_served = served[self.never_served[served]]
        self.never_served[served] = False

        # the borrowers pay, some fail and some are done
        borrowers = np.flatnonzero(self.stage == REPAYING)
        paid = self._collect(borrowers, relief)
        defaulted, repaid = self._settle(borrowers)
        ended = np.concatenate([defaulted, repaid])

        # the bank's books, in thousands of dollars
        payments = float(paid.sum(dtype=np.float64)) / 1000.0
        profit = payments - float(self.due[0]) / 1000.0
        self.profit += profit
        self.payments += payments
        self.losses += max(0.0, -profit)
        self.due = np.append(self.due[1:], 0.0)

        components = {
            "profit": profit,
            "applied": self._per_group(applying),
            "approved": self._per_group(approved),
            "disbursed": self._per_group(served),
            "waited": self._per_group(served, self.waited[served]),
            "ended": self._per_group(ended),
            "defaulted": self._per_group(defaulted),
            "waiting": self._per_group(queue) - self._per_group(served),
            "never_paid_out": self._per_group(np.flatnonzero(self.never_served)),
            "first_approved": self._per_group(first_approved),
            "first_disbursed": self._per_group(first_served),
            "people": self._per_group(np.arange(self.size)),
        }

        # loans begin, the queue waits, the approved join it
        self._begin(served)
        self.waited[queue] += 1
        self.stage[approved] = WAITING
        self.waited[approved] = 0
        self.time += 1
        self._sample_applicants()
        return components, self.losses > self.payments

    def _collect(self, rows: np.ndarray, relief: np.ndarray) -> np.ndarray:
        """Installments paid by these borrowers, in dollars."""
        rate = self.people["interest_rate"][rows] / 12.0
        left, balance = self.remaining[rows], self.balance[rows]
        free = rate == 0.0
        factor = np.where(free, 1.0, rate) / np.where(free, left, 1.0 - (1.0 + rate) ** -left)
        scheduled = factor * balance
        asked = (1.0 - relief[self.group[rows]]) * scheduled
        propensity = self.score("propensity", self.columns(rows, asked))
        propensity = np.clip(propensity + self.residual[rows], 0.0, 1.0)
        # what the borrower is able to pay of the installment, up to what is asked
        able = np.clip(propensity + self.noise(rows), 0.0, 1.0)
        paid = np.minimum(able * scheduled, asked)
        forgiven = self.params["relief_forgiven"] * (scheduled - asked)
        self.balance[rows] = np.maximum(balance * (1.0 + rate) - paid - forgiven, 0.0)
        self.requested[rows] += asked
        self.received[rows] += paid
        self.installment[rows] = asked
        self.remaining[rows] -= 1
        return paid

    def _settle(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Borrowers among these who default, and who have repaid; their loans end."""
        behind = self.received[rows] < self.params["default_ratio"] * self.requested[rows]
        failed = behind & self.warning[rows]  # behind now and a month ago
        done = ~failed & ((self.remaining[rows] == 0) | (self.balance[rows] < 0.005))
        self.warning[rows] = behind
        defaulted, repaid = rows[failed], rows[done]
        self._end(defaulted, -1.0)
        self._end(repaid, 1.0)
        return defaulted, repaid

    def _end(self, rows: np.ndarray, sign: float) -> None:
        people, params = self.people, self.params
        for name, change in (
            ("fico_low", params["fico_change"]),
            ("fico_high", params["fico_change"]),
            ("months_since_delinquency", params["delinquency_change"]),
            ("annual_income", params["income_change"]),
            ("debt_to_income", -params["debt_to_income_change"]),
        ):
            low, high = (300.0, 850.0) if name.startswith("fico") else (0.0, np.inf)
            people[name][rows] = np.clip(people[name][rows] + sign * change, low, high)
        people["fico_high"][rows] = np.maximum(people["fico_high"][rows], people["fico_low"][rows])
        for column in (self.balance, self.installment, self.requested, self.received):
            column[rows] = 0.0
        self.warning[rows] = False
        self.remaining[rows] = 0
        self.stage[rows] = IDLE

    def _begin(self, rows: np.ndarray) -> None:
        principal, term = self.people["principal"][rows], self.people["term"][rows]
        self.stage[rows] = REPAYING
        self.balance[rows] = principal
        self.remaining[rows] = term.astype(int)
        rate = self.params["deposit_rate"] / 12.0
        for months in np.unique(term).astype(int):
            deposit = principal[term == months].sum(dtype=np.float64)
            growth = (1.0 - (1.0 + rate) ** -months) / rate if rate > 0.0 else months
            self.due[:months] += deposit / growth

    def _per_group(self, rows: np.ndarray, values: Any = None) -> np.ndarray:
        return np.bincount(self.group[rows], values, minlength=self.groups)


System = NumpyLoan
