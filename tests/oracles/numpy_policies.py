"""Two-layer policies in NumPy: what `fairgym.policies.EquivariantPolicy` computes, people first.

Used by the benchmark to compare the learned policies too, for whatever environment.
"""

from typing import Any

import numpy as np


class TwoLayer:
    """A two-layer network over the rows of one observation.

    Args:
        policy: the JAX policy whose weights and action space it takes: one number for each row,
            or one short vector for all of them.
    """

    def __init__(self, policy: Any) -> None:
        def array(x: Any) -> np.ndarray:
            return np.asarray(x, np.float32)

        scaling = policy.scaling
        self.shift, self.scale = array(scaling.shift), array(scaling.scale)
        self.context_shift = array(scaling.context_shift)
        self.context_scale = array(scaling.context_scale)
        inputs = policy.first.shape[1] + policy.of_context.shape[1]
        self.first = array(policy.first).T / np.sqrt(np.float32(inputs))
        self.of_context = array(policy.of_context).T / np.sqrt(np.float32(inputs))
        self.first_bias = array(policy.first_bias)
        self.second = array(policy.second).T / np.sqrt(np.float32(policy.second.shape[1]))
        self.second_bias = array(policy.second_bias)
        self.per_person = policy.space.per_entity
        blocks = () if policy.space.independent else policy.space.blocks
        self.ends = np.cumsum([len(block) for block in blocks])[:-1]
        self.shares = bool(blocks)

    def __call__(self, features: np.ndarray, context: np.ndarray) -> np.ndarray:
        """The action for these people: shape (rows,) or (outputs,)."""
        scaled = (features - self.shift) / self.scale
        around = (context - self.context_shift) / self.context_scale
        units = scaled @ self.first + (self.first_bias + around @ self.of_context)
        np.maximum(units, 0.0, out=units)
        if self.per_person:
            return _sigmoid(units @ self.second[:, 0] + self.second_bias[0])
        pooled = units.sum(axis=0) / max(len(units), 1)
        output = pooled @ self.second + self.second_bias
        if not self.shares:
            return _sigmoid(output)
        return np.concatenate([_softmax(block) for block in np.split(output, self.ends)])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def _softmax(x: np.ndarray) -> np.ndarray:
    grown = np.exp(x - x.max())
    return grown / grown.sum()
