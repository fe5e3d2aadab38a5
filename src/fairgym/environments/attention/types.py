"""Parameters, state, components and noise of attention allocation."""

from jaxtyping import Array, Float

from fairgym.core import Components, Params, State, Struct, component, param
from fairgym.core.params import Number


class AttentionState(State):
    """The sites and their observations of the last steps, newest first.

    Attributes:
        rates: Lambda_k, expected number of incidents in the next step.
        found: Incidents found; 0 for steps before the first.
        occurred: Incidents that occurred; 0 for steps before the first.
        sent: Units of attention; 0 for steps before the first.
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
    """Random numbers of one step.

    Attributes:
        uniform: Uniform in [0, 1) for each site; decides how many incidents occur at its rate,
            independently of the units sent.
    """

    uniform: Float[Array, " sites"]


# One number per site: Hu, Lear and Zhang (2023), and Xu et al. (2024), where it is harder to hold
# down all rates.
PUBLISHED = {
    "start_rate": (8.0, 6.0, 4.0, 3.0, 1.5),
    "increase": (0.2, 0.26, 0.4, 0.6, 0.3),
    "decrease": (0.1,),
}
HARDER = {
    "start_rate": (30.0, 25.0, 22.5, 17.5, 12.5),
    "increase": (0.08, 0.2, 0.4, 0.8, 2.0),
    "decrease": (0.004, 0.01, 0.016, 0.02, 0.04),
}


class AttentionParams(Params):
    """Parameters of attention allocation; every field may be vmapped over.

    `Attention.default_params` has the published values, which differ between sites.
    """

    start_rate: Number = param(
        4.0,
        "Expected incidents per step at the start, Lambda_k.",
        unit="incidents per step",
        low=0.0,
        high=10_000.0,
        per="site",
    )
    increase: Number = param(
        0.3,
        "Increase of the rate in a step without a unit, lambda_k^I.",
        unit="incidents per step",
        low=0.0,
        high=100.0,
        per="site",
    )
    decrease: Number = param(
        0.1,
        "Decrease of the rate per unit sent, lambda^D.",
        unit="incidents per step",
        low=0.0,
        high=100.0,
        per="site",
    )
