"""Finding environments, algorithms and the like by listing the folder that holds them."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any, TypeVar

from fairgym.core.environment import Environment
from fairgym.core.errors import FairgymError

T = TypeVar("T")


class Registry:
    """Names -> things, each registered by a decorator in its own module.

    Args:
        package: the package whose modules (or sub-packages) register one thing each, under
            their own name; a hyphen in a name stands for the underscore of the module.
        what: what the things are called in messages.
    """

    def __init__(self, package: str, what: str) -> None:
        self.package, self.what = package, what
        self._things: dict[str, Any] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator: make a thing known under this name."""

        def add(thing: T) -> T:
            self._things[name] = thing
            return thing

        return add

    def names(self) -> list[str]:
        """All names: those in the package's folder and those registered from elsewhere."""
        folder = importlib.import_module(self.package)
        found = {
            module.name.replace("_", "-") if not module.ispkg else module.name
            for module in pkgutil.iter_modules(folder.__path__)
            if not module.name.startswith("_")
        }
        return sorted(found | set(self._things))

    def get(self, name: str) -> Any:
        """The thing of this name.

        Raises:
            FairgymError: there is none.
        """
        if name not in self._things and name in self.names():
            importlib.import_module(f"{self.package}.{name.replace('-', '_')}")
        if name not in self._things:
            raise FairgymError(
                f"unknown {self.what} {name!r}; there are: {', '.join(self.names())}"
            )
        return self._things[name]


environments = Registry("fairgym.environments", "environment")


def make(name: str, **shapes: Any) -> Environment:
    """Make an environment.

    Args:
        name: a folder of `fairgym.environments`, or a name registered with
            `fairgym.register_environment`.
        **shapes: constructor arguments (population, horizon, ...).

    Raises:
        FairgymError: unknown name, unknown argument, or a value that the environment refuses.
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
