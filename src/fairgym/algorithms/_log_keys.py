"""Keys of the training log, and functions that read them back.

A log is a flat dictionary: key -> number. Functions of this module write the keys that have several
parts; those whose names end in `_in` read them.
"""

from collections.abc import Mapping
from typing import Any

OBJECTIVE = "objective"
SURVIVED = "survived"
STEP_REWARD = "step_reward"
ENVIRONMENT_STEPS = "environment_steps"  # used by an update
STEPS_A_SECOND = (
    "steps_a_second"  # environment steps per second of an update, added by the training loop
)
APPROXIMATE_KL = "approximate_kl"  # KL divergence of the updated policies from those that acted
CLIPPED = "clipped"  # share of probability ratios outside clip_eps
ENTROPY = "entropy"  # of exploration, summed over agents
EXPLAINED_VARIANCE = "explained_variance"  # of returns or targets, by the critic
VALUE_ERROR = "value_error"  # loss of the critic

_METRICS, _TERMS, _ACTIONS, _GAPS = "metrics", "terms", "actions", "gap"
_CANDIDATES, _EXPLORATION, _MULTIPLIERS = "candidates", "exploration", "multipliers"


def objective(agent: str) -> str:
    """Return the key of the score of one agent's objective."""
    return f"{OBJECTIVE}/{agent}"


def metric(name: str) -> str:
    """Return the key of the raw value of a metric or scheme."""
    return f"{_METRICS}/{name}"


def term(kind: str) -> str:
    """Return the key of the sum of normalised terms: "direct", "rate", "fair" or "scheme"."""
    return f"{_TERMS}/{kind}"


def action(agent: str, element: str) -> str:
    """Return the key of the mean of one element of an agent's action, by the element's name.

    Examples:
        >>> from fairgym.algorithms import log_keys
        >>> log_keys.action("admissions", "threshold_advantaged")
        'actions/admissions/threshold_advantaged'
    """
    return f"{_ACTIONS}/{agent}/{element}"


def gap(disparity: str, part: str) -> str:
    """Return the key of the signed gap in a rate between a group, or person, and the first one."""
    return f"{_GAPS}/{disparity}/{part}"


def exploration(agent: str) -> str:
    """Return the key of the mean standard deviation of an agent's exploration."""
    return f"{_EXPLORATION}/{agent}"


def multiplier(agent: str, metric: str) -> str:
    """Return the key of the multiplier of a bounded metric in an agent's objective."""
    return f"{_MULTIPLIERS}/{agent}/{metric}"


def candidates(key: str) -> str:
    """Return the key of the same number as a mean over all candidates of an update."""
    return f"{_CANDIDATES}/{key}"


def metrics_in(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics and schemes of a log line: name -> value."""
    return _under(_METRICS, line)


def gaps_in(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the signed gaps of a log line: "DISPARITY/GROUP" -> value."""
    return _under(_GAPS, line)


def actions_in(line: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """Return the mean actions of a log line: (agent, element) -> value."""
    found = ([*key.split("/", 1), value] for key, value in _under(_ACTIONS, line).items())
    return {(agent, element): value for agent, element, value in found}


def _under(section: str, line: Mapping[str, Any]) -> dict[str, Any]:
    prefix = f"{section}/"
    return {k.removeprefix(prefix): v for k, v in line.items() if k.startswith(prefix)}
