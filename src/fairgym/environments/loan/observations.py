"""Features of the people by name, and the part of them that each agent of a bank observes."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import Entities, EntitySpace
from fairgym.data import Score
from fairgym.environments.loan import dynamics, steps
from fairgym.environments.loan.groups import Grouping
from fairgym.environments.loan.market import Market
from fairgym.environments.loan.params import LoanParams
from fairgym.environments.loan.selective import AllLabels
from fairgym.environments.loan.steps import REPAYING, WAITING
from fairgym.environments.loan.types import LoanState


def features(
    state: LoanState, market: Market[Any], grouping: Grouping, scores: Mapping[str, Score]
) -> dict[str, Float[Array, " people"]]:
    """Every feature of every person by name, the fitted scores included.

    Args:
        state: the present state.
        market: the market in which they borrow.
        grouping: the groups that people are in.
        scores: the fitted scores of the data, by name.
    """
    record = steps.current_record(state)
    waiting, repaying = state.stage == WAITING, state.stage == REPAYING
    return {
        **market.features(state),
        **grouping.columns(state.group),
        **record,
        "qualification_score": dynamics.qualification_score(scores["qualification"], record),
        "propensity": dynamics.payment_propensity(scores["propensity"], record),
        "balance": state.balance,
        "time_to_maturity": jnp.where(
            repaying, (state.matures_at - state.time).astype(jnp.float32), 0.0
        ),
        "warning": state.warning.astype(jnp.float32),
        "total_requested": state.total_requested,
        "total_received": state.total_received,
        "installment": state.installment,
        "time_waited": jnp.where(
            waiting, (state.time - state.waiting_since).astype(jnp.float32), 0.0
        ),
    }


def observations(
    state: LoanState,
    params: LoanParams,
    people: Mapping[str, Float[Array, " people"]],
    spaces: Mapping[str, EntitySpace],
    market: Market[Any],
    labelling: AllLabels[Any],
) -> dict[str, Entities]:
    """Applicants of this month, the queue, the borrowers: to each bank its own.

    Args:
        state: the present state.
        params: the parameters.
        people: features of the people, as agents may see them.
        spaces: the observation spaces, by agent.
        market: the market.
        labelling: what the banks learn from their loans.
    """
    seen: dict[str, Entities] = {}
    known = labelling.shown(state, params)
    for bank, prefix in enumerate(market.prefixes):
        context = {"time": state.time, "total_profit": market.entry(state.total_profit, bank)}
        context |= market.shown(state, bank)
        applying = state.of_bank(bank, state.applying, state.applicants)
        waiting = state.of_bank(bank, state.stage == WAITING)
        repaying = state.of_bank(bank, state.stage == REPAYING)
        seen |= {
            f"{prefix}{role}": spaces[f"{prefix}{role}"].view(people, who, shown, rows)
            for role, who, shown, rows in (
                ("admissions", applying, context | known, state.applicants),
                ("disbursement", waiting, context, None),
                ("debt_management", repaying, context, None),
            )
        }
    return seen
