"""The numbers of the doughnut shop."""

import jax
from jaxtyping import Float

from fairgym.core import Params, param

Number = float | Float[jax.Array, "..."]  # one number, or one per person


class DoughnutParams(Params):
    """Parameters of the doughnut shop; every field may be vmapped over."""

    presence: Number = param(
        0.8,
        "p_i: chance that a person is at the counter in a step (A.4.1)",
        low=0.0,
        high=1.0,
        per="person",
    )
