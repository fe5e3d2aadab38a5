"""What-ifs from a run: its learned policies are the baseline, and some of them are replaced."""

import json
import shlex

import jax
import numpy as np
import pytest

from fairgym.cli import main
from fairgym.cli.simulate import plan_of
from fairgym.core import FairgymError
from fairgym.results.changes import changes
from fairgym.training import Scenario, devices, simulate
from fairgym.training.scenario_file import one_run, read_scenarios
from fairgym.training.scenarios import baseline_scenarios, build_all
from fairgym.training.stepwise import Switching


@pytest.fixture(autouse=True)
def as_it_is(monkeypatch):
    """JAX as the tests have set it up."""
    monkeypatch.setattr(devices, "configure", lambda: None)


@pytest.fixture(scope="module")
def found(finished):
    """The run, with a decision replaced and with another parameter."""
    scenarios = [
        Scenario("learned"),
        Scenario("half", {"router": 0.5}),
        Scenario("busy", params={"arrivals": "+50%"}),
    ]
    return simulate(finished, scenarios, episodes=4, seed=3)


def test_the_learned_policies_are_the_baseline(found, finished):
    assert found.environment == "two_servers" and found.base.baseline == "learned"
    measured = finished.evaluate(4, 3)
    for name, values in found.evaluations["learned"].metrics.items():
        np.testing.assert_allclose(values, measured.metrics[name], rtol=1e-6)
    half, busy = found.others
    assert half.specification == {"router": 0.5} and busy.policies is not found.base.policies
    assert float(busy.params.arrivals) == 1.5 * float(finished.params.arrivals)
    for ours, theirs in zip(
        jax.tree.leaves(busy.policies), jax.tree.leaves(finished.policies), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_what_is_replaced_is_told(found):
    assert [tuple(one) for one in changes(found, found.others[0])] == [
        ("fixed", "router", "", "learned", "0.5", "")
    ]


def test_a_learned_policy_can_be_replaced_for_a_while(finished):
    (built,) = build_all(finished, [Scenario("later", {"router": "0.5 from 2 until 4"})])
    policy = built.policies["router"]
    assert isinstance(policy, Switching) and np.asarray(policy.which).tolist().count(0) in (2, 4)
    assert built.specification["router"] == "router 0.5 from minute 2 until minute 4"


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (Scenario("a", {"router.left": "+10%"}), "policy of 'router' is 'learned', which has no"),
        (Scenario("a", {"router": "0.5 over 2"}), "router must have numbers before and after"),
        (Scenario("a", environment_args={"horizon": 3}), "horizon must be that of .*learned with"),
        (Scenario("a", baseline="nope"), "unknown baseline 'nope'"),
    ],
)
def test_what_a_run_does_not_allow_is_refused_in_a_sentence(finished, scenario, message):
    with pytest.raises(FairgymError, match=message) as caught:
        scenario.build(finished)
    assert "\n" not in str(caught.value)


def test_without_changes_a_run_is_compared_with_the_baselines(finished):
    scenarios = baseline_scenarios(finished)
    assert [one.name for one in scenarios] == ["learned", "only left", "random"]
    built = build_all(finished, scenarios)
    assert [one.baseline for one in built] == ["learned", "only_left", "random"]


def test_a_run_folder_is_the_first_word_or_stands_in_a_file(finished, tmp_path, capsys):
    words = f"simulate '{finished.folder}' --fix router=0.5 --episodes 4 --json"
    assert main(shlex.split(words)) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["settings"]["run"] == str(finished.folder)
    assert [one["baseline"] for one in document["policies"]] == ["learned"] * 2
    file = tmp_path / "s.yaml"
    file.write_text(f"run: {finished.folder}\nscenarios: {{half: {{fixed: {{router: 0.5}}}}}}\n")
    plan = read_scenarios(file)
    assert [one.name for one in plan.scenarios] == ["learned", "half"]
    assert plan_of(["--scenarios", str(file)])[0].scenarios == plan.scenarios


def test_a_folder_of_several_runs_is_refused(finished, tmp_path, capsys):
    import shutil

    for seed in (0, 1):
        shutil.copytree(finished.folder, tmp_path / f"seed-{seed}")
    with pytest.raises(FairgymError, match=r"run must be one run, got the 2 in .*such as .*seed-0"):
        one_run(tmp_path)
    assert main(["simulate", str(tmp_path / "seed-0"), "--horizon", "3"]) == 2
    assert "horizon must be that of" in capsys.readouterr().err
