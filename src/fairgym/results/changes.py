"""Settings in which scenarios differ from the reference."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from fairgym.config.differences import words
from fairgym.config.settings import environment_settings
from fairgym.core import Entities
from fairgym.results.table import Table
from fairgym.training.scenarios import Built, Simulation
from fairgym.training.schedules import During
from fairgym.training.stepwise import Stepwise
from fairgym.utils.changes import slug

STARTS = 8  # episodes over whose first steps observations are averaged


class Change(NamedTuple):
    """A setting of a scenario that differs from the reference.

    Attributes:
        section: "environment_args", "params" or "fixed"; "start" for what agents observe of the
            system at the start of an episode, such as a region's beds: the mean over 8 episodes.
        what: Setting in words.
        unit: Unit of the values; "" for a number without one.
        old: Value in the reference; a text if it changes within an episode.
        new: Value in the scenario, likewise.
        about: What the setting is, in words; "" if it is not declared.
    """

    section: str
    what: str
    unit: str
    old: object
    new: object
    about: str = ""


def changes(simulation: Simulation, one: Built) -> list[Change]:
    """Return the settings in which a scenario differs from the reference."""
    base = simulation.base
    found: list[Change] = []
    for setting in environment_settings(simulation.environment):
        old, new = (getattr(built.env.unwrapped, setting.name) for built in (base, one))
        if old != new:
            about = setting.info.description
            found.append(Change("environment_args", words(setting.name), "", old, new, about))
    found += _timed_params(base, one) + _changed_params(base, one)
    started = _changed_start(base, one, found) if found else []
    return found + started + _changed_policies(base, one)


def changes_table(simulation: Simulation, meaning: bool = False) -> Table:
    """Return the settings that differ from the reference, old and new.

    Args:
        simulation: The measured scenarios.
        meaning: Whether to say what each setting is, where it is declared.
    """
    each = [(one, changes(simulation, one)) for one in simulation.others]
    meaning = meaning and any(x.about for _, found in each for x in found)
    units = any(x.unit for _, found in each for x in found)
    head = ["scenario", "setting", "reference", "changed to"]
    head += ["unit"] * units + ["what it is"] * meaning
    rows = []
    for one, found in each:
        cells = [
            [x.what, value_text(x.old), value_text(x.new), *[x.unit] * units, *[x.about] * meaning]
            for x in found
        ]
        for position, row in enumerate(cells or [["nothing", *[""] * (len(head) - 2)]]):
            rows.append(["" if position else one.name, *row])
    return Table(
        head, rows, title=f"Changed settings (reference: {simulation.reference})", words=True
    )


def value_text(value: object) -> str:
    """Return a setting as text: a number with separators."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:,.6g}"


def _timed_params(base: Built, one: Built) -> list[Change]:
    """Parameters that change within an episode, in either of two scenarios."""
    found = []
    for name, info in base.params.info().items():
        old, new = (_told(built, name) for built in (base, one))
        if (old or new) and old != new:
            before, after = (
                text or _number(built, name) for text, built in ((old, base), (new, one))
            )
            about = info.description
            found.append(Change("params", words(name), info.unit, before, after, about))
    return found


def _told(built: Built, name: str) -> str:
    """Return how a parameter changes within an episode, in words; "" if it does not."""
    texts = []
    for key, value in built.timed:
        whose, _, part = str(key).partition(".")
        if isinstance(value, During) and slug(whose) == name:
            text = value.told(built.env.spec.time_unit)
            texts.append(f"{words(part)} {text}" if part else text)
    return "; ".join(texts)


def _number(built: Built, name: str) -> float | str:
    """Return a parameter as a number, or as the numbers of groups or regions."""
    value = np.asarray(getattr(built.params, name), np.float64)
    if value.ndim and np.ptp(value) > 0.0:
        return ", ".join(f"{x:.6g}" for x in value)
    return float(value.reshape(-1)[0])


def _changed_params(base: Built, one: Built) -> list[Change]:
    found = []
    for name, info in base.params.info().items():
        if _told(base, name) or _told(one, name):
            continue
        old, new = (np.asarray(getattr(built.params, name), np.float64) for built in (base, one))
        if old.ndim == new.ndim == 0:
            parts: Iterable[tuple[str, np.ndarray, np.ndarray]] = [("", old, new)]
        else:
            old, new = np.broadcast_arrays(old, new)
            names = base.env.spec.parts_of(info.per) if info.per else range(1, len(old) + 1)
            parts = zip(map(str, names), old, new, strict=True)
        for part, before, after in parts:
            if not math.isclose(before, after, rel_tol=1e-6):  # float32 and float64 alike
                what = words(name) + (f", {words(part)}" if part else "")
                values = (float(before), float(after))
                found.append(Change("params", what, info.unit, *values, info.description))
    return found


def _changed_start(base: Built, one: Built, told: Sequence[Change]) -> list[Change]:
    """Observed effects of settings at the start, such as beds in each region."""
    old: dict[tuple[str, str], float] = _at_start(base)
    found: dict[tuple[object, object], Change] = {(one.old, one.new): one for one in told}
    for (name, unit), after in _at_start(one).items():
        before = old.get((name, unit), after)
        if not math.isclose(before, after, rel_tol=1e-6):
            part = next((g for g in base.env.spec.groups if name.endswith(f"_{slug(g)}")), "")
            what = words(name.removesuffix(f"_{slug(part)}")) + (f", {words(part)}" if part else "")
            about = f"Mean over the first steps of {STARTS} episodes."
            change = Change("start", f"{what}: at the start", unit, before, after, about)
            found.setdefault((before, after), change)  # free beds, if all beds are free
    return [change for change in found.values() if change.section == "start"]


def _at_start(built: Built) -> dict[tuple[str, str], float]:
    """Observed numbers that are the same for all people: (name, unit) -> mean at the start."""
    env, found = built.env, {}

    def contexts(key: PRNGKeyArray) -> dict[str, Array]:
        observed = env.observe(env.initial_state(key, built.params), built.params)
        return {agent: one.context for agent, one in observed.items() if isinstance(one, Entities)}

    keys = jax.random.split(jax.random.key(0), STARTS)
    for agent, values in eqx.filter_jit(jax.vmap(contexts))(keys).items():
        means = np.asarray(values, np.float64).mean(axis=0)
        features = env.observation_space(agent).context
        found |= {(f.name, f.unit): float(x) for f, x in zip(features, means, strict=True)}
    return found


def _changed_policies(base: Built, one: Built) -> list[Change]:
    """Elements of constant actions that differ; of other policies the whole policy."""
    found = []
    for agent in base.env.agents:
        old, new = (_constant(built, agent) for built in (base, one))
        if old is None or new is None:
            texts = [_policy_text(built, agent) for built in (base, one)]
            if texts[0] != texts[1]:
                found.append(Change("fixed", words(agent), "", *texts))
            continue
        elements = base.env.action_space(agent).elements
        for element, before, after in zip(elements, old, new, strict=True):
            if not math.isclose(before, after, rel_tol=1e-6, abs_tol=1e-9):
                what = f"{words(agent)}: {words(element.title)}"
                values = (float(before), float(after))
                found.append(Change("fixed", what, element.unit, *values, element.meaning))
    return found


def _constant(built: Built, agent: str) -> np.ndarray | None:
    """Numbers of a constant action, one per element; None for a rule or a discrete action."""
    policy = built.policies[agent]
    action = getattr(policy, "action", None)
    if isinstance(policy, Stepwise) and len(np.unique(policy.which)) == 1:
        action = policy.actions[policy.which[0]].reshape(-1)
    if action is None or built.env.action_space(agent).discrete:
        return None
    return np.asarray(action, np.float64)[: len(built.env.action_space(agent).elements)]


def _policy_text(built: Built, agent: str) -> str:
    constant, space = _constant(built, agent), built.env.action_space(agent)
    chosen = getattr(built.policies[agent], "action", None)
    if space.discrete and chosen is not None:
        return space.names[int(chosen)]
    if constant is None:
        return str(built.specification[agent])
    return ", ".join(f"{value:g}" for value in constant)
