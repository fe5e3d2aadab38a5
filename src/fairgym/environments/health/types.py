"""What the health environment keeps and reports: state, noise and components."""

import jax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fairgym.core import Components, Construction, Struct, component


class HealthState(Struct):
    """The country and its people. Per-person arrays have length `population`; times are steps.

    Attributes:
        candidates: rows of the data that the dead of each region are replaced from.
        illness_draw: uniform number that decides whether a person falls ill in this month; it is
            kept in the state so that the hospital sees who is about to need a bed.
        ill_since, bed_since: the steps in which the illness began and a bed was found; they mean
            something only in the stages "waiting" and "in hospital", and "in hospital".
        subsidy: dollars per month offered on top of what the person pays.
        rollover: the planner's money that waits for the next cycle.
        subsidies_held: subsidies of this cycle that are not paid out yet; what is left at its end
            goes back to the treasury.
    """

    time: Int[Array, ""]
    group: Int[Array, " people"]
    stage: Int[Array, " people"]
    data: dict[str, Float[Array, " people"]]
    insured: Bool[Array, " people"]
    premium: Float[Array, " people"]
    subsidy: Float[Array, " people"]
    illness_draw: Float[Array, " people"]
    ill_since: Int[Array, " people"]
    bed_since: Int[Array, " people"]
    candidates: Int[Array, "regions candidates"]
    beds: Float[Array, " regions"]
    building: Construction
    public_health: Float[Array, " regions"]
    premiums_paid: Float[Array, " regions"]
    rollover: Float[Array, ""]
    subsidies_held: Float[Array, ""]
    total_profit: Float[Array, ""]


class HealthNoise(Struct):
    """The randomness of one step, uniform in [0, 1), one number of each kind per person.

    Attributes:
        coverage: accepts the offer?
        priority: breaks ties of the hospital's scores.
        illness_ends: does the illness end, and in death?
        newcomer: which candidate replaces the person, should they die.
        move: do the person's features improve, stay or deteriorate?
        illness: falls ill in the next month?
    """

    coverage: Float[Array, " people"]
    priority: Float[Array, " people"]
    illness_ends: Float[Array, " people"]
    newcomer: Float[Array, " people"]
    move: Float[Array, " people"]
    illness: Float[Array, " people"]

    @classmethod
    def sample(cls, key: PRNGKeyArray, people: int) -> "HealthNoise":
        """All of them independent."""
        return cls(*jax.random.uniform(key, (6, people)))


class HealthComponents(Components):
    """What is reported each month (MAFE, table 5)."""

    profit: Float[Array, ""] = component(
        "premiums received less hospital costs of the insured",
        unit="dollars",
        symbol="P_t",
        nonnegative=False,
        used_by=("insurer",),
    )
    people: Float[Array, " regions"] = component(
        "people", unit="people", symbol="N^G", per="group", used_by=("insurer", "planner")
    )
    insured: Float[Array, " regions"] = component(
        "people insured", unit="people", symbol="N^I", per="group", used_by=("insurer", "planner")
    )
    healthy: Float[Array, " regions"] = component(
        "people healthy at the start of the month",
        unit="people",
        symbol="N^H",
        per="group",
        used_by=("planner",),
    )
    fell_ill: Float[Array, " regions"] = component(
        "people who fell ill", unit="people", symbol="N^S", per="group", used_by=("planner",)
    )
    illnesses_ended: Float[Array, " regions"] = component(
        "illnesses ended, by cure or death",
        unit="people",
        symbol="N^T",
        per="group",
        used_by=("hospital", "planner"),
    )
    died: Float[Array, " regions"] = component(
        "people who died", unit="people", symbol="N^M", per="group", used_by=("hospital", "planner")
    )
