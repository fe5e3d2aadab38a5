"""The simplified loan system once more, in plain vectorised NumPy: opponent and check.

Written from the description of the system and not from the JAX code, and stateful:

    bank = NumpyLoanSimple(env, params)
    bank.reset(np.random.default_rng(0))
    components, bankrupt = bank.step({"admissions": ..., "disbursement": ..., ...})

`test_loan_simple.py` checks that it agrees with `fairgym.environments.loan_simple`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairgym.data import load_population

SAMPLED = (
    "group",
    "interest_rate",
    "term",
    "principal",
    "annual_income",
    "debt_to_income",
    "fico_low",
    "fico_high",
    "months_since_delinquency",
)
SEEN = ("group", "qualification_score", "interest_rate", "principal", "fico")
AGENTS = ("admissions", "disbursement", "debt_management")


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


class NumpyLoanSimple:
    """One bank and its people.

    Attributes:
        sees: names of the features that each agent sees.

    Args:
        env: the JAX environment; its shapes are taken (population, applicants, cap).
        params: its parameters.
        dtype: float type of all numbers; float64 where digits are compared.
    """

    sees = dict.fromkeys(AGENTS, SEEN)

    def __init__(self, env: Any, params: Any, dtype: Any = np.float32) -> None:
        self.size, self.cap = env.population, env.disbursement_cap
        self.applicants_per_step = env.applicants
        self.dtype = dtype
        self.observe_group = env.observe_group
        self.params = {name: float(getattr(params, name)) for name in params.info()}
        data = load_population("loan", env.population_source)
        self.rows = {name: np.asarray(data.columns[name], dtype) for name in SAMPLED}
        self.fitted = data.scores["qualification"]

    # ------------------------------------------------------------------ start

    def reset(self, rng: np.random.Generator) -> None:
        """Draw new people and start at step 0."""
        self.rng = rng
        group, score = self.rows["group"], sigmoid(self.log_odds(self.rows))
        worse = round(self.params["disadvantaged_share"] * self.size)
        sampled = []
        for code, sign, size in ((0, 1.0, self.size - worse), (1, -1.0, worse)):
            members = np.flatnonzero(group == code)
            z = (score[members] - score[members].mean()) / score[members].std()
            weight = np.exp(sign * self.params["bias_strength"] * z.astype(np.float64))
            sampled.append(rng.choice(members, size, p=weight / weight.sum()))
        rows = np.concatenate(sampled)
        self.start({name: column[rows] for name, column in self.rows.items()})

    def start(self, people: Mapping[str, np.ndarray]) -> None:
        """Start at step 0 with these people."""
        self.people = {name: np.array(people[name], self.dtype) for name in SAMPLED}
        self.group = self.people["group"].astype(int)
        self.time = 0
        self.profit = self.losses = self.payments = 0.0
        self.applying = self.lots()

    # ------------------------------------------------------------------ chance

    def lots(self) -> np.ndarray:
        """The people who apply in the next step."""
        return self.rng.choice(self.size, self.applicants_per_step, replace=False, shuffle=False)

    def chance(self, kind: str, rows: np.ndarray) -> np.ndarray:
        """A uniform number in [0, 1) for each of these people; `kind` says what for."""
        return self.rng.random(len(rows), np.float32)

    # ------------------------------------------------------------------ looking

    def log_odds(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Of repaying; the qualification score is their sigmoid."""
        line = np.asarray(self.dtype(self.fitted.intercept))
        for name, weight in self.fitted.coefficients.items():
            line = line + self.dtype(weight) * columns[name]
        return line

    def observe(self, agent: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Observation of an agent: `(places, features, context)`, the same for all of them."""
        people = {name: column[self.applying] for name, column in self.people.items()}
        people["qualification_score"] = sigmoid(self.log_odds(people))
        people["fico"] = 0.5 * (people["fico_low"] + people["fico_high"])
        people["group"] = people["group"] * self.observe_group
        features = np.stack([people[name] for name in SEEN], axis=1)
        return np.arange(len(features)), features, np.array([self.time, self.profit], self.dtype)

    # ------------------------------------------------------------------ one step

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """One step.

        Args:
            actions: "admissions" and "debt_management" one number or one per group,
                "disbursement" one priority for each applicant.

        Returns:
            The components by name, and whether the bank is bankrupt.
        """
        params, applying = self.params, self.applying
        threshold, relief = (
            np.broadcast_to(np.asarray(actions[agent], self.dtype), (2,))
            for agent in ("admissions", "debt_management")
        )
        log_odds = self.log_odds({name: x[applying] for name, x in self.people.items()})
        good = np.flatnonzero(sigmoid(log_odds) >= threshold[self.group[applying]])
        # the queue of the approved, who wait a month for each `cap` people before them
        priority = np.asarray(actions["disbursement"])[good]
        good = good[np.lexsort((self.chance("tie", applying[good]), -priority))]
        rows, months = applying[good], np.arange(len(good)) // self.cap
        # relief, and how each loan ends
        share = relief[self.group[rows]].astype(self.dtype)
        likely = sigmoid(log_odds[good] + params["relief_effect"] * share)
        repaid = self.chance("outcome", rows) < likely
        paid, due = self._money(rows, share, repaid)
        profit = (paid - due) / 1000.0
        self.profit += profit
        self.losses += max(0.0, -profit)
        self.payments += paid / 1000.0
        self._end(rows, np.where(repaid, 1.0, -1.0))
        loans = self._per_group(rows)
        components = {
            "profit": profit,
            "applied": self._per_group(applying),
            "approved": loans,
            "disbursed": loans,
            "waited": self._per_group(rows, months),
            "ended": loans,
            "defaulted": self._per_group(rows[~repaid]),
        }
        self.time += 1
        self.applying = self.lots()
        return components, self.losses > self.payments

    def _money(self, rows: np.ndarray, relief: np.ndarray, repaid: np.ndarray) -> tuple[Any, Any]:
        """Dollars that come in and go out over the whole lives of these loans."""
        principal, term = self.people["principal"][rows], self.people["term"][rows]

        def annuity(annual: Any) -> np.ndarray:
            rate = np.broadcast_to(np.asarray(annual, self.dtype) / 12.0, term.shape)
            return rate / (1.0 - (1.0 + rate) ** -term) * principal * term

        left = np.ones_like(principal)  # what relief leaves unpaid of a loan without interest
        for to_pay in range(int(term.max(initial=0.0)), 0, -1):
            left -= np.where(term >= to_pay, (1.0 - relief) * left / to_pay, 0.0)
        paid = annuity(self.people["interest_rate"][rows]) * (1.0 - left)
        paid *= np.where(repaid, 1.0, self.params["share_paid_before_default"])
        return paid.sum(), annuity(self.params["deposit_rate"]).sum()

    def _end(self, rows: np.ndarray, sign: np.ndarray) -> None:
        people, fico = self.people, sign * self.params["fico_change"]
        low = np.clip(people["fico_low"][rows] + fico, 300.0, 850.0)
        high = np.clip(people["fico_high"][rows] + fico, low, 850.0)
        since = people["months_since_delinquency"][rows] + sign * self.params["delinquency_change"]
        people["fico_low"][rows], people["fico_high"][rows] = low, high
        people["months_since_delinquency"][rows] = np.maximum(since, 0.0)

    def _per_group(self, rows: np.ndarray, values: Any = None) -> np.ndarray:
        return np.bincount(self.group[rows], values, minlength=2)


System = NumpyLoanSimple
