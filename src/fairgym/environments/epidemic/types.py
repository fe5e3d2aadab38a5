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
    """Everybody's health: `stage` is the state of health, `group` the community.

    Attributes:
        vaccinated: Whether each person has been given a vaccine, with or without effect.
    """

    vaccinated: Bool[Array, " people"]


class EpidemicComponents(Components):
    """Components of one step."""

    vaccinated: Float[Array, " groups"] = group_count(
        "people given a vaccine, with or without effect", "vaccine_given"
    )
    wasted: Float[Array, ""] = component("vaccines without effect", unit="people")
    newly_infected: Float[Array, " groups"] = group_count(
        "susceptible people who were infected", "new_infected"
    )
    people: Float[Array, " groups"] = group_count("people", level=True)
    not_infected: Float[Array, " groups"] = group_count(
        "people neither infected nor exposed after the step", level=True
    )
    health: Float[Array, "groups states"] = component(
        "people in each state of health after the step",
        unit="people",
        per=("group", "state"),
        level=True,
    )


class EpidemicNoise(Struct):
    """Random numbers of one step.

    Attributes:
        effect: Uniform in [0, 1); decides whether the vaccine has an effect.
        fate: Uniform in [0, 1) for each person; decides who moves to the next state of health,
            in any state.
    """

    effect: Float[Array, ""]
    fate: Float[Array, " people"]


class EpidemicParams(Params):
    """Parameters of the epidemic, probabilities per step; every field may be vmapped over.

    Defaults are those of Hu, Lear and Zhang (2023); `Epidemic.default_params` has those of the
    harder variant.
    """

    infection: float = fraction(
        0.5,
        "Probability tau that an infected contact infects a susceptible person.",
        unit="per step",
    )
    onset: float = fraction(
        0.5, "Probability that an exposed person becomes infectious (SEIR).", unit="per step"
    )
    recovery: float = fraction(
        0.005, "Probability rho that an infected person recovers.", unit="per step"
    )
    waning: float = fraction(
        0.0,
        "Probability that an immune person becomes susceptible again (harder variant: 0.2).",
        unit="per step",
    )
    efficacy: float = fraction(
        1.0, "Probability that the vaccine makes a susceptible person immune."
    )
    cure: float = fraction(
        0.0, "Probability that the vaccine makes an exposed or infected person recover."
    )
