"""One module per population. To add a population, add its module here.

A module has:

- `COLUMNS`: column name -> `fairgym.data.store.Column`;
- `CORE_SCORE`: name of the score by which groups are compared and amplified;
- `GROUPS`: names of the codes of the column `group`, in order;
- `outcomes(columns)`: outcome name -> array of shape (n,); `describe` prints the group means as
  percent.

Optional:

- `CORE_SIGN = -1.0`: a higher core score is worse for the person (a health risk); by default it is
  better. Code that ranks or amplifies groups uses `core_sign(module) * score`;
- `DISPARITY_COLUMNS`: further columns by whose levels `describe` prints the mean core score, as
  column name -> names of the codes 0, 1, ...; () for a text column.
"""

import importlib
import pkgutil
from types import ModuleType

from fairgym.utils.changes import unknown


def population_names() -> list[str]:
    """Return the names of the populations: the modules in this folder."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in found if not name.startswith("_"))


def population_module(name: str) -> ModuleType:
    """Return the module that defines a population.

    Raises:
        FairgymError: If there is no population of that name.
    """
    if name not in population_names():
        raise unknown("population", name, population_names())
    return importlib.import_module(f"{__name__}.{name}")


def core_sign(module: ModuleType) -> float:
    """Return 1 if a higher core score is better for the person, -1 if it is worse."""
    return float(getattr(module, "CORE_SIGN", 1.0))
