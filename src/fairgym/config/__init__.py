"""Configurations of runs and sweeps, from Python, files and flags."""

from fairgym.config.files import read_config_file
from fairgym.config.parameters import with_params
from fairgym.config.run_config import Job, RunConfig
from fairgym.config.sweep_file import Sweep, read_sweep, sweep_of

__all__ = ["Job", "RunConfig", "Sweep", "read_config_file", "read_sweep", "sweep_of", "with_params"]
