"""The core: environments, spaces, components, policies and rollouts."""

from fairgym.core.choices import Discrete, OneEntity, option_logits
from fairgym.core.compiled import computed_once, gather, replace_rows, uniform
from fairgym.core.components import (
    ComponentInfo,
    Components,
    Counts,
    EnvironmentSpec,
    Memory,
    component,
    group_count,
)
from fairgym.core.decisions import Decision, Moment
from fairgym.core.environment import (
    Environment,
    PopulationEnvironment,
    by_group,
    count_people,
    counts_people,
    group_counts,
    in_groups,
    no_components,
    require_agent,
)
from fairgym.core.errors import FairgymError, check_shape
from fairgym.core.observed import Entities, EntitySpace, Feature
from fairgym.core.params import (
    ParamInfo,
    Params,
    check_params,
    fraction,
    param,
    params_info,
)
from fairgym.core.policy import AnyPolicy, Policy, RecurrentPolicy, decide, first_hidden
from fairgym.core.recording import RecordedStep, record
from fairgym.core.rollout import Episode, rollout
from fairgym.core.selection import fill_places, highest, sample_rows
from fairgym.core.shares import Allocation, Shares, apportion
from fairgym.core.spaces import ActionSpace, Element, per_group
from fairgym.core.struct import PopulationState, State, Struct, person_index
from fairgym.core.unit import PerEntity, Unit

__all__ = [
    "ActionSpace",
    "Allocation",
    "AnyPolicy",
    "ComponentInfo",
    "Components",
    "Counts",
    "Decision",
    "Discrete",
    "Element",
    "Entities",
    "EntitySpace",
    "Environment",
    "EnvironmentSpec",
    "Episode",
    "FairgymError",
    "Feature",
    "Memory",
    "Moment",
    "OneEntity",
    "ParamInfo",
    "Params",
    "PerEntity",
    "Policy",
    "PopulationEnvironment",
    "PopulationState",
    "RecordedStep",
    "RecurrentPolicy",
    "Shares",
    "State",
    "Struct",
    "Unit",
    "apportion",
    "by_group",
    "check_params",
    "check_shape",
    "component",
    "computed_once",
    "count_people",
    "counts_people",
    "decide",
    "fill_places",
    "first_hidden",
    "fraction",
    "gather",
    "group_count",
    "group_counts",
    "highest",
    "in_groups",
    "no_components",
    "option_logits",
    "param",
    "params_info",
    "per_group",
    "person_index",
    "record",
    "replace_rows",
    "require_agent",
    "rollout",
    "sample_rows",
    "uniform",
]
