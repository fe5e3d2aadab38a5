"""Keys of the training log: the one place that knows how they are written and read.

A log is flat: key -> number. Every key of more than one part is written by a function of this
module, and read back by those that end in `_in`.
"""

from collections.abc import Mapping
from typing import Any

OBJECTIVE = "objective"
SURVIVED = "survived"
STEP_REWARD = "step_reward"
ENVIRONMENT_STEPS = "environment_steps"  # that an update learned from
STEPS_A_SECOND = "steps_a_second"  # the same by the time of the update; of the training loop
APPROXIMATE_KL = "approximate_kl"  # of the policies after gradient steps from those that acted
CLIPPED = "clipped"  # share of probability ratios beyond clip_eps
ENTROPY = "entropy"  # of the exploration, summed over agents
EXPLAINED_VARIANCE = "explained_variance"  # of returns, or targets, by what the critic expected
VALUE_ERROR = "value_error"  # of the critic

_METRICS, _TERMS, _ACTIONS, _GAPS = "metrics", "terms", "actions", "gap"
_CANDIDATES, _EXPLORATION, _MULTIPLIERS = "candidates", "exploration", "multipliers"


def objective(agent: str) -> str:
    """Score of one agent's own objective."""
    return f"{OBJECTIVE}/{agent}"


def metric(name: str) -> str:
    """Raw value of a metric or scheme."""
    return f"{_METRICS}/{name}"


def term(kind: str) -> str:
    """Sum of the normalised metrics of one kind: "direct", "rate", "fair" or "scheme"."""
    return f"{_TERMS}/{kind}"


def action(agent: str, element: str) -> str:
    """Mean of one element of an agent's action, by the element's name.

    Examples:
        >>> from fairgym.algorithms import log_keys
        >>> log_keys.action("admissions", "threshold_advantaged")
        'actions/admissions/threshold_advantaged'
    """
    return f"{_ACTIONS}/{agent}/{element}"


def gap(disparity: str, part: str) -> str:
    """Signed gap of a compared rate between a group, or person, and the first one."""
    return f"{_GAPS}/{disparity}/{part}"


def exploration(agent: str) -> str:
    """Mean standard deviation of an agent's exploration."""
    return f"{_EXPLORATION}/{agent}"


def multiplier(agent: str, metric: str) -> str:
    """Learned multiplier of a bounded metric in an agent's objective."""
    return f"{_MULTIPLIERS}/{agent}/{metric}"


def candidates(key: str) -> str:
    """The same number, as a mean over all candidates of an update instead of the learned policy."""
    return f"{_CANDIDATES}/{key}"


def metrics_in(line: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics and schemes of a log line: name -> value."""
    return _under(_METRICS, line)


def gaps_in(line: Mapping[str, Any]) -> dict[str, Any]:
    """The signed gaps of a log line: "DISPARITY/PART" -> value."""
    return _under(_GAPS, line)


def actions_in(line: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """The mean actions of a log line: (agent, element) -> value."""
    found = ([*key.split("/", 1), value] for key, value in _under(_ACTIONS, line).items())
    return {(agent, element): value for agent, element, value in found}


def _under(section: str, line: Mapping[str, Any]) -> dict[str, Any]:
    prefix = f"{section}/"
    return {k.removeprefix(prefix): v for k, v in line.items() if k.startswith(prefix)}
