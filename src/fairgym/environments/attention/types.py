"""State, components and noise of attention allocation."""

from jaxtyping import Array, Float

from fairgym.core import Components, State, Struct, component


class AttentionState(State):
    """The sites, and what was seen of them in the last steps, the last one first.

    Attributes:
        rates: Lambda_k, expected number of incidents in the next step.
        found: incidents found; 0 for steps before the first.
        occurred: incidents that occurred; 0 for steps before the first.
        sent: units of attention; 0 for steps before the first.
    """

    rates: Float[Array, " sites"]
    found: Float[Array, "history sites"]
    occurred: Float[Array, "history sites"]
    sent: Float[Array, "history sites"]


class AttentionComponents(Components):
    """Components of one step."""

    occurred: Float[Array, " sites"] = component(
        "incidents that occurred", unit="incidents", symbol="y_k", per="site"
    )
    found: Float[Array, " sites"] = component(
        "incidents found", unit="incidents", symbol="y^_k", per="site"
    )
    missed: Float[Array, " sites"] = component(
        "incidents not found", unit="incidents", symbol="y_k - y^_k", per="site"
    )
    sent: Float[Array, " sites"] = component(
        "units of attention sent", unit="units", symbol="a_k", per="site"
    )
    rates: Float[Array, " sites"] = component(
        "expected incidents of the next step",
        unit="incidents per step",
        symbol="Lambda_k",
        per="site",
        level=True,
    )


class AttentionNoise(Struct):
    """The randomness of one step.

    Attributes:
        uniform: uniform in [0, 1) for each site; decides how many incidents occur at its rate,
            whatever is sent.
    """

    uniform: Float[Array, " sites"]
