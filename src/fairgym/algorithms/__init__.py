"""Algorithms that learn or search for policies: one module each, found by name.

What the author of another one needs stands here too: the interface (`Algorithm`, `TrainState`), the
fields that every state begins with, episodes of many policies side by side, logs, and the names of
what is logged (`log_keys`). `fairgym.core.param` declares hyperparameters,
`fairgym.wrappers.AutoReset` is for environments that run on, `fairgym.core.batching.map_episodes`
maps anything else side by side. `examples/own_algorithm.py` is a complete one.
"""

from fairgym.algorithms import _log_keys as log_keys
from fairgym.algorithms._algorithm import (
    Algorithm,
    Objectives,
    TrainState,
    algorithms,
    as_arrays,
    init_fields,
    objectives_of,
)
from fairgym.algorithms._episodes import (
    log_episodes,
    log_metrics,
    log_multipliers,
    run_candidates,
    run_episodes,
    survived,
)
from fairgym.algorithms._replay import ReplayBuffer
from fairgym.algorithms._rollouts import (
    RolloutState,
    SampledObservations,
    acting,
    first_states,
    fixed_actions,
    initial_rollout_states,
    initial_scheme_states,
    observe_sampled,
    sample_people,
    scan_state,
)
from fairgym.core.batching import replicated

__all__ = [
    "Algorithm",
    "Objectives",
    "ReplayBuffer",
    "RolloutState",
    "SampledObservations",
    "TrainState",
    "acting",
    "algorithms",
    "as_arrays",
    "first_states",
    "fixed_actions",
    "init_fields",
    "initial_rollout_states",
    "initial_scheme_states",
    "log_episodes",
    "log_keys",
    "log_metrics",
    "log_multipliers",
    "objectives_of",
    "observe_sampled",
    "replicated",
    "run_candidates",
    "run_episodes",
    "sample_people",
    "scan_state",
    "survived",
]
