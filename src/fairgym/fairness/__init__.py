"""Metrics of reward and fairness, fairness schemes over time, and objectives that combine them."""

from fairgym.fairness.aggregations import (
    Aggregation,
    AllEqual,
    AlphaFair,
    GeneralisedGini,
    Last,
    Least,
    Mean,
    Nash,
    Rawlsian,
    RelaxedParity,
    Sum,
    Temporal,
    Utilitarian,
)
from fairgym.fairness.disparities import (
    Disparity,
    EqualisedOdds,
    GroupRatio,
    LargestGap,
    WorstGroup,
)
from fairgym.fairness.distances import Distance, LargestDeviation
from fairgym.fairness.extended import Extended, StakeholderFirst, TimepointFirst, unfairness
from fairgym.fairness.filters import Always, Counter, EachTime, Filter, When
from fairgym.fairness.inequality import Atkinson, Gini, Theil
from fairgym.fairness.memories import Full, Min, Recent, Reset, Status
from fairgym.fairness.metrics import Direct, Metric, Rate, metric_classes
from fairgym.fairness.objective import Objective
from fairgym.fairness.rates import RateSoFar
from fairgym.fairness.schemes import Scheme, SchemeState
from fairgym.fairness.tables import component_rows, periods
from fairgym.fairness.windows import Windowed, WindowedRates

__all__ = [
    "Aggregation",
    "AllEqual",
    "AlphaFair",
    "Always",
    "Atkinson",
    "Counter",
    "Direct",
    "Disparity",
    "Distance",
    "EachTime",
    "EqualisedOdds",
    "Extended",
    "Filter",
    "Full",
    "GeneralisedGini",
    "Gini",
    "GroupRatio",
    "LargestDeviation",
    "LargestGap",
    "Last",
    "Least",
    "Mean",
    "Metric",
    "Min",
    "Nash",
    "Objective",
    "Rate",
    "RateSoFar",
    "Rawlsian",
    "Recent",
    "RelaxedParity",
    "Reset",
    "Scheme",
    "SchemeState",
    "StakeholderFirst",
    "Status",
    "Sum",
    "Temporal",
    "Theil",
    "TimepointFirst",
    "Utilitarian",
    "When",
    "Windowed",
    "WindowedRates",
    "WorstGroup",
    "component_rows",
    "metric_classes",
    "periods",
    "unfairness",
]
