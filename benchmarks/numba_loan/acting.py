"""Months of the Numba rewrite in which networks act."""

import numpy as np

from numba_loan import columns as at
from numba_loan.bank import Told
from numba_loan.columns import LANES
from numba_loan.month import month
from numba_loan.networks import add, bias_with, layers, on_average
from numba_loan.parts import compiled, f4, sigmoid

_of_applicants, _of_queue = layers(10, 2), layers(at.Q_COLUMNS, 1)
_of_borrowers = layers(len(at.B_SEEN), 2)


@compiled
def act(bank, setup, networks, threshold, relief):
    """Fill the actions: by group, and the bank's scores of the places in the queue.

    Args:
        bank: State.
        setup: Shapes and parameters.
        networks: Of the agents for admissions, disbursement and debt management.
        threshold: By group, to fill.
        relief: By group, to fill.
    """
    counts, people = bank.counts, bank.people
    time, profit = f4(counts[at.TIME]), f4(bank.books[at.TOTAL_PROFIT])

    out, of_debt = np.empty(2 * LANES, np.float32), setup.qualification[at.DEBT]

    network, sums = networks[0], np.zeros(2)
    bias, block = bias_with(network, time, profit), np.empty(10 * LANES, np.float32)
    for start in range(0, counts[at.APPLYING], LANES):
        size = min(LANES, counts[at.APPLYING] - start)
        for i in range(size):
            row = people[bank.idle[start + i]]
            for column in range(10):
                block[column * LANES + i] = row[column]
        _of_applicants(block, size, network, bias, out)
        add(out, size, sums)
    on_average(network, sums, counts[at.APPLYING], threshold)

    if counts[at.WAITING] > setup.cap:
        network = networks[1]
        bias = bias_with(network, time, profit)
        for start in range(0, counts[at.WAITING], LANES):
            size, scores = min(LANES, counts[at.WAITING] - start), bank.scores[start:]
            block = bank.waiting[start // LANES]
            _of_queue(block, size, network, bias, scores[:LANES])
            for i in range(size):
                scores[i] = sigmoid(scores[i] + network.second_bias[0])

    network, sums = networks[2], np.zeros(2)
    bias = bias_with(network, time, profit)
    for start in range(0, counts[at.REPAYING], LANES):
        size, block = min(LANES, counts[at.REPAYING] - start), bank.loans[start // LANES]
        for i in range(size):
            more = block[at.B_BURDEN + i] * block[at.B_INSTALLMENT + i]
            block[at.B_DEBT_NOW + i] = block[at.B_DEBT + i] + more
            block[at.B_SCORE_NOW + i] = sigmoid(block[at.B_LINE + i] + of_debt * more)
        _of_borrowers(block[at.B_GROUP :], size, network, bias, out)
        add(out, size, sums)
    on_average(network, sums, counts[at.REPAYING], relief)


@compiled
def run_networks(bank, setup, networks, months, found):
    """Simulate so many months in which the networks act."""
    told = Told(bank.noise[:0], bank.noise[:0])
    threshold, relief = np.empty(2, np.float32), np.empty(2, np.float32)
    for _ in range(months):
        act(bank, setup, networks, threshold, relief)
        month(bank, setup, threshold, relief, told, found)
