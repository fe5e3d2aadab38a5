"""State, noise and components of the loan environment."""

import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import (
    Components,
    PopulationState,
    Struct,
    component,
    group_count,
    person_index,
    uniform,
)
from fairgym.environments._common.schedule import Schedule

DATA_COLUMNS = (
    "interest_rate",
    "term",
    "principal",
    "annual_income",
    "debt_to_income",
    "fico_low",
    "fico_high",
    "months_since_delinquency",
)


class BankState(PopulationState):
    """State of people with a credit record, and the bank's books (one entry per bank).

    Attributes:
        total_profit: Sum of all profits so far, thousand dollars.
        total_losses: Sum of all losses (profits below zero) so far, thousand dollars.
        total_payments: Sum of all payments received so far, thousand dollars.
    """

    interest_rate: Float[Array, " people"]
    term: Float[Array, " people"]
    principal: Float[Array, " people"]
    annual_income: Float[Array, " people"]
    debt_to_income: Float[Array, " people"]
    fico_low: Float[Array, " people"]
    fico_high: Float[Array, " people"]
    months_since_delinquency: Float[Array, " people"]
    total_profit: Float[Array, "*banks"]
    total_losses: Float[Array, "*banks"]
    total_payments: Float[Array, "*banks"]

    @property
    def record(self) -> dict[str, Float[Array, " people"]]:
        """The columns of the data as they are now."""
        return {name: getattr(self, name) for name in DATA_COLUMNS}


class LoanState(BankState):
    """State of the bank, its people and their running loans.

    Attributes:
        waiting_since: Step in which the person joined the queue.
        matures_at: Step after that of the last installment.
        balance: Dollars still owed.
        installment: Dollars requested in the last step.
        total_requested: Dollars requested on the running loan so far.
        total_received: Dollars paid on the running loan so far.
        warning: Whether the borrower was behind after the last step.
        served: Whether the person has ever had a loan paid out.
        residual: Difference between the person's payment propensity and the fitted one.
        applicants: Rows of the people sampled for this step.
        applying: Whether each sampled row applies; there may be too few idle people.
        deposits: Dollars that the bank owes its depositors, by the step in which they are due.
    """

    waiting_since: Int[Array, " people"]
    matures_at: Int[Array, " people"]
    balance: Float[Array, " people"]
    installment: Float[Array, " people"]
    total_requested: Float[Array, " people"]
    total_received: Float[Array, " people"]
    warning: Bool[Array, " people"]
    served: Bool[Array, " people"]
    residual: Float[Array, " people"]
    applying: Bool[Array, " applicants"]
    deposits: Schedule
    applicants: Int[Array, " applicants"] = person_index()

    @property
    def offer(self) -> Int[Array, " people"]:
        """Index of the terms offered to each person: the person's group."""
        return self.group

    def of_bank(self, bank: int, values: Array, rows: Array | None = None) -> Array:
        """Return values with 0 or False for people of other banks; a single bank has everybody.

        Args:
            bank: Number of the bank, from 0.
            values: One entry per person.
            rows: People of the entries; everybody by default.
        """
        return values


class LoanNoise(Struct):
    """Randomness of one step.

    Attributes:
        payment: Noise added to the share of the installment that a borrower can pay.
        priority: Uniform in [0, 1). Samples the next applicants among the idle and breaks ties in
            the queue. Nobody is in both, so one number per person is enough.
    """

    payment: Float[Array, " people"]
    priority: Float[Array, " people"]

    @classmethod
    def sample(
        cls, key: PRNGKeyArray, people: int, payment_noise: float | Float[Array, ""]
    ) -> "LoanNoise":
        """Sample payment noise from Normal(0, payment_noise^2) and uniform priorities."""
        # One array for both. A standard normal is sqrt(2) erfinv(u), u uniform in (-1, 1).
        low = np.nextafter(np.float32(-1.0), np.float32(0.0))
        numbers = uniform(key, (2, people), float(low), 1.0)
        return cls(
            payment=payment_noise * np.float32(np.sqrt(2.0)) * lax.erf_inv(numbers[0]),
            priority=0.5 * (numbers[1] + 1.0),
        )


class LoanComponents(Components):
    """Components of each month, as reported by the bank (MAFE, table 3)."""

    profit: Float[Array, ""] = component(
        "payments received less payments to depositors",
        unit="thousand dollars",
        symbol="P_t",
        nonnegative=False,
    )
    applied: Float[Array, " groups"] = group_count(
        "people who applied for a loan", "N_L", "admissions"
    )
    approved: Float[Array, " groups"] = group_count(
        "people approved for a loan", "N_A", "admissions"
    )
    disbursed: Float[Array, " groups"] = group_count(
        "people whose loan was paid out", "N_D", "disbursement"
    )
    waited: Float[Array, " groups"] = group_count(
        "months that people paid out had waited, summed",
        "N_T",
        "disbursement",
        unit="people x months",
    )
    ended: Float[Array, " groups"] = group_count(
        "loans ended, repaid or defaulted", "N_R", "debt_management", unit="loans"
    )
    defaulted: Float[Array, " groups"] = group_count(
        "loans ended by default", "N_F", "debt_management", unit="loans"
    )


class QueueComponents(LoanComponents):
    """Components of a queue that lasts over months, including the people left waiting.

    Summed over an episode, `waiting` is the number of months that everybody has waited: `waited`
    plus the months so far of people still in the queue. Sums of `first_approved` and
    `first_disbursed` count people, however many loans they had. Their difference is the people
    approved but never served, all of whom are in the queue at the end.
    """

    waiting: Float[Array, " groups"] = group_count(
        "people in the queue who were not paid out this month", "", "disbursement", level=True
    )
    never_paid_out: Float[Array, " groups"] = group_count(
        "people who have not had a loan paid out so far", "", "disbursement", level=True
    )
    first_approved: Float[Array, " groups"] = group_count(
        "people approved for the first time", "", "disbursement"
    )
    first_disbursed: Float[Array, " groups"] = group_count(
        "people whose loan was paid out for the first time", "", "disbursement"
    )
    people: Float[Array, " groups"] = group_count("people", "", "disbursement", level=True)
