"""State, components and noise of the doughnut shop."""

from jaxtyping import Array, Float

from fairgym.core import Components, PopulationState, Struct, component

ABSENT, AT_COUNTER = range(2)


class DoughnutState(PopulationState):
    """State of the shop: the stage of a person tells whether they are at the counter."""


class DoughnutComponents(Components):
    """Components of one step."""

    handed_out: Float[Array, " persons"] = component(
        "doughnuts handed out to each person", unit="doughnuts", symbol="u_i", per="person"
    )
    wasted: Float[Array, ""] = component(
        "doughnuts given to somebody who was not there", unit="doughnuts"
    )


class DoughnutNoise(Struct):
    """The randomness of one step, each number uniform in [0, 1).

    Attributes:
        arrival: decides who is at the counter in the next step.
    """

    arrival: Float[Array, " people"]
