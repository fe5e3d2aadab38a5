"""One module per full data set that a user may have. To add an importer, add its module here.

A module has:

- `SOURCE`: name on the command line and in the user's data folder;
- `POPULATION`: the population that it fills, such as "loan";
- `FILE`: short description of the file that the command takes;
- `run(path, *, progress=None) -> report`; the report can be printed.

A module whose name starts with an underscore is a helper, not an importer.
"""

import importlib
import pkgutil
from types import ModuleType


def importer_modules() -> dict[str, ModuleType]:
    """Return source name -> importer module, sorted by name."""
    modules = [
        importlib.import_module(f"{__name__}.{module.name}")
        for module in pkgutil.iter_modules(__path__)
        if not module.name.startswith("_")
    ]
    return {module.SOURCE: module for module in sorted(modules, key=lambda m: m.SOURCE)}
