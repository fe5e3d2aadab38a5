"""Set-up for every test: types checked at run time, compiled programs kept, two CPU devices.

All of it has to happen before `fairgym` is imported for the first time.
"""

import os
from pathlib import Path

# As environment variables, so that commands started by a test inherit them.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax-cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

import beartype.typing  # noqa: F401 - for CHECKER
import jax
import jaxtyping

# Two devices, so that the sharded paths are walked on any machine.
jax.config.update("jax_num_cpu_devices", 2)

# The hook decorates methods one by one, where beartype cannot know what Self is; and an int does
# for a float, as it does for the static checker.
CHECKER = (
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True, "
    "hint_overrides=beartype.FrozenDict({beartype.typing.Self: object})))"
)
jaxtyping.install_import_hook("fairgym", CHECKER)
