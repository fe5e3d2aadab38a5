"""One module per full data set that a user may have; an importer is added by adding its module.

Such a module has

- `SOURCE`: the name on the command line and in the user's data folder;
- `POPULATION`: the population that it fills, such as "loan";
- `FILE`: what file the command takes, in a few words;
- `run(path, *, progress=None) -> report`, whose report prints.

A module whose name starts with an underscore is a helper, not an importer.
"""

import importlib
import pkgutil
from types import ModuleType


def importer_modules() -> dict[str, ModuleType]:
    """Source name -> module of the importer, by name."""
    modules = [
        importlib.import_module(f"{__name__}.{module.name}")
        for module in pkgutil.iter_modules(__path__)
        if not module.name.startswith("_")
    ]
    return {module.SOURCE: module for module in sorted(modules, key=lambda m: m.SOURCE)}
