"""Registries of environments, algorithms and other parts, found by name."""

import contextlib
import dataclasses
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, TypeVar

from fairgym.core.contract import check_contract
from fairgym.core.errors import FairgymError
from fairgym.utils.changes import unknown
from fairgym.utils.own_code import know_module, know_name
from fairgym.utils.plugins import running
from fairgym.wrappers.augmented import augmented

T = TypeVar("T")

NO_MEMORY = "none"


class Registry:
    """Mapping from names to objects, each registered by a decorator in its own module.

    An object comes from a module in the folder of the package, from an imported module that
    registers it, or from an entry point of an installed distribution, loaded on demand.

    Args:
        package: Package whose modules (or sub-packages) register one object each, under their own
            name; a hyphen in a name stands for the underscore of the module. It is also the name
            of the group of entry points.
        what: Word for the objects in messages.
        members: Names of members that an object must have. If given, objects are frozen
            dataclasses whose fields are settings.
        defaults: Whether such a class can be made without arguments.
        grouped: Whether modules of sub-packages register the objects: `fig6` in `mafe` registers
            "mafe-fig6".
        modules: Modules of fairgym that register several objects each, instead of a folder; they
            are imported when a name is first looked up.

    Examples:
        >>> from fairgym.utils import Registry
        >>> rules = Registry("fairgym.policies", "rule")
        >>> @rules.register("generous")
        ... def generous(observation, key):
        ...     return observation.mask.astype(float)
        >>> rules.get("generous") is generous
        True
    """

    def __init__(
        self,
        package: str,
        what: str,
        *,
        members: Sequence[str] = (),
        defaults: bool = True,
        grouped: bool = False,
        modules: Sequence[str] = (),
    ) -> None:
        self.package, self.what, self.grouped = package, what, grouped
        self.members, self.defaults = members, defaults
        self.modules, self._imported = modules, False
        self._things: dict[str, Any] = {}
        self._registered_by: dict[str, str] = {}  # name -> module
        self._installed_by: dict[str, str] = {}  # name -> distribution and version

    def register(self, name: str) -> Callable[[T], T]:
        """Register an object under a name; a decorator.

        Raises:
            FairgymError: The name is no text, or that of a built-in object.
        """
        if not (isinstance(name, str) and name):
            raise FairgymError(f"the name of this {self.what} must be text, got {name!r}")

        def add(thing: T) -> T:
            module = _module_that_runs()
            own = None if module in self.modules else self._modules().get(name)
            if own is not None and not f"{module}.".startswith(f"{own}."):
                raise FairgymError(
                    f"the name {name!r} is that of a built-in {self.what}; choose another name in"
                    f" {module}"
                )
            self._things[name] = thing
            self._registered_by[name] = module
            self._installed_by.pop(name, None)
            know_name(thing, f"the {self.what} {name!r}")
            return thing

        return add

    def names(self) -> list[str]:
        """Return all names: in the package's folder, registered elsewhere, and installed."""
        return sorted(self._modules().keys() | self._things.keys() | self._entry_points().keys())

    def __contains__(self, name: str) -> bool:
        """Return whether a name is known, whether or not its object can be loaded."""
        return name in self._things or name in self._modules() or name in self._entry_points()

    def get(self, name: str) -> Any:
        """Return the object of a name.

        Raises:
            FairgymError: The name is unknown, its distribution cannot be loaded, or the object is
                of the wrong kind.
        """
        if name not in self._things:
            if name in (modules := self._modules()):
                importlib.import_module(modules[name])
            elif name in (installed := self._entry_points()):
                self._load(name, installed[name])
        if name not in self._things:
            raise unknown(self.what, name, self.names())
        thing = self._things[name]
        if self.members and (fault := _fault(thing, self.members, self.defaults)):
            kind = "dataclass" + (" whose fields all have defaults" if self.defaults else "")
            raise FairgymError(
                f"the {self.what} {name!r} must be a {kind}, got"
                f" {getattr(thing, '__qualname__', thing)!r}, which {fault}"
            )
        return thing

    def module_of(self, name: str) -> str | None:
        """Return the module whose import registers an object; None if no import is needed.

        It is "__main__" for a script or a notebook, which cannot be imported again.
        """
        found_without = name in self._modules() or name in self._installed_by
        return None if found_without else self._registered_by.get(name)

    def is_own(self, name: str) -> bool:
        """Return whether a loaded object is a user's own, from no module of fairgym."""
        return not f"{self._registered_by.get(name, '')}.".startswith("fairgym.")

    def name_of(self, thing: Any) -> str | None:
        """Return the name of a registered or installed object; None if it has none."""
        path = f"{thing.__module__}:{thing.__qualname__}"
        known = (name for name, one in self._things.items() if one is thing)
        installed = (name for name, entry in self._entry_points().items() if entry.value == path)
        return next(known, None) or next(installed, None)

    def distribution_of(self, name: str) -> str | None:
        """Return name and version of the distribution that provides a name; None if none does."""
        if name in self._things or name in self._modules():
            return self._installed_by.get(name)
        entry = self._entry_points().get(name)
        return None if entry is None else _distribution(entry)

    def _load(self, name: str, entry: metadata.EntryPoint) -> None:
        """Load an entry point: the class itself, or a module that registers it."""
        source = _distribution(entry)
        with running(f"the {self.what} {name!r} of {source} cannot be loaded"):
            know_module(entry.module)
            thing = entry.load()
        if isinstance(thing, type):
            self._things.setdefault(name, thing)
            know_name(thing, f"the {self.what} {name!r}")
        if name not in self._things:
            raise FairgymError(
                f"{source} names {entry.value!r} for the {self.what} {name!r}; an entry point must"
                " name the class, or a module that registers it under this name"
            )
        self._installed_by[name] = source

    def _entry_points(self) -> dict[str, metadata.EntryPoint]:
        """Return the entry points of the package's group by name; the first of a name counts."""
        found: dict[str, metadata.EntryPoint] = {}
        for distribution in metadata.distributions():
            with contextlib.suppress(Exception):  # ignore damaged distributions
                for entry in distribution.entry_points:
                    if entry.group == self.package:
                        found.setdefault(entry.name, entry)
        return found

    def _modules(self) -> dict[str, str]:
        """Return name -> the module or package of fairgym that registers it."""
        if self.modules:
            if not self._imported:
                self._imported = True
                for path in self.modules:
                    importlib.import_module(path)
            return {name: m for name, m in self._registered_by.items() if m in self.modules}
        found = {}
        for module, path in _public_modules(self.package):
            if module.ispkg and self.grouped:
                for inner, inner_path in _public_modules(path):
                    found[f"{module.name}-{inner.name}".replace("_", "-")] = inner_path
            else:
                name = module.name if module.ispkg else module.name.replace("_", "-")
                found[name] = path
        return found


def _fault(thing: Any, members: Sequence[str], defaults: bool) -> str:
    """Return why an object cannot be made from settings; "" if it can."""
    if not (isinstance(thing, type) and dataclasses.is_dataclass(thing)):
        return "is not a dataclass"
    fields = [field for field in dataclasses.fields(thing) if field.init]
    there = {field.name for field in fields}
    missing = [name for name in members if not (hasattr(thing, name) or name in there)]
    missing += sorted(getattr(thing, "__abstractmethods__", ()))
    if missing:
        return f"has no {', '.join(missing)}"
    none = dataclasses.MISSING
    for field in fields if defaults else ():
        if field.default is none and field.default_factory is none:
            return f"has no default for its field {field.name!r}"
    return ""


def _module_that_runs() -> str:
    """Return the module that is being imported, or the script that runs."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    name = str(frame.f_globals.get("__name__", "__main__"))
    return "__main__" if name == "__mp_main__" else name  # the script, imported again by a worker


def _distribution(entry: metadata.EntryPoint) -> str:
    """Return name and version of the distribution of an entry point."""
    with contextlib.suppress(Exception):  # damaged metadata
        if entry.dist is not None:
            return f"{entry.dist.name} {entry.dist.version}"
    return entry.module


def _public_modules(package: str) -> list[tuple[pkgutil.ModuleInfo, str]]:
    """Return the public modules of a package's folder, each with its path."""
    folder = importlib.import_module(package)
    modules = pkgutil.iter_modules(folder.__path__)
    return [(m, f"{package}.{m.name}") for m in modules if not m.name.startswith("_")]


environments = Registry("fairgym.environments", "environment", members=("name", "reset", "spec"))

rules = Registry(
    "fairgym.policies.rules",
    "rule",
    modules=(
        "fairgym.policies.rules",
        "fairgym.policies.reacting",
        "fairgym.environments.attention.rules",
        "fairgym.environments.bank_loans.rules",
        "fairgym.environments.college_admissions.rules",
        "fairgym.environments.epidemic.rules",
    ),
)

# Kinds of memories that take words after a colon: functions of an environment and these words.
memories = Registry(
    "fairgym.memories", "kind of memory", modules=("fairgym.fairness.named_memories",)
)


def make(name: str, *, memory: str = "", **shapes: Any) -> Any:
    """Make an environment.

    Args:
        name: Name of a built-in environment, one registered with `fairgym.register_environment`,
            or an entry point of an installed distribution in the group "fairgym.environments".
        memory: Name of a memory in `env.spec.memories` to add to the observations; "" or "none"
            for none. Also a kind with its words, such as "past-discounted:0.9" or
            "automaton:rounds" (`fairgym.fairness.named_memories`).
        **shapes: Constructor arguments (population, horizon, ...).

    Returns:
        An instance of the registered class, wrapped in `fairgym.wrappers.augmented` if there is a
        memory.

    Raises:
        FairgymError: A name, argument or memory is unknown, or a value is invalid. Also if an
            environment of your own returns something else than it declares
            (`fairgym.core.contract`).

    Examples:
        >>> import fairgym
        >>> env = fairgym.make("loan_simple", population=100, horizon=10)
        >>> env.agents
        ('admissions', 'disbursement', 'debt_management')
        >>> fairgym.make("loan_simple", people=100)
        Traceback (most recent call last):
        fairgym.core.errors.FairgymError: unknown argument 'people' for loan_simple; its ...
    """
    cls = environments.get(name)
    known = [p for p in inspect.signature(cls).parameters if not p.startswith("_")]
    for argument in shapes:
        if argument not in known:
            raise unknown("argument", argument, known, "its arguments are", f" for {name}")
    env = cls(**shapes)
    if environments.is_own(name):
        check_contract(env)
    if memory in ("", NO_MEMORY):
        return env
    kind, colon, rest = memory.partition(":")
    if colon and kind in memories.names() and memory not in env.spec.memories:
        return augmented(env, memories.get(kind)(env, rest))
    if (known := env.spec.memories) and memory not in known:
        raise unknown("memory", memory, [*known, *(f"{one}:..." for one in memories.names())])
    return augmented(env, memory)


register_environment = environments.register
