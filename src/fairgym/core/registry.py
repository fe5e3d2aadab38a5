"""Finding environments, algorithms and the like by listing the folder that holds them."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any, TypeVar

from fairgym.core.errors import FairgymError

T = TypeVar("T")


class Registry:
    """Names -> things, each registered by a decorator in its own module.

    Args:
        package: the package whose modules (or sub-packages) register one thing each, under
            their own name; a hyphen in a name stands for the underscore of the module.
        what: word for the things in messages.
        grouped: the modules of sub-packages register the things, not the sub-packages: `fig6` in
            `mafe` registers "mafe-fig6".

    Examples:
        >>> from fairgym.core import Registry
        >>> rules = Registry("fairgym.policies", "rule")
        >>> @rules.register("generous")
        ... def generous(observation, key):
        ...     return observation.mask.astype(float)
        >>> rules.get("generous") is generous
        True
    """

    def __init__(self, package: str, what: str, *, grouped: bool = False) -> None:
        self.package, self.what, self.grouped = package, what, grouped
        self._things: dict[str, Any] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator: make a thing known under this name."""

        def add(thing: T) -> T:
            self._things[name] = thing
            return thing

        return add

    def names(self) -> list[str]:
        """All names: those in the package's folder and those registered from elsewhere."""
        return sorted(self._modules().keys() | self._things.keys())

    def get(self, name: str) -> Any:
        """The thing of this name.

        Raises:
            FairgymError: there is none.
        """
        if name not in self._things and name in (modules := self._modules()):
            importlib.import_module(modules[name])
        if name not in self._things:
            raise FairgymError(
                f"unknown {self.what} {name!r}; there are: {', '.join(self.names())}"
            )
        return self._things[name]

    def _modules(self) -> dict[str, str]:
        """Name -> the module or package that registers it; only the folders are read."""
        found = {}
        for module, path in _public_modules(self.package):
            if module.ispkg and self.grouped:
                for inner, inner_path in _public_modules(path):
                    found[f"{module.name}-{inner.name}".replace("_", "-")] = inner_path
            else:
                name = module.name if module.ispkg else module.name.replace("_", "-")
                found[name] = path
        return found


def _public_modules(package: str) -> list[tuple[pkgutil.ModuleInfo, str]]:
    """Modules of a package's folder without a leading underscore, each with its path."""
    folder = importlib.import_module(package)
    modules = pkgutil.iter_modules(folder.__path__)
    return [(m, f"{package}.{m.name}") for m in modules if not m.name.startswith("_")]


environments = Registry("fairgym.environments", "environment")


def make(name: str, **shapes: Any) -> Any:
    """Make an environment.

    Args:
        name: a folder of `fairgym.environments`, or a name registered with
            `fairgym.register_environment`.
        **shapes: constructor arguments (population, horizon, ...).

    Returns:
        An instance of the class that is registered under the name.

    Raises:
        FairgymError: unknown name, unknown argument, or a value that the environment refuses.

    Examples:
        >>> import fairgym
        >>> env = fairgym.make("loan_simple", population=100, horizon=10)
        >>> env.agents
        ('admissions', 'disbursement', 'debt_management')
        >>> fairgym.make("loan_simple", people=100)
        Traceback (most recent call last):
        fairgym.core.errors.FairgymError: unknown argument 'people' for loan_simple; it takes: ...
    """
    cls = environments.get(name)
    known = [p for p in inspect.signature(cls).parameters if not p.startswith("_")]
    for argument in shapes:
        if argument not in known:
            raise FairgymError(
                f"unknown argument {argument!r} for {name}; it takes: {', '.join(known)}"
            )
    return cls(**shapes)


register_environment = environments.register
