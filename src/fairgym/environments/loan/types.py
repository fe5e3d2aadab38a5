"""State, noise and components of the loan environment."""

import jax
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import Components, PopulationState, Struct, component, group_count, person_index
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
    """People with a credit record, and the books of a bank; of several banks an entry for each.

    Attributes:
        total_profit: sum of all profits so far, thousand dollars.
        total_losses: sum of all losses (profits below zero) so far, thousand dollars.
        total_payments: sum of all payments received so far, thousand dollars.
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
    """The bank, its people and their running loans.

    Attributes:
        waiting_since: step in which the person joined the queue.
        matures_at: step after that of the last installment.
        balance: dollars still owed.
        installment: dollars requested in the last step.
        total_requested: dollars requested on the running loan so far.
        total_received: dollars paid on the running loan so far.
        warning: True if the borrower was behind after the last step.
        served: True if the person has had a loan paid out.
        residual: what the person's payment propensity is above the fitted one.
        applicants: rows of the people sampled for this step.
        applying: True for those of them who really apply: there may be too few idle people.
        deposits: dollars that the bank owes its depositors, by the step in which they fall due.
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
        """Place of the terms that are offered to each person: that of the group."""
        return self.group

    def of_bank(self, bank: int, values: Array, rows: Array | None = None) -> Array:
        """Values of those who deal with this bank, 0 or False for others: here of everybody.

        Args:
            bank: number of the bank, from 0.
            values: one entry per person.
            rows: the people of the entries, if these are not everybody.
        """
        return values


class LoanNoise(Struct):
    """The randomness of one step.

    Attributes:
        payment: what is added to the share of the installment that a borrower can pay.
        priority: uniform in [0, 1); samples the next applicants among the idle and breaks ties
            among the waiting: no person is both, so that one number each is enough.
    """

    payment: Float[Array, " people"]
    priority: Float[Array, " people"]

    @classmethod
    def sample(
        cls, key: PRNGKeyArray, people: int, payment_noise: float | Float[Array, ""]
    ) -> "LoanNoise":
        """Sample payment noise from Normal(0, payment_noise^2) and uniform priorities."""
        # One array for both; a standard normal is sqrt(2) erfinv(u), u uniform in (-1, 1).
        low = np.nextafter(np.float32(-1.0), np.float32(0.0))
        uniform = jax.random.uniform(key, (2, people), minval=low, maxval=1.0)
        return cls(
            payment=payment_noise * np.float32(np.sqrt(2.0)) * lax.erf_inv(uniform[0]),
            priority=0.5 * (uniform[1] + 1.0),
        )


class LoanComponents(Components):
    """Components of each month, as the bank reports them (MAFE, table 3)."""

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
        "steps that those paid out had waited, summed",
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
    """Those of a queue that goes on from month to month, whom it leaves waiting included.

    Over an episode `waiting` sums to the months that all have waited: those of the people paid out,
    which `waited` counts, and so far those of the people still in the queue, which it does not see.
    Sums of `first_approved` and `first_disbursed` are people, whatever the number of their loans;
    between the two are those approved and never served, who are all in the queue at the end.
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
