"""Parts of the Numba rewrite: random numbers, elementary functions, selection."""

import numpy as np
from llvmlite import ir  # pyright: ignore[reportMissingImports]
from numba import njit, types  # pyright: ignore[reportMissingImports]
from numba.extending import intrinsic  # pyright: ignore[reportMissingImports]

compiled = njit(fastmath=True, error_model="numpy")
f4, u4, u8 = np.float32, np.uint32, np.uint64


def _bitcast(source, target, kind):
    """Return the function that reads the bits of a number as one of another type."""
    return intrinsic(
        lambda _context, _number: (
            target(source),
            lambda _, builder, __, numbers: builder.bitcast(numbers[0], kind),
        )
    )


_float_of = _bitcast(types.uint32, types.float32, ir.FloatType())
_bits_of = _bitcast(types.float32, types.uint32, ir.IntType(32))


# ---------------------------------------------------------------- elementary functions


@compiled
def _log(x):
    """Return log(x) for x > 0, as in Cephes."""
    bits = _bits_of(x) - u4(0x3F3504F3)
    exponent = f4(np.int32(bits) >> np.int32(23))
    m = _float_of((bits & u4(0x7FFFFF)) + u4(0x3F3504F3)) - f4(1.0)
    p = f4(7.0376836292e-2)
    p = p * m - f4(1.1514610310e-1)
    p = p * m + f4(1.1676998740e-1)
    p = p * m - f4(1.2420140846e-1)
    p = p * m + f4(1.4249322787e-1)
    p = p * m - f4(1.6668057665e-1)
    p = p * m + f4(2.0000714765e-1)
    p = p * m - f4(2.4999993993e-1)
    p = p * m + f4(3.3333331174e-1)
    return m + m * m * (m * p - f4(0.5)) + exponent * f4(0.69314718)


@compiled
def sigmoid(x):
    """Return 1 / (1 + exp(-x)), with exp as in Cephes."""
    x = min(max(-x, f4(-87.0)), f4(87.0))
    whole = np.floor(x * f4(1.44269504) + f4(0.5))
    r = x - whole * f4(0.69314718)
    p = f4(1.9875691500e-4)
    p = p * r + f4(1.3981999507e-3)
    p = p * r + f4(8.3334519073e-3)
    p = p * r + f4(4.1665795894e-2)
    p = p * r + f4(1.6666665459e-1)
    p = p * r + f4(5.0000001201e-1)
    power = _float_of(u4((np.int32(whole) + np.int32(127)) << np.int32(23)))
    return f4(1.0) / (f4(1.0) + (p * r * r + r + f4(1.0)) * power)


# ---------------------------------------------------------------- random numbers


@compiled
def _mixed(counter):
    """Return the random 64 bits of a counter (SplitMix64)."""
    z = counter * u8(0x9E3779B97F4A7C15)
    z = (z ^ (z >> u8(30))) * u8(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> u8(27))) * u8(0x94D049BB133111EB)
    return z ^ (z >> u8(31))


@compiled
def normals(out, count, counter):
    """Fill with standard normal numbers: sqrt(2) erfinv(u) as in Giles, of 23 bits.

    Args:
        out: Array to fill.
        count: Number of its entries to fill.
        counter: Array of the generator's counter, which is increased.
    """
    first = counter[0]
    counter[0] += u8(count)
    for i in range(count):
        # an odd multiple of 2^-23, in (-1, 1)
        bits = u4(_mixed(first + u8(i)) >> u8(32))
        u = f4((np.int32(bits) >> np.int32(8)) | np.int32(1)) * f4(2.0**-23)
        w = -_log((f4(1.0) - u) * (f4(1.0) + u))
        a = w - f4(2.5)
        p = f4(2.81022636e-08)
        p = p * a + f4(3.43273939e-07)
        p = p * a - f4(3.5233877e-06)
        p = p * a - f4(4.39150654e-06)
        p = p * a + f4(0.00021858087)
        p = p * a - f4(0.00125372503)
        p = p * a - f4(0.00417768164)
        p = p * a + f4(0.246640727)
        p = p * a + f4(1.50140941)
        b = np.sqrt(w) - f4(3.0)
        q = f4(-0.000200214257)
        q = q * b + f4(0.000100950558)
        q = q * b + f4(0.00134934322)
        q = q * b - f4(0.00367342844)
        q = q * b + f4(0.00573950773)
        q = q * b - f4(0.0076224613)
        q = q * b + f4(0.00943887047)
        q = q * b + f4(1.00167406)
        q = q * b + f4(2.83297682)
        out[i] = f4(1.41421356) * u * (p if w < f4(5.0) else q)


@compiled
def pick(rows, size, count, people, priority, counter):
    """Move `count` of the first `size` rows to the start, sampled without replacement.

    Args:
        rows: Numbers of people, or of places in the list `people` if that is not empty.
        size: Number of rows to choose from.
        count: Number of rows to choose.
        people: People of the places.
        priority: Empty to sample; otherwise those with the highest priority are taken.
        counter: Array of the generator's counter, which is increased.
    """
    for place in range(count):
        chosen = place
        if priority.size == 0:
            counter[0] += u8(1)
            high = _mixed(counter[0]) >> u8(32)
            chosen = place + np.int64((high * u8(size - place)) >> u8(32))
        else:
            for other in range(place + 1, size):
                mine, theirs = rows[chosen], rows[other]
                if people.size > 0:
                    mine, theirs = people[mine], people[theirs]
                if priority[theirs] > priority[mine]:
                    chosen = other
        rows[place], rows[chosen] = rows[chosen], rows[place]


# ---------------------------------------------------------------- selection


@compiled
def _kth_largest(values, size, k):
    """Return the k-th largest of the first `size` values (Hoare); their order changes."""
    low, high, goal = 0, size - 1, k - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if goal <= j:
            high = j
        elif goal >= i:
            low = i
        else:
            break
    return values[goal]


@compiled
def best(scores, size, count, people, priority, counter, chosen, values):
    """Find the `count` < `size` places with the highest scores, ties by chance.

    A bound from a sample leaves few candidates, among which a selection finds the last place.

    Args:
        scores: Scores of the places.
        size: Number of places.
        count: Number of places to find.
        people: People of the places.
        priority: As of `pick`.
        counter: As of `pick`.
        chosen: Array that receives the places, in ascending order.
        values: Array of working space, as long as `scores`.
    """
    sample = min(size, max(128, 4 * int(np.sqrt(size))))
    for i in range(sample):
        values[i] = scores[i * size // sample]
    share = sample * count / size
    rank = min(sample, int(share + 2.0 * np.sqrt(share)) + 2)
    bound, found = _kth_largest(values, sample, rank), 0
    while found < count:
        found = 0
        for i in range(size):
            if scores[i] >= bound:
                chosen[found] = i
                found += 1
        bound = f4(-3e38)  # too few: all are candidates
    for i in range(found):
        values[i] = scores[chosen[i]]
    last = _kth_largest(values, found, count)

    above = ties = 0
    tied = np.empty(found, np.int32)
    for i in range(found):
        place = chosen[i]
        if scores[place] > last:
            chosen[above] = place
            above += 1
        elif scores[place] == last:
            tied[ties] = place
            ties += 1
    pick(tied, ties, count - above, people, priority, counter)
    chosen[above:count] = tied[: count - above]
    chosen[:count].sort()
