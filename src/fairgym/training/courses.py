"""Fairness over the steps of evaluated episodes: scores of schemes, status of stakeholders."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree

from fairgym.config.differences import words
from fairgym.core import Environment
from fairgym.fairness import Min, Recent, Scheme
from fairgym.training.evaluation import Evaluation

MOST_PARTS = 12  # groups or people that are shown one by one


@dataclasses.dataclass(frozen=True)
class Course:
    """One scheme over the steps of episodes; values stay constant after an episode's end.

    Attributes:
        scores: Fairness score of the steps so far, (episodes, steps).
        status: Status vector U after each step, (episodes, steps, stakeholders).
    """

    scores: Float[np.ndarray, "episodes steps"]
    status: Float[np.ndarray, "episodes steps stakeholders"]


def courses(evaluation: Evaluation, schemes: Mapping[str, Scheme]) -> dict[str, Course]:
    """Score episodes step by step (Alamdari et al. 2024, definition 4.7, of each prefix).

    Args:
        evaluation: Episodes measured with `trace=True`.
        schemes: The schemes by name.
    """
    lengths = jnp.asarray(evaluation.lengths)
    trace = jax.tree.map(jnp.asarray, evaluation.trace)
    found = {name: jax.vmap(scheme.course)(trace, lengths) for name, scheme in schemes.items()}
    return {name: Course(*map(np.asarray, each)) for name, each in found.items()}


# ---------------------------------------------------------------- whose status


@dataclasses.dataclass(frozen=True)
class StatusVector:
    """A status vector that one or more schemes of an environment aggregate.

    Attributes:
        schemes: Names of these schemes; the course of each holds the vector.
        title: What the entries measure, in words.
        unit: Unit of the entries; "" if unknown.
        axis: Word for the stakeholders ("group", "person").
        stakeholders: Names of the stakeholders, in the order of the entries.
        nonnegative: Whether all entries are at least 0.
    """

    schemes: tuple[str, ...]
    title: str
    unit: str
    axis: str
    stakeholders: tuple[str, ...]
    nonnegative: bool = False


def status_vectors(env: Environment, course: Mapping[str, Course]) -> list[StatusVector]:
    """Return the different status vectors of an environment's schemes.

    Args:
        env: The environment.
        course: Courses of its schemes, for the number of stakeholders.
    """
    schemes_of: dict[Any, list[str]] = {}
    for name, scheme in env.spec.schemes.items():
        schemes_of.setdefault(scheme.status, []).append(name)
    found = []
    for status, names in schemes_of.items():
        info = env.spec.component_info.get(getattr(status, "component", ""))
        if info is not None and info.per in env.spec.axes:
            axis = env.spec.group_word if info.per == "group" else info.axes[0]
            title = f"{info.description}{_since(env, status)}"
            who, low = env.spec.parts_of(axis), info.nonnegative
            found.append(StatusVector(tuple(names), title, info.unit, axis, who, low))
        else:  # the status of a scheme that does not read a component
            size = course[names[0]].status.shape[-1]
            numbers = tuple(f"stakeholder {place + 1}" for place in range(size))
            title = f"status of {words(names[0])}"
            found.append(StatusVector(tuple(names), title, "", "stakeholder", numbers))
    return found


def _since(env: Environment, status: PyTree) -> str:
    """Return the part of the past that a status covers, in words; "" for all of it."""
    if isinstance(status, Recent):
        return f", last {status.steps} {env.spec.time_unit}"
    relative = ", above the minimum" if isinstance(status, Min) else ""
    discount = getattr(status, "discount", 1.0)
    return relative + (f", the past discounted by {discount:g}" if discount < 1.0 else "")


def few(values: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Return one entry per stakeholder with its name; for many, the lowest, mean and highest.

    Args:
        values: Values; the last axis is the stakeholder.
        names: Names of the stakeholders in code.
    """
    if len(names) <= MOST_PARTS:
        return values, [words(name) for name in names]
    three = [np.min(values, axis=-1), np.mean(values, axis=-1), np.max(values, axis=-1)]
    return np.stack(three, axis=-1), ["lowest", f"mean of {len(names)}", "highest"]
