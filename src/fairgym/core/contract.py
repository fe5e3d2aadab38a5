"""The contract of environments, checked by tracing one step; nothing is computed or compiled.

`fairgym.testing.check_environment` checks the values as well.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray, PyTree

from fairgym.core.components import Components, EnvironmentSpec
from fairgym.core.environment import Environment, PopulationEnvironment
from fairgym.core.errors import FairgymError
from fairgym.core.observed import Entities, EntitySpace, Feature
from fairgym.core.params import Params
from fairgym.core.spaces import ActionSpace
from fairgym.core.struct import PopulationState

HINT = "fairgym.testing.check_environment checks the whole contract"


def check_contract(env: Environment) -> None:
    """Raise a FairgymError unless an environment returns what it declares.

    Names, spaces, observations, the state, components, `terminated`, metrics and schemes are
    checked, once for equal environments. Errors that the environment's own functions raise pass
    through.

    Raises:
        FairgymError: Something has another type, shape or dtype than declared.
    """
    try:
        hash(env)
    except TypeError:  # not recommended, but works
        _check_once.__wrapped__(env)
    else:
        _check_once(env)


def label(path: Iterable[Any]) -> str:
    """Return the name of a path in a pytree, such as "state.stage", "observations.clinic.mask"."""
    words = [getattr(key, "name", getattr(key, "key", getattr(key, "idx", key))) for key in path]
    return ".".join(str(word) for word in words) or "the value"


def form_of(leaf: object) -> str:
    """Return dtype and shape of an array, such as "float32[3]"; the kind of anything else."""
    try:
        form = jax.typeof(leaf)
    except TypeError:
        return described(leaf)
    return f"{form.dtype}{list(form.shape)}"


def forms_of(tree: PyTree) -> dict[str, str]:
    """Return dtype and shape of each leaf, by path."""
    return {label(path): form_of(x) for path, x in jax.tree_util.tree_flatten_with_path(tree)[0]}


def change_of(before: PyTree, after: PyTree) -> str:
    """Return the first difference in structure, shape or dtype; "" if there is none."""
    first, later = forms_of(before), forms_of(after)
    for path in [*first, *later]:
        if first.get(path) != later.get(path):
            return (
                f"{path} is {first.get(path, 'missing')} first and"
                f" {later.get(path, 'missing')} later"
            )
    same = jax.tree.structure(before) == jax.tree.structure(after)
    return "" if same else "the trees differ in a type or in a static field"


def described(thing: object) -> str:
    """Return a value that has the wrong type in words: "None", "a dict", "2 values"."""
    if thing is None:
        return "None"
    if isinstance(thing, tuple | list):
        return f"{len(thing)} value{'s' * (len(thing) != 1)}"
    if isinstance(thing, type):
        return f"the class {thing.__qualname__}"
    kind = type(thing).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


@functools.lru_cache(maxsize=64)
def _check_once(env: Any) -> None:
    # a copy, which keeps what the environment's functions cache while they are traced
    env = dataclasses.replace(env)
    contract = _Contract(env)
    contract.names()
    contract.spaces()
    params = env.default_params
    contract.require(
        isinstance(params, Params),
        "default_params",
        f"must be of a subclass of fairgym.core.Params, got {described(params)}",
    )
    for name, form in forms_of(params).items():
        contract.require("[" in form, f"the parameter {name!r}", f"must be a number, got {form}")
    key = jax.eval_shape(lambda: jax.random.key(0))
    jax.eval_shape(contract.step, key, params)


class _Contract:
    """The parts of the contract of one environment."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def require(self, holds: bool, what: str, must: str) -> None:
        """Raise a FairgymError unless `holds`."""
        if not holds:
            raise FairgymError(f"{what} of the environment {self.env.name!r} {must}; {HINT}")

    def names(self) -> None:
        """Check the declaration: its types, and that names are texts."""
        env, spec = self.env, self.env.spec
        self.require(isinstance(env.name, str), "the name", f"must be text, got {env.name!r}")
        self.require(
            isinstance(spec, EnvironmentSpec),
            "spec",
            f"must be a fairgym.core.EnvironmentSpec, got {described(spec)}",
        )
        whole = isinstance(env.horizon, int | np.integer) and not isinstance(env.horizon, bool)
        self.require(
            whole and bool(env.horizon >= 1),
            "horizon",
            f"must be a whole number from 1, got {env.horizon!r}",
        )
        for what in ("agents", "groups", "stages"):
            self._require_names(what, getattr(spec, what))
        self.require(len(spec.agents) > 0, "agents", "must name at least one agent")
        for what in ("metrics", "schemes", "memories"):
            given = getattr(spec, what)
            self.require(
                isinstance(given, Mapping),
                what,
                f"must be a mapping from names, got {described(given)}",
            )
            self._require_names(what, list(given))
        kind = spec.components
        self.require(
            isinstance(kind, type) and issubclass(kind, Components),
            "components",
            f"must be a subclass of fairgym.core.Components, got {described(kind)}",
        )

    def _require_names(self, what: str, names: Any) -> None:
        """Require a tuple (or list) of different texts."""
        texts = isinstance(names, tuple | list) and all(isinstance(n, str) and n for n in names)
        must = f"must be a tuple of different names, got {names!r}"
        self.require(texts and len(set(names)) == len(names), what, must)

    def spaces(self) -> None:
        """Check the types of the spaces and the names in them."""
        for agent in self.env.agents:
            for member, kind in (
                ("observation_space", EntitySpace),
                ("action_space", ActionSpace),
            ):
                space, what = getattr(self.env, member)(agent), f"{member}({agent!r})"
                must = f"must return an instance of {kind.__name__}, got {described(space)}"
                self.require(isinstance(space, kind), what, must)
                if isinstance(space, ActionSpace):
                    self._require_names(f"the elements of {what}", space.names)
                    continue
                for part in ("features", "context"):
                    features, where = getattr(space, part), f"{part} of {what}"
                    for feature in features if isinstance(features, tuple | list) else [features]:
                        must = f"must be a tuple of Feature, got {described(feature)} in it"
                        self.require(isinstance(feature, Feature), where, must)
                    self._require_names(where, [feature.name for feature in features])

    def step(self, key: PRNGKeyArray, params: Params) -> None:
        """Check one step; traced."""
        env = self.env
        state = env.initial_state(key, params)
        self._time(state, "initial_state()")
        self._observations(env.observe(state, params))
        actions = {a: env.action_space(a).clip(env.action_space(a).sample(key)) for a in env.agents}
        result = env.transition(env.noise(key, params), state, actions, params)
        self.require(
            isinstance(result, tuple | list) and len(result) == 3,
            "transition()",
            f"must return (state, components, terminated), got {described(result)}",
        )
        after, components, terminated = result
        self._time(after, "transition()")
        change = change_of(state, after)
        self.require(
            not change, "the state", f"must keep its structure, shapes and dtypes, but {change}"
        )
        self._components(components)
        form = form_of(terminated)
        self.require(form == "bool[]", "terminated", f"must be one bool, bool[], got {form}")
        self._observations(env.observe(after, params))
        self._measures(components)
        if isinstance(env, PopulationEnvironment):
            self._people(env, after)

    def _time(self, state: Any, member: str) -> None:
        """Check that a state has a time and holds only arrays."""
        time = getattr(state, "time", None)
        form = form_of(time)
        self.require(
            time is not None and form.endswith("[]") and "int" in form,
            f"the state that {member}",
            "returns must be a fairgym.core.State with time, a whole number,"
            f" got {described(state) if time is None else form}",
        )
        for path, leaf in forms_of(state).items():
            must = f"must be an array, got {leaf}"
            self.require("[" in leaf, f"{path} in the state that {member}", f"returns {must}")

    def _observations(self, given: Any) -> None:
        """Check that there is an observation of every agent, shaped as its space."""
        agents = self.env.agents
        names = list(given) if isinstance(given, Mapping) else None
        self.require(
            names is not None and set(names) == set(agents),
            "observe()",
            f"must return one observation for each of the agents {', '.join(agents)}, got"
            f" {described(given) if names is None else ', '.join(map(str, names)) or 'none'}",
        )
        for agent in agents:
            seen, space = given[agent], self.env.observation_space(agent)
            what = f"the observation of {agent!r} in observe()"
            must = f"must be an instance of Entities, got {described(seen)}"
            self.require(isinstance(seen, Entities), what, must)
            rows = space.capacity
            for part, shape, kinds in (
                ("features", [rows, len(space.features)], ("float32", "int32")),
                ("mask", [rows], ("bool",)),
                ("context", [len(space.context)], ("float32", "int32")),
            ):
                form = form_of(getattr(seen, part))
                must = f"must be {kinds[0]}{shape}, as its space declares, got {form}"
                self.require(form in [f"{k}{shape}" for k in kinds], f"{part} in {what}", must)

    def _components(self, components: Any) -> None:
        """Check that the components are those declared, each of the declared shape."""
        spec = self.env.spec
        kind = spec.components
        self.require(
            isinstance(components, kind),
            "components that transition()",
            f"returns must be of the class {kind.__name__}, got {described(components)}",
        )
        for name, info in spec.component_info.items():
            form = form_of(getattr(components, name))
            shape = [len(spec.parts_of(axis)) for axis in info.axes]
            per = f" (one number per {' and '.join(info.axes)})" if shape else ""
            must = f"must be float32{shape}{per}, got {form}"
            self.require(form == f"float32{shape}", f"the component {name!r}", must)

    def _measures(self, components: Components) -> None:
        """Check that metrics and schemes can be computed from the components."""
        spec = self.env.spec
        for name, metric in spec.metrics.items():
            for member in ("value", "normalised", "defined"):
                number = self._call(f"the metric {name!r}", metric, member, components)
                self._require_scalar(f"{member} of the metric {name!r}", number)
        nothing = jax.tree.map(jnp.zeros_like, components)
        for name, memory in {**spec.memories, **spec.schemes}.items():
            what = f"the {'scheme' if name in spec.schemes else 'memory'} {name!r}"
            before = self._call(what, memory, "initial", nothing)
            after = self._call(what, memory, "update", before, components)
            change = change_of(before, after)
            self.require(
                not change, what, f"must keep its structure, shapes and dtypes, but {change}"
            )
            if name in spec.schemes:
                score = self._call(what, memory, "score", after)
                self._require_scalar(f"the score of {what}", score)

    def _call(self, what: str, thing: Any, member: str, *given: PyTree) -> Any:
        """Return the result of a method; what fairgym's own classes raise becomes a sentence."""
        there = hasattr(thing, member) and not isinstance(thing, type)
        self.require(there, what, f"must have the method {member}, got {described(thing)}")
        known = ", ".join(self.env.spec.component_info)
        try:
            return getattr(thing, member)(*given)
        except FairgymError:
            raise
        except Exception as error:
            if isinstance(error, AttributeError) and any(error.obj is one for one in given):
                missing = f"the component {error.name!r}, which is none of: {known}"
                self.require(False, what, f"needs {missing}")
            if type(thing).__module__.partition(".")[0] == "fairgym":
                reason = " ".join(str(error).split())
                self.require(
                    False, what, f"cannot be computed from the components {known} ({reason})"
                )
            raise

    def _require_scalar(self, what: str, number: object) -> None:
        form = form_of(number)
        self.require(form.endswith("[]"), what, f"must be one number, got {form}")

    def _people(self, env: PopulationEnvironment, state: Any) -> None:
        """Check the features of the people, and that the declaration names only these."""
        must = f"must be a fairgym.core.PopulationState, got {described(state)}"
        self.require(isinstance(state, PopulationState), "the state", must)
        people = env.people(state)
        must = f"must return a mapping from names, got {described(people)}"
        self.require(isinstance(people, Mapping), "people()", must)
        for name, column in people.items():
            shape, form = f"[{env.population}]", form_of(column)
            must = f"must have the shape {shape}, one number per person, got {form}"
            self.require(form.endswith(shape), f"{name!r} in people()", must)
        spec = env.spec
        named = {"core_attribute": [spec.core_attribute], "partitions": list(spec.partitions)}
        for what, features in {**named, "waits": list(spec.waits.values())}.items():
            for feature in filter(None, features):
                must = f"must name a feature of people() ({', '.join(people)}), got {feature!r}"
                self.require(feature in people, what, must)
