"""The epidemic environment: vaccines in a network (Hu, Lear and Zhang 2023, section VI-C)."""

from fairgym.environments.epidemic.environment import Epidemic
from fairgym.environments.epidemic.types import EpidemicComponents, EpidemicParams

__all__ = ["Epidemic", "EpidemicComponents", "EpidemicParams"]
