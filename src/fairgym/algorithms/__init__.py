"""Algorithms that learn or search for policies, one module each, found by name.

The package also exports what a custom algorithm needs: the interface (`Algorithm`, `TrainState`),
the fields that every training state begins with, programs that all real hyperparameters share
(`compiled`), batched episodes of many policies, logs, and the names of what is logged (`log_keys`).
`fairgym.core.param` declares hyperparameters, `fairgym.wrappers.AutoReset` resets environments
automatically, and `fairgym.core.batching.map_episodes` batches any other function of an episode.
See `examples/own_algorithm.py` for a complete example.
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
from fairgym.algorithms._compiled import compiled
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
    "compiled",
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
