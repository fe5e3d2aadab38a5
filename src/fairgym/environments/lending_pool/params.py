"""The numbers of the lending pool."""

import jax
from jaxtyping import Float

from fairgym.core import Params, param

Number = float | Float[jax.Array, "..."]  # one number, or one per person


class LendingPoolParams(Params):
    """Parameters of the lending pool; every field may be vmapped over.

    Defaults are those of A.4.2, with discrete credit; `LendingPool.default_params` has those of
    Gaussian credit.
    """

    application: Number = param(
        0.9, "p_i: chance that a person applies in a step", low=0.0, high=1.0, per="person"
    )
    start_a: float = param(
        0.5,
        "credit of group A at the start (the authors' code begins at 0.6)",
        low=0.0,
        high=1.0,
    )
    start_b: float = param(0.9, "credit of group B at the start", low=0.0, high=1.0)
    credit_change: float = param(
        0.1, "c: mean gain of credit when a loan is repaid, and loss on default", low=0.0, high=1.0
    )
    credit_spread: float = param(
        0.0,
        "standard deviation of changes of credit, if Gaussian (A.3: 0.1)",
        low=0.0,
        high=1.0,
    )
    lowest_credit: float = param(0.2, "lowest credit", low=0.0, high=1.0)
    highest_credit: float = param(0.9, "highest credit", low=0.0, high=1.0)
    margin: float = param(
        0.1, "profit per step that the bank aims at over the episode", low=-1.0, high=1.0
    )
