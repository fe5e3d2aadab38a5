"""Learners and panels of the figures of learning curves."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from fairgym.algorithms import log_keys


@dataclasses.dataclass(frozen=True)
class Learner:
    """Learner of a figure.

    Attributes:
        algorithm: Name of the algorithm.
        memory: Name of the memory that the learner observes; "" for none.
        arguments: Hyperparameters that differ from the algorithm's defaults.
        better: Hyperparameters of the better settings that differ from the published ones; None
            if the learner has none.
        published: Whether the figure has it with the published settings.
    """

    algorithm: str
    memory: str = ""
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    better: Mapping[str, Any] | None = None
    published: bool = True


class Panel(NamedTuple):
    """Panel of a figure.

    Attributes:
        label: Label of the y axis.
        name: Name in `Evaluation.values`: a metric of the environment, or "objective", the
            accumulated score of an episode by the published objective.
        sign: -1 if the log stores the number with the opposite sign, so that higher is better.
    """

    label: str
    name: str = "objective"
    sign: int = 1

    @property
    def key(self) -> str:
        """Name of the number in the log."""
        return log_keys.OBJECTIVE if self.name == "objective" else log_keys.metric(self.name)
