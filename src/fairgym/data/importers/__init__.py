"""One module per full data set that a user may have; an importer is added by adding its module.

Such a module has `SOURCE` (the name on the command line and in the user's data folder) and
`run(path, *, home=None, progress=None) -> report`, whose report prints.
"""

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any


def available_importers() -> dict[str, Callable[..., Any]]:
    """Source name -> function that imports the user's file."""
    modules = [
        importlib.import_module(f"{__name__}.{module.name}")
        for module in pkgutil.iter_modules(__path__)
    ]
    return {module.SOURCE: module.run for module in sorted(modules, key=lambda m: m.SOURCE)}
