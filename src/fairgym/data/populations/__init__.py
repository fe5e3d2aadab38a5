"""One module per population; a population is added by adding its module here.

Such a module has:

- `COLUMNS`: column name -> `fairgym.data.store.Column`;
- `CORE_SCORE`: the name of the score by which the groups are compared and amplified;
- `GROUPS`: what the codes of the column `group` mean, in order;
- `outcomes(columns)`: outcome name -> array of shape (n,), whose group means `describe` prints.
"""

import importlib
import pkgutil
from types import ModuleType

from fairgym.core.errors import FairgymError


def population_names() -> list[str]:
    """The names of the populations, from the modules in this folder."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def population_module(name: str) -> ModuleType:
    """The module that defines a population.

    Raises:
        FairgymError: there is no population of that name.
    """
    if name not in population_names():
        raise FairgymError(f"unknown population {name!r}: there is {', '.join(population_names())}")
    return importlib.import_module(f"{__name__}.{name}")
