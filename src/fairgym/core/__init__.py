"""The core: environments, spaces, components, rollouts and the registry."""

from fairgym.core import log_keys
from fairgym.core.allocation import Allocation, apportion
from fairgym.core.augmented import Augmented, AugmentedState, ShownMemory, augmented
from fairgym.core.auto_reset import AutoReset, StepOutcome
from fairgym.core.budget import divided_by_weight
from fairgym.core.choices import Discrete, OneEntity, option_logits
from fairgym.core.components import ComponentInfo, Components, component
from fairgym.core.elements import Element, per_group
from fairgym.core.entities import Entities
from fairgym.core.environment import (
    Environment,
    by_group,
    check_flag,
    check_shape,
    require_agent,
)
from fairgym.core.errors import FairgymError
from fairgym.core.memory import Memory, no_components
from fairgym.core.moves import improve_or_deteriorate, improvement_probability, moved
from fairgym.core.observed import EntitySpace, Feature
from fairgym.core.params import LARGEST_NUMBER, ParamInfo, Params, param
from fairgym.core.policy import AnyPolicy, Policy, RecurrentPolicy, decide, first_hidden
from fairgym.core.population import (
    PopulationEnvironment,
    count_people,
    counts_people,
    group_counts,
    in_groups,
)
from fairgym.core.recording import RecordedStep, record
from fairgym.core.registry import Registry, make, register_environment
from fairgym.core.rollout import Episode, rollout
from fairgym.core.schedule import Construction, Schedule
from fairgym.core.selection import fill_places, highest, sample_rows
from fairgym.core.shares import Shares
from fairgym.core.spaces import ActionSpace, mean_over_present
from fairgym.core.state import PopulationState, State
from fairgym.core.struct import Struct, person_index
from fairgym.core.unit import PerEntity, Unit
from fairgym.core.wrappers import EndsAfter, MoreMetrics, NeverEnds, StartsFrom, Wrapper

__all__ = [
    "LARGEST_NUMBER",
    "ActionSpace",
    "Allocation",
    "AnyPolicy",
    "Augmented",
    "AugmentedState",
    "AutoReset",
    "ComponentInfo",
    "Components",
    "Construction",
    "Discrete",
    "Element",
    "EndsAfter",
    "Entities",
    "EntitySpace",
    "Environment",
    "Episode",
    "FairgymError",
    "Feature",
    "Memory",
    "MoreMetrics",
    "NeverEnds",
    "OneEntity",
    "ParamInfo",
    "Params",
    "PerEntity",
    "Policy",
    "PopulationEnvironment",
    "PopulationState",
    "RecordedStep",
    "RecurrentPolicy",
    "Registry",
    "Schedule",
    "Shares",
    "ShownMemory",
    "StartsFrom",
    "State",
    "StepOutcome",
    "Struct",
    "Unit",
    "Wrapper",
    "apportion",
    "augmented",
    "by_group",
    "check_flag",
    "check_shape",
    "component",
    "count_people",
    "counts_people",
    "decide",
    "divided_by_weight",
    "fill_places",
    "first_hidden",
    "group_counts",
    "highest",
    "improve_or_deteriorate",
    "improvement_probability",
    "in_groups",
    "log_keys",
    "make",
    "mean_over_present",
    "moved",
    "no_components",
    "option_logits",
    "param",
    "per_group",
    "person_index",
    "record",
    "register_environment",
    "require_agent",
    "rollout",
    "sample_rows",
]
