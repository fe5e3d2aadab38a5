"""The contract of a user's own algorithms, checked when training starts and after an update.

`fairgym.testing.check_algorithm` checks the values as well.
"""

from collections.abc import Mapping
from typing import Any

import jax
from jaxtyping import PyTree

from fairgym.algorithms import algorithms
from fairgym.config.run_config import Job
from fairgym.core import FairgymError, decide, first_hidden
from fairgym.core.contract import change_of, described, form_of
from fairgym.core.errors import is_number

HINT = "fairgym.testing.check_algorithm checks the whole contract"


def check_start(job: Job, state: PyTree) -> None:
    """Check hyperparameters and policies of an own algorithm before anything is written.

    Args:
        job: What is trained.
        state: The state before the first update.

    Raises:
        FairgymError: A member has another type than the interface says, an agent has no policy, or
            a policy returns something else than an action of its agent.
    """
    if not algorithms.is_own(job.config.algorithm):
        return
    algorithm: Any = job.algorithm
    updates, extended = algorithm.num_updates, algorithm.extended_by
    whole = isinstance(updates, int) and not isinstance(updates, bool) and updates >= 1
    _require(job, whole, "num_updates", f"must be a whole number from 1, got {updates!r}")
    discount = algorithm.score_discount
    _require(job, is_number(discount), "score_discount", f"must be a number, got {discount!r}")
    named = isinstance(extended, str) and (not extended or hasattr(algorithm, extended))
    must = f"must be the name of a hyperparameter or empty, got {extended!r}"
    _require(job, named, "extended_by", must)
    policies, agents = algorithm.policies(state), job.env.agents
    given = list(policies) if isinstance(policies, Mapping) else None
    _require(
        job,
        given is not None and set(given) >= set(agents),
        "policies()",
        f"must return one policy for each of the agents {', '.join(agents)}, got"
        f" {described(policies) if given is None else ', '.join(map(str, given)) or 'none'}",
    )
    for agent in agents:
        _check_policy(job, agent, policies[agent])


def _check_policy(job: Job, agent: str, policy: Any) -> None:
    """Check that a policy returns an action of its agent; nothing is computed."""
    what = f"the policy of {agent!r} from policies()"
    _require(job, callable(policy), what, f"must be a function, got {described(policy)}")
    observed, space = job.env.observation_space(agent), job.env.action_space(agent)

    def act(key: Any) -> Any:
        hidden = first_hidden({agent: policy}).get(agent)
        form = form_of(decide(policy, observed.sample(key), key, hidden)[0])
        shape = str(list(space.shape))
        must = f"must return an action of shape {shape} ({space.takes}), got {form}"
        _require(job, form.endswith(shape) and form != shape, what, must)

    jax.eval_shape(act, jax.random.key(0))


def check_update(job: Job, before: PyTree, updated: Any) -> tuple[Any, Mapping[str, object]]:
    """Return what `update` of an algorithm has returned, after checking its form.

    Args:
        job: What is trained.
        before: The state before the update.
        updated: What was returned.

    Raises:
        FairgymError: It is not a state of the same structure and a log of numbers by name.
    """
    if not algorithms.is_own(job.config.algorithm):
        return updated
    pair = isinstance(updated, tuple | list) and len(updated) == 2
    _require(job, pair, "update()", f"must return (state, log), got {described(updated)}")
    after, log = updated
    change = change_of(before, after)
    must = f"must keep its structure, shapes and dtypes, but {change}"
    _require(job, not change, "the state from update()", must)
    _require(
        job,
        isinstance(log, Mapping) and all(isinstance(name, str) for name in log),
        "the log from update()",
        f"must be a mapping from names to numbers, got {described(log)}",
    )
    for name, value in log.items():
        form = form_of(value)
        scalar = form.endswith("[]") and not form.startswith(("complex", "key"))
        _require(job, scalar, f"{name!r} in the log from update()", f"must be a number, got {form}")
    return after, log


def _require(job: Job, holds: bool, what: str, must: str) -> None:
    if not holds:
        raise FairgymError(f"{what} of the algorithm {job.config.algorithm!r} {must}; {HINT}")
