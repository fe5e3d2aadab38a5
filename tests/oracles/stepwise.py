"""What the comparisons of systems with their rewrites share: drawn parameters, equal views."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from fairgym.core import Params, PopulationEnvironment

Range = tuple[float, float] | list[float]


def drawn(params: Params, rng: np.random.Generator, ranges: Mapping[str, Range]) -> Any:
    """The same parameters, each of them drawn.

    Args:
        params: centre; what has no range of its own is drawn up to 30% around it.
        rng: generator of the draw.
        ranges: by name, the lowest and the highest value as a tuple, or all values as a list.
    """
    found = {}
    for name, info in params.info().items():
        centre = float(getattr(params, name))
        among = ranges.get(name, (0.7 * centre, 1.3 * centre))
        value = (
            rng.choice(among) if isinstance(among, list) else rng.uniform(min(among), max(among))
        )
        found[name] = float(np.clip(value, info.low, info.high))
        assert found[name] != 0.0 or centre == 0.0 or name in ranges, f"{name} is not drawn"
    return params.replace(**found)


def programs(env: PopulationEnvironment) -> tuple[Any, ...]:
    """Compiled: a first state, a step with given noise, observations, noise, people."""
    functions = (env.initial_state, env.transition, env.observe, env.noise, env.people)
    return tuple(jax.jit(function) for function in functions)


def arrays(struct: Any) -> dict[str, np.ndarray]:
    """The fields of noise as NumPy arrays."""
    return {name: np.asarray(value) for name, value in vars(struct).items()}


def require_same_views(env: PopulationEnvironment, seen: Mapping[str, Any], system: Any) -> None:
    """What each agent sees: who, their features in the order of the space, and the context."""
    for agent in env.agents:
        rows, features, context = system.observe(agent)
        mask = np.asarray(seen[agent].mask)
        np.testing.assert_array_equal(np.flatnonzero(mask), rows, agent)
        found = np.asarray(seen[agent].features)[mask]
        np.testing.assert_allclose(found, features, rtol=1e-4, atol=1e-4, err_msg=agent)
        np.testing.assert_allclose(seen[agent].context, context, rtol=1e-4, atol=1e-4)
        names = [feature.name for feature in env.observation_space(agent).features]
        assert names == list(system.sees[agent])


def require_same_components(
    env: PopulationEnvironment, ours: Any, theirs: Mapping[str, Any]
) -> None:
    """Every component that the environment declares."""
    assert set(theirs) == set(env.spec.component_info)
    for name, value in theirs.items():
        np.testing.assert_allclose(getattr(ours, name), value, rtol=1e-4, atol=1e-3, err_msg=name)


def require_close(found: Any, expected: Mapping[str, Any], rtol: float = 1e-4, atol=1e-3) -> None:
    """Fields of a state (or people by name) against numbers of the rewrite."""
    for name, value in expected.items():
        field = found[name] if isinstance(found, Mapping) else getattr(found, name)
        np.testing.assert_allclose(field, value, rtol=rtol, atol=atol, err_msg=name)
