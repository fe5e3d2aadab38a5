"""Two-layer networks in Numba: what `fairgym.policies.EquivariantPolicy` computes, from blocks."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from numba_loan.columns import B_SEEN, LANES, RECORD
from numba_loan.parts import compiled, f4, sigmoid

HIDDEN = 32  # units


class Network(NamedTuple):
    """A two-layer network with the standardisation folded into its weights.

    Attributes:
        first: Layer 1, by unit and feature.
        first_bias: Bias of each unit.
        of_context: Weights of the context, by unit.
        second: Layer 2, by output and unit.
        second_bias: Bias of each output.
    """

    first: np.ndarray
    first_bias: np.ndarray
    of_context: np.ndarray
    second: np.ndarray
    second_bias: np.ndarray


def layers(columns: int, outputs: int):
    """Return the function of a network over the first columns of a block.

    `logits(block, count, network, bias, out)` fills the outputs of each person, one stretch of
    `LANES` numbers for each output, without their bias.
    """

    @compiled
    def logits(block, count, network, bias, out):
        weights, second, zero = network.first, network.second, f4(0.0)
        out[:] = zero
        for h in range(0, HIDDEN, 4):  # four units at once: each feature is read once for them
            for i in range(count):
                a, b, c, d = bias[h], bias[h + 1], bias[h + 2], bias[h + 3]
                for column in range(columns):
                    x = block[column * LANES + i]
                    a += weights[h, column] * x
                    b += weights[h + 1, column] * x
                    c += weights[h + 2, column] * x
                    d += weights[h + 3, column] * x
                a, b, c, d = max(a, zero), max(b, zero), max(c, zero), max(d, zero)
                for k in range(outputs):
                    of_a, of_b = second[k, h] * a, second[k, h + 1] * b
                    of_c, of_d = second[k, h + 2] * c, second[k, h + 3] * d
                    out[k * LANES + i] += of_a + of_b + of_c + of_d

    return logits


def networks_of(env: Any, policies: Mapping[str, Any]) -> tuple[Network, ...]:
    """Return the networks of the agents for admissions, disbursement and debt management."""
    record = (*RECORD, "qualification_score")
    seen = {
        "admissions": record,
        "disbursement": (*record, "time_waited"),
        "debt_management": B_SEEN,
    }
    return tuple(_folded(env, agent, policies[agent], columns) for agent, columns in seen.items())


def _folded(env: Any, agent: str, policy: Any, columns: tuple[str, ...]) -> Network:
    """Return a policy's network, whose features are in the order of the columns.

    Two columns hold a month instead of the time since or until then. The time itself is the first
    number of the context.
    """
    names = [feature.name for feature in env.observation_space(agent).features]
    scaling, inputs = policy.scaling, policy.first.shape[1] + policy.of_context.shape[1]

    def array(x: Any) -> np.ndarray:
        return np.asarray(x, np.float64)

    first = array(policy.first) / array(scaling.scale) / np.sqrt(inputs)
    of_context = array(policy.of_context) / array(scaling.context_scale) / np.sqrt(inputs)
    bias = (
        array(policy.first_bias)
        - first @ array(scaling.shift)
        - of_context @ array(scaling.context_shift)
    )
    for name, sign in (("time_waited", -1.0), ("time_to_maturity", 1.0)):
        if name in names:
            first[:, names.index(name)] *= sign
            of_context[:, 0] -= first[:, names.index(name)]
    arrays = (
        first[:, [names.index(name) for name in columns]],
        bias,
        of_context,
        array(policy.second) / np.sqrt(HIDDEN),
        array(policy.second_bias),
    )
    return Network(*(np.ascontiguousarray(x, np.float32) for x in arrays))


@compiled
def bias_with(network, time, profit):
    """Return each unit's bias with the context."""
    return network.first_bias + network.of_context[:, 0] * time + network.of_context[:, 1] * profit


@compiled
def add(out, count, sums):
    """Add the outputs of these people to the sums."""
    for k in range(sums.size):
        total = f4(0.0)
        for i in range(count):
            total += out[k * LANES + i]
        sums[k] += np.float64(total)


@compiled
def on_average(network, sums, people, action):
    """Fill the action of a network whose outputs are averaged over the people."""
    for k in range(action.size):
        action[k] = sigmoid(f4(sums[k] / max(people, 1)) + network.second_bias[k])
