"""What the loan environment keeps and reports: state, noise and components."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import Components, Schedule, Struct, component, person_index


class LoanState(Struct):
    """The bank and its people. Per-person arrays have length `population`; times are steps."""

    time: Int[Array, ""]
    group: Int[Array, " people"]
    stage: Int[Array, " people"]
    interest_rate: Float[Array, " people"]
    term: Float[Array, " people"]
    principal: Float[Array, " people"]
    annual_income: Float[Array, " people"]
    debt_to_income: Float[Array, " people"]
    fico_low: Float[Array, " people"]
    fico_high: Float[Array, " people"]
    months_since_delinquency: Float[Array, " people"]
    waiting_since: Int[Array, " people"]
    matures_at: Int[Array, " people"]
    balance: Float[Array, " people"]
    installment: Float[Array, " people"]
    total_requested: Float[Array, " people"]
    total_received: Float[Array, " people"]
    warning: Bool[Array, " people"]
    applying: Bool[Array, " applicants"]
    deposits: Schedule
    total_profit: Float[Array, ""]
    total_losses: Float[Array, ""]
    total_payments: Float[Array, ""]
    applicants: Int[Array, " applicants"] = person_index()

    @classmethod
    def at_start(
        cls,
        group: Int[Array, " people"],
        data: Mapping[str, Float[Array, " people"]],
        applicants: Int[Array, " applicants"],
        applying: Bool[Array, " applicants"],
        last_due: int,
    ) -> "LoanState":
        """Everybody idle and without a loan, the bank without deposits.

        Args:
            group: group of each person.
            data: the columns of the data, one entry per person.
            applicants: who may apply in the first month.
            applying: which of these really apply.
            last_due: the last month in which a deposit can fall due.
        """
        nothing = jnp.zeros(group.shape, jnp.float32)
        never = jnp.zeros(group.shape, jnp.int32)
        zero = jnp.float32(0.0)
        return cls(
            time=jnp.int32(0),
            group=group,
            stage=never,
            **data,
            waiting_since=never,
            matures_at=never,
            balance=nothing,
            installment=nothing,
            total_requested=nothing,
            total_received=nothing,
            warning=jnp.zeros(group.shape, bool),
            applicants=applicants,
            applying=applying,
            deposits=Schedule.empty(last_due),
            total_profit=zero,
            total_losses=zero,
            total_payments=zero,
        )


class LoanNoise(Struct):
    """The randomness of one step.

    `priority` draws the next applicants among the idle and breaks ties among the waiting: no
    person is both, so that one number each is enough.
    """

    payment: Float[Array, " people"]
    priority: Float[Array, " people"]

    @classmethod
    def sample(
        cls, key: PRNGKeyArray, people: int, payment_noise: float | Float[Array, ""]
    ) -> "LoanNoise":
        """Payment noise from Normal(0, payment_noise^2), priorities uniform in [0, 1)."""
        # One array for both; a standard normal is sqrt(2) erfinv(u), u uniform in (-1, 1).
        low = np.nextafter(np.float32(-1.0), np.float32(0.0))
        draws = jax.random.uniform(key, (2, people), minval=low, maxval=1.0)
        return cls(
            payment=payment_noise * np.float32(np.sqrt(2.0)) * lax.erf_inv(draws[0]),
            priority=0.5 * (draws[1] + 1.0),
        )


class LoanComponents(Components):
    """What the bank reports each month (MAFE, table 3)."""

    profit: Float[Array, ""] = component(
        "payments received less payments to depositors",
        unit="thousand dollars",
        symbol="P_t",
        nonnegative=False,
    )
    applied: Float[Array, " groups"] = component(
        "people who applied for a loan",
        unit="people",
        symbol="N_L",
        per="group",
        used_by=("admissions",),
    )
    approved: Float[Array, " groups"] = component(
        "people approved for a loan",
        unit="people",
        symbol="N_A",
        per="group",
        used_by=("admissions",),
    )
    disbursed: Float[Array, " groups"] = component(
        "people whose loan was paid out",
        unit="people",
        symbol="N_D",
        per="group",
        used_by=("disbursement",),
    )
    waited: Float[Array, " groups"] = component(
        "steps that those paid out had waited, summed",
        unit="people x months",
        symbol="N_T",
        per="group",
        used_by=("disbursement",),
    )
    ended: Float[Array, " groups"] = component(
        "loans ended, repaid or defaulted",
        unit="loans",
        symbol="N_R",
        per="group",
        used_by=("debt_management",),
    )
    defaulted: Float[Array, " groups"] = component(
        "loans ended by default",
        unit="loans",
        symbol="N_F",
        per="group",
        used_by=("debt_management",),
    )
