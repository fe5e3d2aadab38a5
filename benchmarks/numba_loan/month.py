"""The loan system with one bank and two groups as a step in Numba, on one core.

The semantics are those of `tests/oracles/numpy_loan.py`; the tests compare the two month by month.
It is written to be fast on a processor:

- A month touches the people whom it concerns: applicants, the queue's scores, borrowers.
- What is constant during a loan is computed when it begins: the propensity without the installment,
  the installment's burden, and the discount (1 + r)^-payments, which a month multiplies by 1 + r.
- Collecting and the networks are vector instructions over blocks of columns.

Interest rates must be above 0.
"""

import numpy as np

from numba_loan import columns as at
from numba_loan.bank import Told
from numba_loan.columns import LANES
from numba_loan.parts import best, compiled, f4, normals, pick, sigmoid


@compiled
def _line(row, weights):
    line = weights[0]
    for column in range(1, 9):
        line += weights[column] * row[column]
    return line


@compiled
def month(bank, setup, threshold, relief, told, found):
    """Simulate one month.

    Args:
        bank: State, which is changed; its scores are those of the places in the queue.
        setup: Shapes and parameters.
        threshold: By group.
        relief: By group.
        told: Randomness of tests.
        found: Components by row and group, to which the month's are added.
    """
    counts = bank.counts
    served = _choose(bank, setup, told)
    approved = _admit(bank, threshold, found)
    _book(bank, _collect(bank, setup, relief, told), found)
    _settle(bank, setup, found)
    _pay_out(bank, setup, served, found)
    _join(bank, setup, approved)
    counts[at.TIME] += 1
    counts[at.APPLYING] = min(setup.applicants, counts[at.IDLE])
    nobody, priority = bank.idle[:0], told.priority
    pick(bank.idle, counts[at.IDLE], counts[at.APPLYING], nobody, priority, bank.counter)


@compiled
def _choose(bank, setup, told):
    """Choose whom to pay out; return their number, their places are in `bank.chosen`."""
    size = bank.counts[at.WAITING]
    if size > setup.cap:
        args = bank.queue, told.priority, bank.counter, bank.chosen, bank.values
        best(bank.scores, size, setup.cap, *args)
        return setup.cap
    for place in range(size):
        bank.chosen[place] = place
    return size


@compiled
def _admit(bank, threshold, found):
    """Move approved applicants from the idle to `bank.approved`; return their number."""
    idle, counts, approved = bank.idle, bank.counts, 0
    for place in range(counts[at.APPLYING] - 1, -1, -1):
        person = idle[place]
        row = bank.people[person]
        group = int(row[at.GROUP])
        found[at.APPLIED, group] += 1
        if row[at.SCORE] >= threshold[group]:
            found[at.APPROVED, group] += 1
            found[at.FIRST_APPROVED, group] += row[at.SERVED] == 0
            bank.approved[approved] = person
            approved += 1
            counts[at.IDLE] -= 1
            idle[place] = idle[counts[at.IDLE]]
    return approved


@compiled
def _collect(bank, setup, relief, told):
    """Collect the installments; return their sum in dollars, fates are in `bank.fate`."""
    size, total = bank.counts[at.REPAYING], 0.0
    if told.payment.size:
        for place in range(size):
            bank.noise[place] = told.payment[bank.borrowers[place]]
    else:
        normals(bank.noise, size, bank.counter)
    ratio, forgiven = f4(setup.default_ratio), f4(setup.relief_forgiven)
    sigma = f4(1.0) if told.payment.size else f4(setup.payment_noise)
    of_debt = setup.propensity[at.DEBT]
    kept, kept_other = f4(1.0) - relief[0], f4(1.0) - relief[1]
    next_month = f4(bank.counts[at.TIME] + 1)
    for number in range(-(-size // LANES)):
        start = number * LANES
        block, discount = bank.loans[number], bank.discount[start : start + LANES]
        fate, noise = bank.fate[start : start + LANES], bank.noise[start : start + LANES]
        received = f4(0.0)
        for i in range(min(LANES, size - start)):
            rate = block[at.B_RATE + i] / f4(12.0)
            balance = block[at.B_BALANCE + i]
            scheduled = rate / f4(1.0 - discount[i]) * balance
            asked = scheduled * (kept if block[at.B_GROUP + i] == f4(0.0) else kept_other)
            fitted = block[at.B_BASE + i] + of_debt * (block[at.B_BURDEN + i] * asked)
            able = _clipped(fitted) + block[at.B_RESIDUAL + i]
            able = _clipped(_clipped(able) + sigma * noise[i])
            paid = min(able * scheduled, asked)
            received += paid
            balance += rate * balance - paid - forgiven * (scheduled - asked)
            asked_so_far = block[at.B_REQUESTED + i] + asked
            paid_so_far = block[at.B_RECEIVED + i] + paid
            behind = paid_so_far < ratio * asked_so_far
            failed = behind and block[at.B_WARNING + i] > f4(0.0)
            done = block[at.B_MATURES + i] <= next_month or balance < f4(0.005)
            fate[i] = 2 if failed else (1 if done else 0)
            discount[i] *= 1.0 + np.float64(rate)
            block[at.B_BALANCE + i] = max(balance, f4(0.0))
            block[at.B_REQUESTED + i] = asked_so_far
            block[at.B_RECEIVED + i] = paid_so_far
            block[at.B_WARNING + i] = f4(1.0) if behind else f4(0.0)
            block[at.B_INSTALLMENT + i] = asked
        total += np.float64(received)
    return total


@compiled
def _clipped(share):
    return min(max(share, f4(0.0)), f4(1.0))


@compiled
def _book(bank, paid, found):
    """Book the month's profit in thousand dollars."""
    books, place = bank.books, bank.counts[at.TIME] % at.MONTHS
    payments = paid / 1000.0
    profit = payments - books[at.OWED] / 1000.0
    books[at.OWED] -= bank.falling[place]
    bank.falling[place] = 0.0
    books[at.TOTAL_PROFIT] += profit
    books[at.TOTAL_PAYMENTS] += payments
    books[at.TOTAL_LOSSES] += max(0.0, -profit)
    found[at.PROFIT, 0] += profit


@compiled
def _settle(bank, setup, found):
    """End loans: change the records of their borrowers, who are idle again."""
    counts, ended = bank.counts, bank.ended
    size, number = counts[at.REPAYING], 0
    for word in range(-(-size // 8)):
        if bank.fates[word]:
            for place in range(8 * word, min(8 * word + 8, size)):
                if bank.fate[place]:
                    ended[number] = place
                    number += 1
    for entry in range(number - 1, -1, -1):  # the last first: the last borrower fills the gap
        place = ended[entry]
        person, repaid = bank.borrowers[place], bank.fate[place] == 1
        row = bank.people[person]
        group, sign = int(row[at.GROUP]), f4(1.0) if repaid else f4(-1.0)
        found[at.ENDED, group] += 1
        found[at.DEFAULTED, group] += not repaid
        points = sign * f4(setup.fico_change)
        row[at.FICO_LOW] = min(max(row[at.FICO_LOW] + points, f4(300.0)), f4(850.0))
        row[at.FICO_HIGH] = max(min(row[at.FICO_HIGH] + points, f4(850.0)), row[at.FICO_LOW])
        for column, change in (
            (at.DELINQUENCY, setup.delinquency_change),
            (at.INCOME, setup.income_change),
            (at.DEBT, -setup.debt_to_income_change),
        ):
            row[column] = max(row[column] + sign * f4(change), f4(0.0))
        row[at.SCORE] = sigmoid(_line(row, setup.qualification))
        counts[at.REPAYING] -= 1
        last = counts[at.REPAYING]
        bank.borrowers[place] = bank.borrowers[last]
        bank.discount[place] = bank.discount[last]
        _move(bank.loans, last, place, at.B_COLUMNS if setup.networks else at.B_PLAIN)
        bank.idle[counts[at.IDLE]] = person
        counts[at.IDLE] += 1


@compiled
def _move(blocks, source, target, columns):
    old, new = blocks[source // LANES], blocks[target // LANES]
    source, target = source % LANES, target % LANES
    for column in range(columns):
        new[column * LANES + target] = old[column * LANES + source]


@compiled
def _pay_out(bank, setup, served, found):
    """Begin the loans of the chosen places, and count the queue that is left."""
    counts, queue, since = bank.counts, bank.queue, bank.since
    time, books = counts[at.TIME], bank.books
    for entry in range(served - 1, -1, -1):  # the last first, as in `_settle`
        place = bank.chosen[entry]
        person = queue[place]
        row = bank.people[person]
        group, term = int(row[at.GROUP]), int(row[at.TERM])
        found[at.DISBURSED, group] += 1
        found[at.WAITED, group] += time - since[place]
        bank.in_queue[group] -= 1
        if row[at.SERVED] == 0:
            found[at.FIRST_DISBURSED, group] += 1
            bank.never[group] -= 1
            row[at.SERVED] = 1
        owed = row[at.PRINCIPAL] / setup.growth[term]
        books[at.OWED] += owed
        bank.falling[(time + term) % at.MONTHS] += owed
        counts[at.WAITING] -= 1
        last = counts[at.WAITING]
        queue[place], since[place] = queue[last], since[last]
        if setup.networks:
            _move(bank.waiting, last, place, at.Q_COLUMNS)
        _begin(bank, setup, person, row)
    for group in range(2):
        found[at.LEFT_WAITING, group] += bank.in_queue[group]
        found[at.NEVER_PAID_OUT, group] += bank.never[group]
        found[at.PEOPLE, group] += bank.size[group]


@compiled
def _begin(bank, setup, person, row):
    """Append a borrower."""
    place = bank.counts[at.REPAYING]
    bank.counts[at.REPAYING] += 1
    bank.borrowers[place] = person
    bank.discount[place] = (1.0 + row[at.RATE] / 12.0) ** -row[at.TERM]
    block, i = bank.loans[place // LANES], place % LANES
    block[at.B_BASE + i] = _line(row, setup.propensity)
    block[at.B_RESIDUAL + i] = row[at.RESIDUAL]
    block[at.B_BURDEN + i] = f4(1200.0) / max(row[at.INCOME], f4(1.0))
    block[at.B_GROUP + i] = row[at.GROUP]
    block[at.B_RATE + i] = row[at.RATE]
    block[at.B_BALANCE + i] = row[at.PRINCIPAL]
    block[at.B_MATURES + i] = f4(bank.counts[at.TIME] + 1) + row[at.TERM]
    for column in (at.B_WARNING, at.B_REQUESTED, at.B_RECEIVED, at.B_INSTALLMENT):
        block[column + i] = f4(0.0)
    if setup.networks:
        block[at.B_TERM + i] = row[at.TERM]
        block[at.B_PRINCIPAL + i] = row[at.PRINCIPAL]
        block[at.B_INCOME + i] = row[at.INCOME]
        block[at.B_FICO_LOW + i] = row[at.FICO_LOW]
        block[at.B_FICO_HIGH + i] = row[at.FICO_HIGH]
        block[at.B_DELINQUENCY + i] = row[at.DELINQUENCY]
        block[at.B_DEBT + i] = row[at.DEBT]
        block[at.B_LINE + i] = _line(row, setup.qualification)


@compiled
def _join(bank, setup, approved):
    """Append the approved to the queue."""
    counts = bank.counts
    for entry in range(approved):
        person, place = bank.approved[entry], counts[at.WAITING]
        row = bank.people[person]
        bank.queue[place], bank.since[place] = person, counts[at.TIME] + 1
        bank.in_queue[int(row[at.GROUP])] += 1
        if setup.networks:
            block, i = bank.waiting[place // LANES], place % LANES
            for column in range(10):
                block[column * LANES + i] = row[column]
            block[at.Q_SINCE + i] = f4(counts[at.TIME] + 1)
        counts[at.WAITING] += 1


@compiled
def run(bank, setup, threshold, relief, priority, months, found):
    """Simulate so many months with constant actions; the queue's priority is by person."""
    told = Told(bank.noise[:0], bank.noise[:0])
    for _ in range(months):
        if bank.counts[at.WAITING] > setup.cap:
            for place in range(bank.counts[at.WAITING]):
                bank.scores[place] = priority[bank.queue[place]]
        month(bank, setup, threshold, relief, told, found)
