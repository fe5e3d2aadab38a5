"""One module per population; a population is added by adding its module here.

Such a module has:

- `COLUMNS`: column name -> `fairgym.data.store.Column`;
- `CORE_SCORE`: the name of the score by which the groups are compared and amplified;
- `GROUPS`: what the codes of the column `group` mean, in order;
- `outcomes(columns)`: outcome name -> array of shape (n,), whose group means `describe` prints as
  percent.

And, where they apply:

- `CORE_SIGN = -1.0`: a higher core score is worse for the person (a health risk); without it,
  better. Whatever ranks or amplifies groups uses `core_sign(module) * score`;
- `DISPARITY_COLUMNS`: further columns by whose levels `describe` prints the mean core score, as
  column name -> names of the codes 0, 1, ...; () for a column of text.
"""

import importlib
import pkgutil
from types import ModuleType

from fairgym.core.errors import FairgymError


def population_names() -> list[str]:
    """The names of the populations, from the modules in this folder."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in found if not name.startswith("_"))


def population_module(name: str) -> ModuleType:
    """The module that defines a population.

    Raises:
        FairgymError: there is no population of that name.
    """
    if name not in population_names():
        raise FairgymError(f"unknown population {name!r}: there is {', '.join(population_names())}")
    return importlib.import_module(f"{__name__}.{name}")


def core_sign(module: ModuleType) -> float:
    """1 if a higher core score is better for the person, -1 if it is worse."""
    return float(getattr(module, "CORE_SIGN", 1.0))
