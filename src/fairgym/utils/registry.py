"""Finding environments, algorithms and the like: in a folder, registered, or installed."""

import contextlib
import dataclasses
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, TypeVar

from fairgym.core.errors import FairgymError
from fairgym.utils.changes import unknown
from fairgym.utils.plugins import reason_of
from fairgym.wrappers.augmented import augmented

T = TypeVar("T")

NO_MEMORY = "none"


class Registry:
    """Names -> things, each registered by a decorator in its own module.

    A thing is found in the folder of the package, or registered by a module that was imported, or
    named by an entry point of an installed distribution, which is loaded when it is asked for.

    Args:
        package: the package whose modules (or sub-packages) register one thing each, under
            their own name; a hyphen in a name stands for the underscore of the module. It is
            also the name of the group of entry points.
        what: word for the things in messages.
        members: what a thing has to have: given, it is a class whose fields are settings, a frozen
            dataclass.
        defaults: True if such a class can be made without arguments.
        grouped: the modules of sub-packages register the things, not the sub-packages: `fig6` in
            `mafe` registers "mafe-fig6".
        modules: modules of fairgym that register several things each, in place of a folder; they
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
        """Decorator: make a thing known under this name.

        Raises:
            FairgymError: the name is that of one of fairgym's own.
        """

        def add(thing: T) -> T:
            module = _module_that_runs()
            own = None if module in self.modules else self._modules().get(name)
            if own is not None and not f"{module}.".startswith(f"{own}."):
                raise FairgymError(
                    f"the name {name!r} is that of fairgym's own {self.what}; {module} takes"
                    " another one"
                )
            self._things[name] = thing
            self._registered_by[name] = module
            self._installed_by.pop(name, None)
            return thing

        return add

    def names(self) -> list[str]:
        """All names: in the package's folder, registered from elsewhere, and installed."""
        return sorted(self._modules().keys() | self._things.keys() | self._entry_points().keys())

    def __contains__(self, name: str) -> bool:
        """True if there is a thing of this name, whether or not it can be loaded."""
        return name in self._things or name in self._modules() or name in self._entry_points()

    def get(self, name: str) -> Any:
        """The thing of this name.

        Raises:
            FairgymError: there is none, the distribution that has it cannot be loaded, or it is
                not of the kind that the registry holds.
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
                f"the {self.what} {name!r} is {getattr(thing, '__qualname__', thing)!r}, which"
                f" {fault}; it takes a {kind}"
            )
        return thing

    def module_of(self, name: str) -> str | None:
        """The module whose import registers a thing; None if it is found without.

        "__main__" for a script or a notebook, which cannot be imported again.
        """
        found_without = name in self._modules() or name in self._installed_by
        return None if found_without else self._registered_by.get(name)

    def name_of(self, thing: Any) -> str | None:
        """The name that a thing is registered or installed under; None without."""
        path = f"{thing.__module__}:{thing.__qualname__}"
        known = (name for name, one in self._things.items() if one is thing)
        installed = (name for name, entry in self._entry_points().items() if entry.value == path)
        return next(known, None) or next(installed, None)

    def distribution_of(self, name: str) -> str | None:
        """Name and version of the distribution whose entry point names a thing; None without."""
        if name in self._things or name in self._modules():
            return self._installed_by.get(name)
        entry = self._entry_points().get(name)
        return None if entry is None else _distribution(entry)

    def _load(self, name: str, entry: metadata.EntryPoint) -> None:
        """Load what an entry point names: the class itself, or a module that registers it."""
        source = _distribution(entry)
        try:
            thing = entry.load()
        except (Exception, SystemExit) as error:
            raise FairgymError(
                f"the {self.what} {name!r} of {source} cannot be loaded: {reason_of(error)}"
            ) from error
        if isinstance(thing, type):
            self._things.setdefault(name, thing)
        if name not in self._things:
            raise FairgymError(
                f"{source} names {entry.value!r} for the {self.what} {name!r}, which is no class"
                " and registers none of this name; an entry point takes one of the two"
            )
        self._installed_by[name] = source

    def _entry_points(self) -> dict[str, metadata.EntryPoint]:
        """Name -> entry point of the package's group; of equal names the first one counts."""
        found: dict[str, metadata.EntryPoint] = {}
        for distribution in metadata.distributions():
            with contextlib.suppress(Exception):  # a damaged one is as good as none
                for entry in distribution.entry_points:
                    if entry.group == self.package:
                        found.setdefault(entry.name, entry)
        return found

    def _modules(self) -> dict[str, str]:
        """Name -> the module or package of fairgym that registers it."""
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
    """Reason why a thing cannot be made from settings; "" for none."""
    if not (isinstance(thing, type) and dataclasses.is_dataclass(thing)):
        return "is no dataclass"
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
    """The module that is being imported, or the script that is being run."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    name = str(frame.f_globals.get("__name__", "__main__"))
    return "__main__" if name == "__mp_main__" else name  # the script, read again by a worker


def _distribution(entry: metadata.EntryPoint) -> str:
    """Name and version of the distribution of an entry point."""
    with contextlib.suppress(Exception):  # damaged metadata
        if entry.dist is not None:
            return f"{entry.dist.name} {entry.dist.version}"
    return entry.module


def _public_modules(package: str) -> list[tuple[pkgutil.ModuleInfo, str]]:
    """Modules of a package's folder without a leading underscore, each with its path."""
    folder = importlib.import_module(package)
    modules = pkgutil.iter_modules(folder.__path__)
    return [(m, f"{package}.{m.name}") for m in modules if not m.name.startswith("_")]


environments = Registry("fairgym.environments", "environment", members=("name", "reset", "spec"))

rules = Registry(
    "fairgym.policies.rules",
    "rule",
    modules=(
        "fairgym.policies.rules",
        "fairgym.environments.attention.rules",
        "fairgym.environments.bank_loans.rules",
        "fairgym.environments.epidemic.rules",
    ),
)


def make(name: str, *, memory: str = "", **shapes: Any) -> Any:
    """Make an environment.

    Args:
        name: a folder of `fairgym.environments`, a name registered with
            `fairgym.register_environment`, or an entry point of an installed distribution in
            the group "fairgym.environments".
        memory: a memory that agents are shown, by its name in `env.spec.memories`; "" or "none" for
            none.
        **shapes: constructor arguments (population, horizon, ...).

    Returns:
        An instance of the class that is registered under the name; with a memory around it
        (`fairgym.wrappers.augmented`) where one is named.

    Raises:
        FairgymError: unknown name, argument or memory, or a value that the environment refuses.

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
    return env if memory in ("", NO_MEMORY) else augmented(env, memory)


register_environment = environments.register
