"""The core: environments, spaces, components, rollouts and the registry."""

from fairgym.core.budget import divided_by_weight
from fairgym.core.components import ComponentInfo, Components, component
from fairgym.core.entities import Entities
from fairgym.core.environment import Environment, by_group, check_shape
from fairgym.core.errors import FairgymError
from fairgym.core.moves import improve_or_deteriorate, improvement_probability, moved
from fairgym.core.params import ParamInfo, Params, param
from fairgym.core.registry import Registry, make, register_environment
from fairgym.core.rollout import Episode, rollout
from fairgym.core.schedule import Construction, Schedule
from fairgym.core.selection import fill_places, highest, sample_rows
from fairgym.core.spaces import ActionSpace, EntitySpace, Feature, PerEntity, Shares, Unit
from fairgym.core.struct import Struct, person_index

__all__ = [
    "ActionSpace",
    "ComponentInfo",
    "Components",
    "Construction",
    "Entities",
    "EntitySpace",
    "Environment",
    "Episode",
    "FairgymError",
    "Feature",
    "ParamInfo",
    "Params",
    "PerEntity",
    "Registry",
    "Schedule",
    "Shares",
    "Struct",
    "Unit",
    "by_group",
    "check_shape",
    "component",
    "divided_by_weight",
    "fill_places",
    "highest",
    "improve_or_deteriorate",
    "improvement_probability",
    "make",
    "moved",
    "param",
    "person_index",
    "register_environment",
    "rollout",
    "sample_rows",
]
