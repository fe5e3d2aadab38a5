"""Write the pages of the API reference as Markdown for the site.

    python tools/api.py build/api

Each page begins with tables of its names and their first lines, the most used first. `PAGES` names
them; whatever else a package exports follows under "More" on the page that lists the package.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import griffe

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Page:
    """One page of the reference.

    Attributes:
        title: Title of the page.
        about: One sentence on what the page is for.
        sections: Title of a section -> names in it, without the leading "fairgym.".
        more: Package whose other exports end the page.
    """

    title: str
    about: str
    sections: dict[str, list[str]] = field(default_factory=dict)
    more: str = ""


def _in(package: str, names: str) -> list[str]:
    return [f"{package}.{name}" for name in names.split()]


def _system(title: str, name: str, rules: bool = False) -> Page:
    about = f"What the environment does and assumes is in its [card](../environments/{name}.md)."
    sections = {"Environment": [f"environments.{name}"]}
    if rules:
        sections["Rules"] = [f"environments.{name}.rules"]
    return Page(f"fairgym.environments.{name}: {title}", about, sections)


PAGES = {
    "core": Page(
        "fairgym.core: environments and episodes",
        "Make an environment, step it, and run whole episodes.",
        {
            "Run": ["make", "core.rollout.rollout", "core.record", "core.Episode"],
            "Environments": [
                *_in("core", "Environment PopulationEnvironment EnvironmentSpec State"),
                *_in("core", "PopulationState Params Components ComponentInfo ParamInfo"),
            ],
            "Policies": _in("core", "Policy RecurrentPolicy AnyPolicy decide first_hidden"),
            "Registries and errors": [
                *_in("utils", "register_environment rules Registry"),
                "core.FairgymError",
            ],
        },
    ),
    "spaces": Page(
        "fairgym.core: spaces and building blocks",
        "What agents observe and do, and functions that environments are written with.",
        {
            "Observations": _in("core", "EntitySpace Entities Feature"),
            "Actions": [
                *_in("core", "ActionSpace Element Unit PerEntity OneEntity Discrete"),
                *_in("core", "Shares Allocation"),
            ],
        },
        more="core",
    ),
    "wrappers": Page(
        "fairgym.wrappers",
        "Environments around an environment: another start or end, a memory, further metrics.",
        more="wrappers",
    ),
    "fairness": Page(
        "fairgym.fairness: metrics and objectives",
        "Measure reward and disparity of summed components, and weigh them in an objective.",
        {
            "Objective": _in("fairness", "Objective"),
            "Rewards and rates": _in("fairness", "Direct Rate WorstGroup Windowed Metric"),
            "Disparities": [
                *_in("fairness", "Disparity LargestGap GroupRatio EqualisedOdds LargestDeviation"),
                *_in("fairness", "Gini Theil Atkinson Distance"),
            ],
        },
    ),
    "schemes": Page(
        "fairgym.fairness: schemes",
        "Score fairness over time: status, aggregation and filter.",
        {
            "Schemes": [
                *_in("fairness", "Scheme SchemeState component_rows periods unfairness"),
                *["fairness.times.Periods", "fairness.welfare.welfare_scheme"],
            ],
            "Aggregation over stakeholders": [
                *_in("fairness", "Aggregation Utilitarian Rawlsian Nash AlphaFair"),
                *_in("fairness", "GeneralisedGini RelaxedParity AllEqual"),
            ],
            "Aggregation over time": [
                *_in("fairness", "Extended TimepointFirst StakeholderFirst Temporal"),
                *_in("fairness", "Sum Mean Last Least"),
            ],
            "Filters: when fairness is assessed": [
                *_in("fairness", "Filter Always When EachTime Counter")
            ],
            "Status and memories": _in("fairness", "Status Full Min Reset Recent"),
            "Automata": _in("fairness.automata", "Automaton Product of_states of_values"),
            "Exact planning": _in("fairness.planning", "best_score Model"),
        },
        more="fairness",
    ),
    "policies": Page(
        "fairgym.policies",
        "Networks that are trained, and fixed rules.",
        {
            "Fixed": _in(
                "policies", "fixed_policies with_fixed Constant Random FirstCome Function"
            ),
            "Trained": _in(
                "policies", "equivariant EquivariantPolicy Standardiser split_trainable"
            ),
            "Modules": _in("policies", "exploration massaging flat coding rules"),
        },
        more="policies",
    ),
    "algorithms": Page(
        "fairgym.algorithms: interface, F-MACEM and multi-agent learners",
        "What an algorithm is, and those that train several agents together. "
        "[Algorithms](../algorithms.md) says which to use.",
        {
            "Interface": _in("algorithms", "Algorithm TrainState"),
            "Learners": _in("algorithms", "f_macem f_mappo f_maddpg grid_search"),
            "Training log": ["algorithms._log_keys"],
        },
        more="algorithms",
    ),
    "algorithms-ppo": Page(
        "fairgym.algorithms: PPO and fair variants",
        "Policy gradients of one agent or several.",
        {
            "Learners": _in("algorithms", "ppo f_ppo a_ppo ppo_lagrangian cpo elbert_po"),
            "Shared": ["algorithms._gradient.GradientLearner", "algorithms._terms.Terms"],
        },
    ),
    "algorithms-q": Page(
        "fairgym.algorithms: Q-learning with memories",
        "Learners of one agent with options to choose from.",
        {
            "Learners": _in("algorithms", "fair_qcm tabular_fair_qcm dqn drqn tabular_q"),
            "Shared": ["algorithms._q.QLearner"],
        },
    ),
    "training": Page(
        "fairgym.training and fairgym.config",
        "Train, save, load, evaluate and simulate.",
        {
            "Train": [
                *["training.train", "sweeps.train_seeds", "config.RunConfig"],
                "training.TensorBoard",
            ],
            "Load and measure": [
                *_in("training", "load load_runs Run evaluate Evaluation configure"),
            ],
            "What if": [
                *_in("training", "simulate Scenario During Simulation"),
                *_in("training.reforms", "declared_by world_of Reform World Factor"),
                *_in("training.sensitivity", "sensitivity Sensitivity"),
                *_in("training.decomposition", "decompose Decomposition"),
                *_in("training.gains", "gains Cell"),
                *_in("training.grids", "grid Grid"),
            ],
            "Configurations": _in("config", "read_config_file with_params Job"),
        },
    ),
    "statistics": Page(
        "fairgym.statistics",
        "Confidence intervals, paired differences, permutation tests and gaps between groups.",
        more="statistics",
    ),
    "audit": Page(
        "fairgym.audit",
        "Rates and gaps between groups in a table of logged decisions (`fairgym audit`).",
        {
            "Audit": _in("audit", "audit Audit Roles Part Column"),
            "Decisions": _in("audit", "read_decisions Decisions Codes Source"),
            "Logs of the simulator": [
                *_in("training", "log_decisions DecisionLog"),
                "audit.logs.write_log",
            ],
            "Intervals": [
                *_in("statistics.proportions", "Shares rate_interval wilson_interval"),
                *_in("statistics.proportions", "difference_interval"),
                *_in("statistics.proportions", "ratio_interval odds_ratio_interval equality_test"),
                *_in("statistics.pairs", "pair_gaps holm"),
                *_in("statistics.clusters", "effective_shares correlations few_units"),
            ],
        },
    ),
    "sweeps": Page(
        "fairgym.sweeps",
        "Many runs from one file, and what they show.",
        {
            "Run a sweep": [
                *_in("config", "read_sweep Sweep sweep_of"),
                *_in("sweeps", "run_sweep entries_of Entry"),
            ],
            "Results": [
                *_in("sweeps", "results_of by_setting pareto Front Point effects Effects Share")
            ],
            "Engines": _in("sweeps", "Engine Local Processes Vmap Ray engine_of"),
        },
        more="sweeps",
    ),
    "report": Page(
        "fairgym.report",
        "Figures, and the one-file HTML report.",
        {
            "Report": _in("report", "write_report measure Measured numbers_of"),
            "Pages of a what-if": [
                *_in("report.what_if_measured", "measure_what_if WhatIf"),
                "report.what_if.what_if_page",
            ],
        },
        more="report",
    ),
    "data": Page(
        "fairgym.data",
        "Populations, imports and fitted scores.",
        {
            "Populations": _in("data", "load_population population_names sources Population"),
            "Imports": _in("data", "import_lending_club import_meps import_higher_ed"),
        },
        more="data",
    ),
    "adapters": Page(
        "fairgym.adapters",
        "Environments for learners of other libraries: [how to use them](../adapters.md).",
        {"Libraries": _in("adapters", "gymnasium pettingzoo jaxmarl gymnax")},
    ),
    "testing": Page(
        "fairgym.testing",
        "Check that a custom environment or algorithm keeps its contract.",
        more="testing",
    ),
    "experiments": Page(
        "fairgym.experiments",
        "Published figures and tables as commands; each reports its claim as checks.",
        {
            "Reproduce": _in("experiments", "reproduce experiments Experiment Check Outcome"),
            "Experiments": _in("experiments", "fairqcm fppo notstatic gaps audit_coverage"),
        },
        more="experiments",
    ),
    "experiments-mafe": Page(
        "fairgym.experiments.mafe",
        "The figures and the timing table of MAFE, and studies beyond it.",
        {"Experiments": ["experiments.mafe"]},
    ),
    "benchmark": Page(
        "fairgym.benchmark",
        "Compare learners on frozen tasks ([benchmark](../benchmark.md)); the speed of environments"
        " is in `fairgym.bench`.",
        {
            "Tasks and learners": _in(
                "benchmark", "Task task_of read_task task_names Learner learner_of learner_names"
            ),
            "Run": _in("benchmark", "Benchmark Stage run_benchmark Tier TIERS"),
            "Statistics": _in(
                "statistics.learners", "improvement_probability performance_profile front_of Front"
            ),
        },
        more="benchmark",
    ),
    "bench": Page("fairgym.bench", "Measure the speed of environments.", more="bench"),
    "environments-loan": _system("a bank with three agents", "loan"),
    "environments-loan_simple": _system("a bank in one step", "loan_simple"),
    "environments-health": _system("insurer, hospitals and planner", "health"),
    "environments-education": _system("university, employer and planner", "education"),
    "environments-doughnut": _system("one doughnut in each step", "doughnut"),
    "environments-lending_pool": _system("one loan in each step", "lending_pool"),
    "environments-bank_loans": _system("approve or deny", "bank_loans", rules=True),
    "environments-college_admissions": _system(
        "a jury and strategic applicants", "college_admissions", rules=True
    ),
    "environments-epidemic": _system("one vaccine in each step", "epidemic", rules=True),
    "environments-attention": _system("units of attention over sites", "attention", rules=True),
}

# First lines of what is assigned, which has no docstring.
ABOUT = {
    "core.AnyPolicy": "A `Policy` or a `RecurrentPolicy`.",
    "utils.register_environment": "Decorator that makes an environment class known by a name.",
    "utils.rules": "Registry of hand-written rules for agents.",
    "fairness.metric_classes": "Registry of metric classes, for custom metrics in files.",
    "algorithms.algorithms": "Registry of algorithms.",
    "algorithms.Objectives": "One objective, or one for each agent.",
    "experiments.experiments": "Registry of experiments.",
    "experiments.Kind": 'Kind of a check: "predicted", "calibrated" or "by construction".',
    "experiments.Runs": "Finished runs of an experiment.",
    "benchmark.TIERS": "Sizes of the benchmark by name.",
    "bench.CANDIDATES": "Smallest number of policy sets in a measurement.",
    "bench.Opponent": "A function that prepares another implementation for a workload.",
    "testing.PROPERTIES": "Names of the properties that `check_environment` checks.",
}

# What the index shows before the list of pages.
MOST_USED = {
    "Environments": [
        "make",
        "core.rollout.rollout",
        "Environment",
        "PopulationEnvironment",
        "Episode",
    ],
    "Training": ["train", "train_seeds", "RunConfig", "load", "load_runs", "evaluate"],
    "Fairness": _in("fairness", "Objective Disparity Rate Scheme"),
    "Set-up": ["configure", "utils.register_environment", "FairgymError"],
}


def load() -> griffe.Object:
    """Read the package without importing it."""
    loaded = griffe.load("fairgym", search_paths=[str(ROOT / "src")])
    assert isinstance(loaded, griffe.Object)
    return loaded


def exports(package: griffe.Object, name: str) -> list[str]:
    """Return the dotted names that a package exports, sorted, capitals first."""
    return [f"{name}.{each}" for each in sorted(map(str, package[name].exports or []))]


def sections_of(package: griffe.Object, page: Page) -> dict[str, list[str]]:
    """Return the sections of a page, with other exports of its package in the last."""
    if not page.more:
        return page.sections
    named = {
        name for other in PAGES.values() for names in other.sections.values() for name in names
    }
    rest = [name for name in exports(package, page.more) if name not in named]
    modules = [name for name in rest if package[name].is_module]
    title = "More" if page.sections else "Names"
    return {**page.sections, title: [name for name in rest if name not in modules]}


def table(package: griffe.Object, title: str, names: list[str]) -> str:
    """Return a table of names with their first lines, each linked."""
    rows = [f"| {title} | |", "| --- | --- |"]
    for name in names:
        docstring, label = package[name].docstring, name.rpartition(".")[2]
        line = docstring.value.strip().splitlines()[0] if docstring else ABOUT.get(name, "")
        line = line.replace("|", r"\|")
        rows.append(f"| [`{label}`][{package[name].canonical_path}] | {line} |")
    return "\n".join(rows)


def entry(package: griffe.Object, name: str) -> str:
    """Return the directive that shows one object, or a module with its members."""
    options = {"show_root_heading": "true", "heading_level": "3", "show_root_toc_entry": "true"}
    if package[name].is_module:
        options["show_submodules"] = "true"
        options["filters"] = '["!^_", "!^environment$", "!^params$", "!^rules$"]'
    lines = [f"      {option}: {value}" for option, value in options.items()]
    return "\n".join([f"::: fairgym.{name}", "    options:", *lines])


def markdown(package: griffe.Object, page: Page) -> str:
    """Return one page in Markdown."""
    sections = sections_of(package, page)
    parts = [f"# {page.title}", page.about]
    parts += [table(package, title, names) for title, names in sections.items()]
    for title, names in sections.items():
        parts += [f"## {title}", *(entry(package, name) for name in names)]
    return "\n\n".join(parts) + "\n"


def index(package: griffe.Object) -> str:
    """Return the first page: the names that are used most, and a list of the pages."""
    parts = ["# API", "The names that are used most, and then every page of the reference."]
    parts += [table(package, title, names) for title, names in MOST_USED.items()]
    rows = ["| Page | |", "| --- | --- |"]
    rows += [f"| [{page.title}]({name}.md) | {page.about} |" for name, page in PAGES.items()]
    return "\n\n".join([*parts, "## Pages", "\n".join(rows)]) + "\n"


def main(out: str) -> None:
    """Write the pages into a folder."""
    package = load()
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.md").write_text(index(package), encoding="utf-8")
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(markdown(package, page), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
