"""State, noise and components of the health environment."""

from jaxtyping import Array, Bool, Float, Int

from fairgym.core import Components, PopulationState, Struct, component, group_count
from fairgym.environments._common.schedule import Construction


class HealthState(PopulationState):
    """State of the country and its people; times are steps.

    Attributes:
        data: Columns of the people's data.
        insured: Whether the person has accepted the cycle's offer.
        premium: Dollars per month that the person pays.
        candidates: Rows of the data from which each region's dead are replaced.
        illness_uniform: Uniform number that decides whether a person falls ill this month. It is
            part of the state so that the hospital observes who is about to need a bed.
        subsidy: Dollars per month that the planner adds for an insured person.
        ill_since: Step in which the illness began, for people waiting or in hospital.
        bed_since: Step in which a bed was found, for people in hospital.
        beds: Number of beds of each region.
        building: Beds under construction.
        public_health: Each region's dollars for public health in this cycle.
        premiums_paid: Dollars paid in each region in the last step, by its people and the planner.
        rollover: Dollars that the planner carries over to the next cycle.
        subsidies_held: Subsidies of this cycle that are not yet paid out. The rest goes back to
            the treasury when the cycle ends.
        total_profit: Sum of the insurer's profits so far, dollars.
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
    """Random numbers of one step: uniform in [0, 1), one of each kind per person.

    Attributes:
        coverage: Decides whether the person accepts the offer.
        priority: Breaks ties of the hospital's scores.
        illness_ends: Decides whether the illness ends, and whether in death.
        newcomer: Selects the candidate who replaces the person if they die.
        move: Decides whether the person's features improve, stay or deteriorate.
        illness: Decides whether the person falls ill in the next month.
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
        "premiums received minus hospital costs of the insured",
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
