"""The loan system in Numba: an opponent of `fairgym bench`, and what the tests need of it."""

from numba_loan.acting import act, run_networks
from numba_loan.bank import Bank, Setup, Told, copied, make
from numba_loan.columns import B_SEEN, COMPONENTS, LANES
from numba_loan.month import month, run
from numba_loan.networks import networks_of

__all__ = [
    "B_SEEN",
    "COMPONENTS",
    "LANES",
    "Bank",
    "Setup",
    "Told",
    "act",
    "copied",
    "make",
    "month",
    "networks_of",
    "run",
    "run_networks",
]
