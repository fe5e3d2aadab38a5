"""State of the Numba rewrite of the loan system: one bank, two groups.

People are rows of one array, a cache line each. The idle, the queue and the borrowers are lists of
them. What agents see of the queue and of the borrowers is in blocks of columns.
"""

from typing import Any, NamedTuple

import numpy as np

from numba_loan import columns as at
from numba_loan.columns import LANES


class Setup(NamedTuple):
    """Shapes, parameters and fitted scores (intercept, then weights of rate to delinquency)."""

    applicants: int
    cap: int
    networks: bool
    qualification: np.ndarray
    propensity: np.ndarray
    growth: np.ndarray  # by term: principal / installment of a deposit
    payment_noise: float
    default_ratio: float
    relief_forgiven: float
    fico_change: float
    delinquency_change: float
    income_change: float
    debt_to_income_change: float


def _blocks(people: int, columns: int) -> np.ndarray:
    return np.zeros((-(-people // LANES), columns * LANES), np.float32)


class Bank(NamedTuple):
    """The state, and room to work in."""

    people: np.ndarray
    idle: np.ndarray  # people; those who apply come first
    queue: np.ndarray  # people
    since: np.ndarray  # month of entry, by place in the queue
    waiting: np.ndarray  # blocks
    borrowers: np.ndarray  # people
    loans: np.ndarray  # blocks
    discount: np.ndarray  # (1 + r)^-payments left, by place among the borrowers
    fate: np.ndarray  # 1 repaid, 2 in default
    fates: np.ndarray  # the same memory, eight at once
    counts: np.ndarray
    books: np.ndarray
    falling: np.ndarray  # dollars owed each month that end in a month
    never: np.ndarray  # people never paid out, by group
    in_queue: np.ndarray  # by group
    size: np.ndarray  # by group
    counter: np.ndarray  # of the random numbers
    noise: np.ndarray
    scores: np.ndarray  # of the queue
    values: np.ndarray
    chosen: np.ndarray  # places in the queue
    approved: np.ndarray  # people
    ended: np.ndarray  # places among the borrowers


class Told(NamedTuple):
    """Randomness of a month by person, of tests; empty arrays to draw it."""

    payment: np.ndarray
    priority: np.ndarray


def make(plain: Any, networks: bool, seed: int = 0) -> tuple[Setup, Bank]:
    """Return the setup and the state of a `NumpyLoan` that has just started."""

    def fitted(name: str) -> np.ndarray:
        weights = [plain.scores[name].coefficients[key] for key in at.RECORD[1:]]
        return np.array([plain.scores[name].intercept, *weights], np.float32)

    params, size = plain.params, plain.size
    rate, terms = params["deposit_rate"] / 12.0, np.arange(at.MONTHS)
    growth = (1.0 - (1.0 + rate) ** -terms) / rate if rate > 0.0 else terms.astype(float)
    setup = Setup(
        plain.applicants_per_step,
        plain.cap,
        networks,
        fitted("qualification"),
        fitted("propensity"),
        growth,
        *(params[name] for name in Setup._fields[6:]),
    )
    people = np.zeros((size, 16), np.float32)
    for column, name in enumerate(at.RECORD):
        people[:, column] = plain.people[name]
    people[:, at.RESIDUAL] = plain.residual
    people[:, at.SCORE] = plain.score("qualification", plain.people)
    rest = np.setdiff1d(np.arange(size), plain.applying)
    counts = np.array([size, 0, 0, len(plain.applying), 0])
    groups = np.bincount(plain.group, minlength=2)
    room = -(-size // LANES) * LANES
    fate = np.zeros(room, np.uint8)
    integers, floats = (np.zeros((6, room), kind) for kind in (np.int32, np.float32))
    bank = Bank(
        people=people,
        idle=np.concatenate([plain.applying, rest]).astype(np.int32),
        queue=integers[0],
        since=integers[1],
        waiting=_blocks(size, at.Q_COLUMNS),
        borrowers=integers[2],
        loans=_blocks(size, at.B_COLUMNS),
        discount=np.zeros(room),
        fate=fate,
        fates=fate.view(np.uint64),
        counts=counts,
        books=np.zeros(4),
        falling=np.zeros(at.MONTHS),
        never=groups.copy(),
        in_queue=np.zeros(2, int),
        size=groups,
        counter=np.array([seed << 32], np.uint64),
        noise=floats[0],
        scores=floats[1],
        values=floats[2],
        chosen=integers[3],
        approved=integers[4],
        ended=integers[5],
    )
    return setup, bank


def copied(bank: Bank) -> Bank:
    """Return a copy of a state."""
    copy = Bank(*(array.copy() for array in bank))
    return copy._replace(fates=copy.fate.view(np.uint64))
