"""State, noise and components of the health environment."""

from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Components, PopulationState, Struct, component, group_count
from fairgym.environments._common.schedule import Construction


class HealthState(PopulationState):
    """The country and its people; times are steps.

    Attributes:
        data: columns of the data.
        insured: True if the person has accepted the cycle's offer.
        premium: dollars per month that the person pays.
        candidates: rows of the data that the dead of each region are replaced from.
        illness_uniform: uniform number that decides whether a person falls ill in this month; it is
            kept in the state so that the hospital sees who is about to need a bed.
        subsidy: dollars per month that the planner pays on top, of those insured.
        ill_since: step in which the illness began, of those waiting or in hospital.
        bed_since: step in which a bed was found, of those in hospital.
        beds: number of beds of each region.
        building: beds under construction.
        public_health: dollars of each region for public health in this cycle.
        premiums_paid: dollars that each region's people and the planner paid in the last step.
        rollover: the planner's dollars that wait for the next cycle.
        subsidies_held: subsidies of this cycle that are not paid out yet; what is left at its end
            goes back to the treasury.
        total_profit: sum of the insurer's profits so far, dollars.
    """

    data: dict[str, Float[Array, " people"]]
    insured: Bool[Array, " people"]
    premium: Float[Array, " people"]
    subsidy: Float[Array, " people"]
    illness_uniform: Float[Array, " people"]
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
        coverage: decides whether the offer is accepted.
        priority: breaks ties of the hospital's scores.
        illness_ends: decides whether the illness ends, and whether in death.
        newcomer: selects the candidate that replaces the person, should they die.
        move: decides whether the person's features improve, stay or deteriorate.
        illness: decides whether the person falls ill in the next month.
    """

    coverage: Float[Array, " people"]
    priority: Float[Array, " people"]
    illness_ends: Float[Array, " people"]
    newcomer: Float[Array, " people"]
    move: Float[Array, " people"]
    illness: Float[Array, " people"]


class HealthComponents(Components):
    """Components of each month (MAFE, table 5)."""

    profit: Float[Array, ""] = component(
        "premiums received less hospital costs of the insured",
        unit="dollars",
        symbol="P_t",
        nonnegative=False,
        used_by=("insurer",),
    )
    people: Float[Array, " regions"] = group_count(
        "people", "N^G", "insurer", "planner", level=True
    )
    insured: Float[Array, " regions"] = group_count(
        "people insured", "N^I", "insurer", "planner", level=True
    )
    healthy: Float[Array, " regions"] = group_count(
        "people healthy at the start of the month", "N^H", "planner", level=True
    )
    fell_ill: Float[Array, " regions"] = group_count("people who fell ill", "N^S", "planner")
    illnesses_ended: Float[Array, " regions"] = group_count(
        "illnesses ended, by cure or death", "N^T", "hospital", "planner"
    )
    died: Float[Array, " regions"] = group_count("people who died", "N^M", "hospital", "planner")
