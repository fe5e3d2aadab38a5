"""Parameters, state, components and noise of the epidemic."""

from jaxtyping import Array, Bool, Float

from fairgym.core import (
    Components,
    Params,
    PopulationState,
    Struct,
    component,
    fraction,
    group_count,
)


class EpidemicState(PopulationState):
    """The health of everybody; the stage is the state of health, the group the community.

    Attributes:
        vaccinated: whether each person has been given a vaccine, with effect or without.
    """

    vaccinated: Bool[Array, " people"]


class EpidemicComponents(Components):
    """Components of one step."""

    vaccinated: Float[Array, " groups"] = group_count(
        "people given a vaccine, with effect or without", "vaccine_given"
    )
    wasted: Float[Array, ""] = component("vaccines without effect", unit="people")
    newly_infected: Float[Array, " groups"] = group_count(
        "susceptible people who are infected", "new_infected"
    )
    people: Float[Array, " groups"] = group_count("people", level=True)
    not_infected: Float[Array, " groups"] = group_count(
        "people not infected after the step, and not exposed", level=True
    )
    health: Float[Array, "groups states"] = component(
        "people in each state of health after the step",
        unit="people",
        per=("group", "state"),
        level=True,
    )


class EpidemicNoise(Struct):
    """The randomness of one step.

    Attributes:
        effect: uniform in [0, 1); decides whether the vaccine has an effect.
        fate: uniform in [0, 1) for each person; decides who passes on to the next state of health,
            whatever the state.
    """

    effect: Float[Array, ""]
    fate: Float[Array, " people"]


class EpidemicParams(Params):
    """Parameters of the epidemic, chances per step; every field may be vmapped over.

    Defaults are those of Hu, Lear and Zhang (2023); `Epidemic.default_params` has those of the
    harder variant.
    """

    infection: float = fraction(
        0.5, "tau: chance that an infected contact infects a susceptible person", unit="per step"
    )
    onset: float = fraction(
        0.5, "chance that an exposed person becomes infectious (SEIR)", unit="per step"
    )
    recovery: float = fraction(
        0.005, "rho: chance that an infected person recovers", unit="per step"
    )
    waning: float = fraction(
        0.0,
        "chance that an immune person becomes susceptible again (harder variant: 0.2)",
        unit="per step",
    )
    efficacy: float = fraction(1.0, "chance that the vaccine makes a susceptible person immune")
    cure: float = fraction(
        0.0, "chance that the vaccine makes an exposed or infected person recover"
    )
