"""Two banks that share the people: who applies where, and what each bank counts and observes."""

import dataclasses
import types
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fairgym.core import ComponentInfo, Feature, component, param, per_group, uniform
from fairgym.data import Score
from fairgym.environments.loan import dynamics
from fairgym.environments.loan.declarations import ROLES
from fairgym.environments.loan.market import Market
from fairgym.environments.loan.month import Month
from fairgym.environments.loan.params import LoanParams
from fairgym.environments.loan.types import LoanNoise, LoanState, QueueComponents

BANKS = 2
# Counted for the pool only: nobody belongs to a bank before applying for a loan.
OF_ALL = ("never_paid_out", "people")


def other_terms(groups: Sequence[str]) -> tuple[Feature, ...]:
    """Return the context with the other bank's terms, in the order of `PoolState.posted`."""
    return tuple(
        Feature(f"other_{element.name}", 0, 1, "", f"the other bank's {terms}, one month ago")
        for terms in ("threshold", "relief")
        for element in per_group(terms, groups)
    )


def named(bank: int, name: str) -> str:
    """Return the name of one bank's agent, component or metric, such as "bank_1_admissions".

    Args:
        bank: Number of the bank, from 0.
        name: Name in the environment with a single bank.
    """
    return f"bank_{bank + 1}_{name}"


class PoolParams(LoanParams):
    """Parameters of the loan environment with two banks."""

    terms_sensitivity: float = param(
        5.0,
        "Weight of a bank's terms in the applicants' choice of a bank; 0 is a random choice.",
        low=0.0,
        high=1e6,
    )


class PoolState(LoanState):
    """State of several banks, each with its queue, borrowers and books.

    Attributes:
        bank: Number of the person's current or last bank, from 0.
        posted: Thresholds and relief shares of each bank and group in the last month.
    """

    bank: Int[Array, " people"] = eqx.field(kw_only=True)
    posted: Float[Array, "terms banks groups"] = eqx.field(kw_only=True)

    @property
    def offer(self) -> Int[Array, " people"]:
        """Index of the terms offered to each person, by bank and group."""
        return self.bank * self.posted.shape[-1] + self.group

    def of_bank(self, bank: int, values: Array, rows: Array | None = None) -> Array:
        """Return values with 0 or False for people of other banks."""
        theirs = self.bank if rows is None else self.bank[rows]
        return jnp.where(theirs == bank, values, jnp.zeros_like(values))


class PoolNoise(LoanNoise):
    """Randomness of one step, including the choice of a bank.

    Attributes:
        choice: Uniform in [0, 1); decides where the person applies.
    """

    choice: Float[Array, " people"]

    @classmethod
    def sample(
        cls, key: PRNGKeyArray, people: int, payment_noise: float | Float[Array, ""]
    ) -> "PoolNoise":
        """Sample the noise of a single bank, and uniform choices."""
        key, choice_key = jax.random.split(key)
        single = LoanNoise.sample(key, people, payment_noise)
        return cls(**vars(single), choice=uniform(choice_key, (people,)))


def _pool_components() -> type[QueueComponents]:
    """Declare the components of a single bank for the pool and again for each bank."""
    fields: dict[str, Any] = {}

    def declare(name: str, info: ComponentInfo, *banks: int) -> None:
        used_by = tuple(named(bank, role) for bank in banks for role in info.used_by or ROLES)
        fields[name] = component(**vars(dataclasses.replace(info, used_by=used_by)))

    of_one = QueueComponents.info()
    for name, info in of_one.items():
        declare(name, info, *range(BANKS))
    for bank in range(BANKS):
        for name, info in of_one.items():
            if name not in OF_ALL:
                about = f"{info.description}, bank {bank + 1}"
                declare(named(bank, name), dataclasses.replace(info, description=about), bank)
    body = {
        "__doc__": "Components of the pool, and those of each bank.",
        "__module__": __name__,
        "__annotations__": dict.fromkeys(fields, Float[Array, "*groups"]),
        **fields,
    }
    return types.new_class(
        "PoolComponents", (QueueComponents,), exec_body=lambda it: it.update(body)
    )


PoolComponents = _pool_components()


def choice_probability(
    qualification: Float[Array, " applicants"],
    threshold: Float[Array, "banks applicants"],
    relief: Float[Array, "banks applicants"],
    sensitivity: float | Float[Array, ""],
) -> Float[Array, "banks applicants"]:
    """Return the probability of each bank.

    P(b) is proportional to exp(kappa (1[QUALSCORE >= threshold] + relief)).

    Args:
        qualification: Qualification scores of the applicants.
        threshold: Threshold that each bank posted for the applicant's group.
        relief: Relief that each bank posted for it, as a share of the installment.
        sensitivity: kappa, `terms_sensitivity`.
    """
    admitted = (qualification >= threshold).astype(jnp.float32)
    return jax.nn.softmax(sensitivity * (admitted + relief), axis=0)


@dataclasses.dataclass(frozen=True)
class Pool(Market[PoolState]):
    """Market with two banks, whose posted terms decide where an applicant goes."""

    prefixes: ClassVar[tuple[str, ...]] = tuple(named(bank, "") for bank in range(BANKS))
    failure: ClassVar[str] = "a bank goes bankrupt"
    params: ClassVar[type[LoanParams]] = PoolParams
    components: ClassVar[type[QueueComponents]] = PoolComponents
    noise: ClassVar[type[LoanNoise]] = PoolNoise
    places: ClassVar[tuple[int, ...]] = (BANKS,)

    @property
    def context(self) -> tuple[Feature, ...]:
        """The other bank's terms."""
        return other_terms(self.groups)

    def at_start(self, state: LoanState, key: PRNGKeyArray) -> PoolState:
        """Return the state before the first month: no posted terms, applicants at random banks."""
        bank = jax.random.randint(jax.random.fold_in(key, 1), state.group.shape, 0, BANKS)
        nothing = jnp.zeros((2, BANKS, len(self.groups)))
        return PoolState(**vars(state), bank=bank, posted=nothing)

    def features(self, state: PoolState) -> dict[str, Float[Array, " people"]]:
        """Return the number of each person's bank, from 1."""
        return {"bank": 1.0 + state.bank}

    def context_values(self, state: PoolState, bank: int) -> dict[str, Array]:
        """Return the terms posted by the other bank, by the names of `other_terms`."""
        names = [feature.name for feature in self.context]
        return dict(zip(names, state.posted[:, 1 - bank].reshape(-1), strict=True))

    def by_bank(self, values: Sequence[Array]) -> Array:
        """Return the banks' values, stacked."""
        return jnp.stack(values)

    def entry(self, values: Float[Array, "*banks"], bank: int) -> Float[Array, ""]:
        """Return one bank's number in the books."""
        return values[bank]

    def counted(self, month: Month, state: PoolState) -> QueueComponents:
        """Return the components of the pool (sums over the banks) and of each bank."""
        months = [self.of_bank(bank, month, state) for bank in range(BANKS)]
        sums = jax.tree.map(lambda *counts: sum(counts[1:], counts[0]), *months)
        declared = PoolComponents.info()
        of_banks = {
            named(bank, name): count
            for bank, counts in enumerate(months)
            for name, count in vars(counts).items()
        }
        return PoolComponents(
            **vars(sums), **{name: count for name, count in of_banks.items() if name in declared}
        )

    def closed(
        self,
        noise: LoanNoise,
        state: PoolState,
        threshold: Float[Array, " offers"],
        relief: Float[Array, " offers"],
        score: Score,
        params: LoanParams,
    ) -> PoolState:
        """Post the month's terms, and let the next applicants choose a bank by them."""
        assert isinstance(noise, PoolNoise) and isinstance(params, PoolParams)
        posted, rows = jnp.stack([threshold, relief]).reshape(state.posted.shape), state.applicants
        record = {name: column[rows] for name, column in state.record.items()}
        admission, easing = posted[:, :, state.group[rows]]
        qualification = dynamics.qualification_score(score, record)
        chance = choice_probability(qualification, admission, easing, params.terms_sensitivity)
        chosen = jnp.sum(noise.choice[rows] >= jnp.cumsum(chance, axis=0)[:-1], axis=0)
        # step 1 of the next month; people who do not apply keep their bank
        kept = state.bank[rows]
        bank = state.bank.at[rows].set(
            jnp.where(state.applying, chosen.astype(kept.dtype), kept), unique_indices=True
        )
        return state.replace(posted=posted, bank=bank)
