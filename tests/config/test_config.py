import dataclasses
import json
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from fairgym.cli import train
from fairgym.config import RunConfig, read_config_file
from fairgym.config.settings import Setting, check_kind
from fairgym.core import FairgymError
from fairgym.environments.loan import Loan, LoanParams
from fairgym.fairness import Objective
from fairgym.sweeps.plan import folder_name
from fairgym.training import Run
from fairgym.training.run import _schemes_of
from fairgym.utils import make

FLAT = {"population": 60, "horizon": 20, "epochs": 3, "deposit_rate": 0.02}


def test_flat_nested_and_dotted_keys_say_the_same():
    nested = {
        "environment_args": {"population": 60, "horizon": 20},
        "algorithm_args": {"epochs": 3},
        "params": {"deposit_rate": 0.02},
    }
    dotted = {
        "population-size": 60,
        "environment_args.horizon": 20,
        "algorithm-args.epochs": 3,
        "params.deposit-rate": 0.02,
    }
    configs = [RunConfig.from_mapping({"environment": "loan", **x}) for x in (FLAT, nested, dotted)]
    assert configs[0] == configs[1] == configs[2]
    job = configs[0].build()
    env, params = cast(Loan, job.env), cast(LoanParams, job.params)
    assert env.population == 60 and params.deposit_rate == 0.02
    assert job.algorithm.num_updates == 3


def test_a_memory_is_a_part_of_the_environment_and_of_the_configuration():
    keys = {"environment": "doughnut", "population": 3, "horizon": 4, "algorithm": "tabular-q"}
    config = RunConfig.from_mapping(keys | {"memory": "min"})
    job = config.build()
    assert job.config.memory == "min" and job.config.environment_args["shows_time"] is False
    seen = [feature.name for feature in job.env.observation_space("server").features]
    assert seen == ["present", "remembered_handed_out"]
    same = make("doughnut", memory="min", population=3, horizon=4)
    assert job.env == same and job.env.unwrapped == make("doughnut", population=3, horizon=4)
    again = RunConfig.from_mapping(json.loads(json.dumps(job.config.as_json())))
    assert again == job.config and folder_name(again).startswith("doughnut-tabular-q-published-min")
    without = RunConfig.from_mapping(keys | {"memory": "none"})
    assert without == RunConfig.from_mapping(keys) and "memory" not in without.as_json()
    assert without.build().env == job.env.unwrapped
    assert ("memory", "min", None) in job.config.differences(without)


def test_the_objective_is_the_environments_if_none_is_named():
    assert RunConfig("loan").objective == "uniform"
    config = RunConfig("doughnut", environment_args={"horizon": 4})
    assert config.objective == "published" and config == RunConfig.from_mapping(
        {"environment": "doughnut", "horizon": 4, "objective": "published"}
    )
    assert cast(Objective, config.build().objective).weights == {"welfare": 1.0}


def test_welfare_is_measured_beside_the_schemes_of_the_system():
    keys = {"environment": "doughnut", "objective": {"nash": 1, "welfare": 0.5}}
    job = RunConfig.from_mapping(keys).build()
    own = job.env.unwrapped.spec.schemes
    assert list(job.env.spec.schemes) == [*own, "nash"]
    assert job.config.objective == {"welfare": 0.5, "nash": 1.0}
    assert folder_name(RunConfig("loan", objective="nash:approved")).startswith(
        "loan-f-macem-nash-approved"
    )


def test_runs_side_by_side_are_measured_by_each_others_welfare():
    aims: list[Any] = ["uniform", "max-min", {"profit": 1.0, "nash:approved": 1.0}]
    runs = [Run(Path(f"{i}"), RunConfig("loan", objective=o), 1, {}) for i, o in enumerate(aims)]
    elsewhere = Run(Path("d"), RunConfig("health", objective="gini"), 1, {})
    found = [list(_schemes_of(run, [*runs, elsewhere], ())) for run in (*runs, elsewhere)]
    assert found == [["max-min", "nash:approved"]] * 3 + [["gini"]]
    assert _schemes_of(runs[0], runs[:1], ()) == {}


@pytest.mark.parametrize(
    ("environment", "memory", "error"),
    [
        ("doughnut", "all", "unknown memory 'all'; there are: full, min, reset"),
        ("loan", "full", "memory is 'full', but loan has no memories"),
        ("doughnut", 3, "memory must be a name, got 3"),
    ],
)
def test_unknown_memories(environment, memory, error):
    with pytest.raises(FairgymError, match=error):
        RunConfig.from_mapping({"environment": environment, "memory": memory}).build()


def test_built_configuration_is_complete_and_builds_the_same():
    config = RunConfig.from_mapping(
        {
            "environment": "loan",
            **FLAT,
            "fixed": {"admissions": [0, 0.5]},
            "bounds": {"default_disparity": 0.1},
            "objectives": {"disbursement": "direct"},
        }
    )
    job = config.build()
    assert job.config.environment_args["applicants"] == 1
    assert job.config.params["payment_noise"] == 0.025
    assert job.config.algorithm_args["elite_share"] == 0.2
    assert job.config.objectives == {"disbursement": "direct", "debt_management": "uniform"}
    assert isinstance(job.objective, dict)
    assert set(job.objective) == {"disbursement", "debt_management"}
    assert job.objective["disbursement"].bounds == {"default_disparity": 0.1}
    again = RunConfig.from_mapping(json.loads(json.dumps(job.config.as_json())))
    assert not again.build().config.differences(job.config)
    changed = dataclasses.replace(job.config, seed=1)
    assert changed.differences(job.config) == [("seed", 1, 0)]


@pytest.mark.parametrize(
    ("form", "params"),
    [
        ({"banks": 2}, {"terms_sensitivity": 2.0}),
        ({"selective_labels": True}, {"prior_weight": 3.0}),
        ({"group_by": "race"}, {"group_size": {"Black": 3.0}}),
    ],
)
def test_parameters_are_those_of_the_form_of_the_system(form, params):
    """Flat and nested in a file, as flags, and in the configuration of a finished run."""
    complete = RunConfig("loan", {"population": 60, **form}, params).build().config
    ((name, value),) = params.items()
    given = {"environment": "loan", "population": 60, **form, "params": params}
    for mapping in (given, {**given, "params": {}, name: value}, complete.as_json()):
        assert RunConfig.from_mapping(mapping).build().config == complete
    ((argument, setting),) = form.items()
    number = f"Black={value['Black']}" if isinstance(value, dict) else str(value)
    words = ["--population", "60", f"--{argument.replace('_', '-')}"]
    words += [] if setting is True else [str(setting)]
    words += [f"--params.{name.replace('_', '-')}", number]
    assert train.plan_of(["loan", *words]).config.build().config == complete


def test_fixed_policies_by_the_names_of_elements(tmp_path):
    """Names of elements in files are kept as given."""
    (tmp_path / "a.yaml").write_text(
        "environment: health\npopulation: 60\nfixed: {planner: {South: 0.4}, hospital: random}\n"
    )
    config = RunConfig.from_mapping(read_config_file(tmp_path / "a.yaml"))
    job = config.build()
    assert job.config.fixed == {"planner": {"South": 0.4}, "hospital": "random"}
    planner: Any = job.fixed["planner"]
    expected = [0.25] * 4 + [0.2, 0.2, 0.4, 0.2] * 3
    assert planner.action.tolist() == pytest.approx(expected)
    assert RunConfig(**json.loads(json.dumps(job.config.as_json()))) == job.config
    with pytest.raises(FairgymError, match=r"unknown element 'Suoth' of 'planner'"):
        RunConfig("health", fixed={"planner": {"Suoth": 0.4}}).build()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"environment": "loan", "smoothing": 1e-1, "params": {"fico_change": 50}}'),
        ("a.yaml", "environment: loan\nsmoothing: 1e-1\nparams: {fico_change: 50}\n"),
        ("a.toml", 'environment = "loan"\nsmoothing = 1e-1\n[params]\nfico_change = 50\n'),
    ],
)
def test_every_kind_of_file(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    config = RunConfig.from_mapping(read_config_file(tmp_path / name))
    assert config.algorithm_args == {"smoothing": 0.1}
    assert config.params == {"fico_change": 50.0}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"{", "is not valid JSON"),
        ("a.yaml", b"a: [", "is not valid YAML"),
        ("a.toml", b"a = ", "is not valid TOML"),
        ("a.json", b"[1]", "must hold names with values, got a list"),
        ("a.yaml", b"", "must hold names with values, got nothing"),
        ("a.ini", b"", "must end in .yaml, .yml, .json or .toml, got '.ini'"),
        ("a.json", b"\xff\xfe", "must be a text file: YAML, JSON or TOML"),
    ],
)
def test_unreadable_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FairgymError, match=message):
        read_config_file(tmp_path / name)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epocs": 3}, "unknown key 'epocs'; did you mean 'epochs'"),
        (
            {"params": {"deposit": 1}},
            "unknown key 'params.deposit'; did you mean 'deposit_rate'",
        ),
        (
            {"algorithm_args": {"x": 1}},
            "unknown key 'algorithm_args.x'; algorithm_args takes: .*epochs",
        ),
        ({"epochs": "40"}, "epochs must be a whole number.*got '40'"),
        ({"epochs": 4.5}, "epochs must be a whole number.*got 4.5"),
        ({"epochs": True}, "epochs must be a whole number.*got True"),
        ({"pooled": 1}, "pooled must be true or false, got 1"),
        ({"deposit_rate": "0.1"}, "deposit_rate must be a number.*got '0.1'"),
        ({"epochs": 3, "algorithm_args": {"epochs": 3}}, "epochs is given twice"),
        ({"params": 3}, "params must be names with values, got 3"),
        ({"fixed": ["admissions"]}, "fixed must be names with values, got .*"),
        (
            {"fixed": {"admissions": ["0.5", "0.5"]}},
            "policy of 'admissions' must be 'random', .*, got .'0.5', '0.5'.",
        ),
        ({"fixed": {"admissions": None}}, "policy of 'admissions' must be 'random', .*, got None"),
        ({"objectives": {"admissions": 3}}, "objective of 'admissions' must be a name, .*, got 3"),
        ({"objective": 3}, "objective must be a name, .*, got 3"),
        ({"algorithm": 3}, "algorithm must be a name, got 3"),
        ({"algorithm": "x"}, "unknown algorithm 'x'; there are: .*dqn, "),
        ({"environment": "x"}, "unknown environment 'x'; there are: .*loan"),
        ({"environment": None}, "environment must be a name, got None"),
        ({"seed": -1}, "seed must be a whole number from 0.*got -1"),
        ({"seed": "1"}, "seed must be a whole number.*got '1'"),
    ],
)
def test_bad_keys_and_types(given, message):
    with pytest.raises(FairgymError, match=message):
        RunConfig.from_mapping({"environment": "loan", **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"params": {"deposit": 1}}, "unknown parameter 'deposit'; did you mean 'deposit_rate'"),
        ({"algorithm_args": {"x": 1}}, "unknown key 'algorithm_args.x'"),
        ({"environment_args": {"x": 1}}, "unknown argument 'x' for loan"),
        ({"params": {"deposit_rate": -1}}, "deposit_rate must be a number from 0 to 1.*got -1.0"),
        (
            {"environment_args": {"population": 10, "applicants": 11}},
            "applicants must be a whole number from 1 to 10, got 11",
        ),
        ({"fixed": {"admissions": [0.1, 0.2, 0.3]}}, "'admissions': .* must be one number, or 2"),
        ({"fixed": {"bank": 0}}, "unknown agent 'bank'"),
        ({"fixed": dict.fromkeys(("admissions", "disbursement", "debt_management"), 0)}, "fixed"),
        ({"objectives": {"bank": "direct"}}, "objectives has 'bank', which is not a trained agent"),
        ({"bounds": {"gap": 0.1}}, "unknown metric 'gap'"),
        ({"bounds": {"wait_disparity": -0.1}}, "'wait_disparity' must be 0 or more, got -0.1"),
        ({"objective": "fairest"}, "unknown objective 'fairest'; there are: uniform"),
    ],
)
def test_bad_values(given, message):
    with pytest.raises(FairgymError, match=message):
        RunConfig("loan", **given).build()


def test_flags_are_read_by_their_type():
    def read(kind, text):
        return Setting("", "x", kind, None).parse(text)

    assert read(int | None, "3") == 3 and read(int | None, "none") is None
    assert read(float, "1e-3") == 0.001
    assert read(bool, "true") is True
    assert read(str | None, "none") is None and read(str | None, "a") == "a"
    assert read(Literal["a", "b"], "b") == "b"
    assert read(tuple[int, ...], "1,2") == (1, 2)
    assert check_kind("x", [1, 2], tuple[float, ...]) == (1.0, 2.0)
    for kind, text, words in (
        (int | None, "x", "a whole number or none"),
        (Literal["a", "b"], "c", "a, b"),
        (tuple[int, ...], "1,x", "a list: a whole number each"),
    ):
        with pytest.raises(FairgymError, match=f"x must be {words}.*got '{text}'"):
            read(kind, text)
