"""Built-in populations, fitted scores and importers.

    >>> from fairgym.data import load_population
    >>> people = load_population("loan")
    >>> len(people), people.columns["fico_low"].dtype
    (10000, dtype('float32'))

Importing this package needs only numpy. Reading and writing people needs pyarrow (the
extra `data`). Importers and fitting of scores also need pandas, scikit-learn and ipumspy
(the extra `importers`). Each is imported by the functions that use it.
"""

from fairgym.data.bias import (
    directions_by_rank,
    resampling_weights,
    standardised_mean_difference,
    strength_for,
)
from fairgym.data.importers._report import Report
from fairgym.data.importers.higher_ed import import_higher_ed
from fairgym.data.importers.lending_club import import_lending_club
from fairgym.data.importers.meps import import_meps
from fairgym.data.population import Population, Score, load_population, sources
from fairgym.data.populations import population_names
from fairgym.data.populations.education import fit_education_scores
from fairgym.data.populations.health import fit_health_scores
from fairgym.data.populations.loan import fit_loan_scores
from fairgym.data.store import data_home
from fairgym.data.summary import describe, describe_records

__all__ = [
    "Population",
    "Report",
    "Score",
    "data_home",
    "describe",
    "describe_records",
    "directions_by_rank",
    "fit_education_scores",
    "fit_health_scores",
    "fit_loan_scores",
    "import_higher_ed",
    "import_lending_club",
    "import_meps",
    "load_population",
    "population_names",
    "resampling_weights",
    "sources",
    "standardised_mean_difference",
    "strength_for",
]
