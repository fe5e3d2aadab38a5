"""The table of `fairgym bench`, its arithmetic and its opponents."""

import json
import os
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from room import Room, RoomState

import fairgym
from fairgym import FairgymError, bench
from fairgym.bench import command, measuring
from fairgym.cli import main
from fairgym.policies import Constant
from fairgym.utils.registry import environments
from fairgym.wrappers import NeverEnds, StartsFrom

KEYS = [
    "environment",
    "population",
    "batch",
    "policies",
    "us_per_step",
    "steps_per_s",
    "person_steps_per_s",
    "compile_s",
    "opponent_us_per_step",
    "ratio",
]


@pytest.fixture
def quick(monkeypatch):
    """Measure as few steps as possible."""
    monkeypatch.setattr(measuring, "WARM_UP", 2)
    monkeypatch.setattr(measuring, "PERSON_STEPS", 1)


@pytest.fixture
def room(monkeypatch):
    """An environment without people, registered by name."""
    monkeypatch.setitem(environments._things, "room", Room)


@pytest.mark.full
def test_json_has_a_record_with_these_keys_for_each_measurement(quick, room, capsys):
    """There is a line with and without policies for every batch size; no opponent, no ratio."""
    assert main("bench room --batches 1,4 --repetitions 1 --json".split()) == 0
    out, err = capsys.readouterr()
    assert err.startswith("environment"), "progress"
    printed = json.loads(out)["results"]
    assert [list(line) for line in printed] == [KEYS] * 4
    assert [(line["batch"], line["policies"]) for line in printed] == [
        (1, False),
        (4, False),
        (1, True),
        (4, True),
    ]
    for line in printed:
        assert line["environment"] == "room" and line["us_per_step"] > 0
        assert line["steps_per_s"] == pytest.approx(1e6 / line["us_per_step"])
        assert line["compile_s"] > 0.01  # really compiled, although tests keep compiled programs
        assert line["opponent_us_per_step"] is None and line["ratio"] is None


def test_an_opponent_is_a_function_in_a_file(tmp_path):
    with pytest.raises(
        FairgymError, match=r"against must be numba, numpy or a Python file.*none\.py'"
    ):
        bench.load_opponent(tmp_path / "none.py")
    empty = tmp_path / "empty.py"
    empty.write_text("rival = 1\n")
    with pytest.raises(FairgymError, match=r"empty\.py'; the file has no function `opponent`"):
        bench.load_opponent(empty)


def test_built_in_opponents_are_in_a_clone(monkeypatch, tmp_path):
    """Numba is no requirement of fairgym: the error says how to install it."""
    monkeypatch.setitem(sys.modules, "numba_loan", None)  # as without Numba
    with pytest.raises(
        FairgymError, match=r"'numba'.*Numba is not installed; run `pip install -r .*numba\.txt"
    ):
        bench.load_opponent("numba")
    monkeypatch.setattr(command, "__file__", str(tmp_path / "lib" / "fairgym" / "bench" / "x.py"))
    for name in ("numba", "numpy"):
        with pytest.raises(FairgymError, match=f"against is '{name}', which is in the folder"):
            bench.load_opponent(name)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="this system cannot do it")
def test_the_command_runs_both_on_one_core(monkeypatch, tmp_path):
    before, during = os.sched_getaffinity(0), []
    monkeypatch.setattr(bench, "main_bench", lambda *_, **__: during.append(_cores()) or [])
    (tmp_path / "other.py").write_text("def opponent(workload): return None\n")
    assert main(["bench", "loan", "--against", str(tmp_path / "other.py")]) == 0
    assert main(["bench", "loan"]) == 0
    assert [len(cores) for cores in during] == [1, len(before)]
    assert _cores() == before


def _cores():
    """Return the cores that any thread may use."""
    threads = [int(task.name) for task in Path("/proc/self/task").iterdir()]
    return set().union(*(os.sched_getaffinity(thread) for thread in threads))


def test_an_opponent_is_given_what_we_run(quick):
    """An opponent gets the same environment, warm-up, actions and policies."""
    rewrite, given = bench.load_opponent("numpy"), []

    def opponent(workload):
        given.append(workload)
        return rewrite(workload)

    found = bench.main_bench(
        ["loan"], populations=(60,), batches=(1,), repetitions=1, opponent=opponent
    )
    assert [workload.networks for workload in given] == [False, True]
    for workload, line in zip(given, found, strict=True):
        assert line.environment == "loan" and line.population == 60
        assert line.person_steps_per_s == pytest.approx(60 * line.steps_per_s)
        assert line.ratio and line.opponent_us_per_step and line.compile_s > 0.05
        assert line.ratio == pytest.approx(line.us_per_step / line.opponent_us_per_step)
        assert workload.env.population == 60 and workload.warm_up == 2
        assert set(workload.actions) == set(workload.env.agents)
    first, other = (given[1].policies(place)["disbursement"] for place in (0, 7))
    assert not np.array_equal(first.first, other.first)


def test_a_system_without_people_has_one_line(quick, room, capsys):
    """Whatever populations are asked for; without people there are no person-steps.

    The opponent does not know it: there is no ratio.
    """
    opponent = bench.load_opponent("numpy")
    found = bench.main_bench(
        ["room"], populations=(60, 70), batches=(1,), repetitions=1, opponent=opponent
    )
    assert [(line.population, line.person_steps_per_s) for line in found] == [(None, None)] * 2
    assert [(line.opponent_us_per_step, line.ratio) for line in found] == [(None, None)] * 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["environment", "people", "batch"]
    assert lines[1].split()[:3] == ["room", "-", "1"]
    assert [line.split()[-2:] for line in lines[1:3]] == [["-", "-"]] * 2
    assert "device(s); ratio: time per step divided by the opponent's" in lines[3]
    assert bench.main_bench([]) == []
    assert capsys.readouterr().out.endswith("device(s)\n"), "no word on an opponent without one"


def test_time_is_divided_by_all_steps_of_all_episodes(monkeypatch):
    """With known times, the table has the median, and the ratio within each round."""
    monkeypatch.setattr(measuring, "WARM_UP", 1)
    monkeypatch.setattr(measuring, "PERSON_STEPS", 60 * 2_000)
    # the first report of each is thrown away
    ours = {1: iter([9.0, 2.0, 4.0, 2.0]), 100: iter([9.0, 4.0, 2.0, 2.0])}
    theirs = iter([9.0, 4e-3, 4e-3, 2e-3])
    asked = {}

    def compiled(workload, state, batch, steps):
        asked[batch] = steps
        return lambda: next(ours[batch]), 0.5

    monkeypatch.setattr(measuring, "_compile", compiled)
    lines = bench.measure(
        "loan", 60, (1, 100), repetitions=3, opponent=lambda workload: lambda: next(theirs)
    )
    one, many = next(lines), next(lines)
    assert asked == {1: 2_000, 100: 20}
    assert one.us_per_step == pytest.approx(1e6 * 2.0 / 2_000)
    assert many.us_per_step == pytest.approx(1e6 * 2.0 / (20 * 100))
    # per round 1 / 4, 2 / 4, 1 / 2 and 2 / 4, 1 / 4, 1 / 2
    assert one.ratio == many.ratio == pytest.approx(0.5)
    assert one.opponent_us_per_step == many.opponent_us_per_step == pytest.approx(4e3)


def test_measured_episodes_go_on_past_a_failure():
    """Episodes make a known number of steps and start from the given state."""
    env = Room(horizon=20)
    hot = {"heater": Constant(env.action_space("heater"), 1.0)}
    state = RoomState(time=jnp.int32(7), warmth=jnp.float32(30.0))
    on = NeverEnds(StartsFrom(env, state))

    def run(env):
        return jax.jit(lambda key: fairgym.rollout(env, env.default_params, hot, key))(
            jax.random.key(0)
        )

    same = run(env)
    assert bool(same.terminated) and int(same.length) < 20
    episode = run(on)
    assert int(episode.length) == 20
    assert int(episode.final_state.time) == 27
    first = jax.jit(env.initial_state)(jax.random.key(1), env.default_params)
    assert first.time == 0 and first.warmth < 30.0  # the original is as it was


@pytest.mark.parametrize(
    ("environments", "options", "word"),
    [
        (["lone"], {}, "lone"),
        (["loan"], {"populations": (1_000, 1)}, "population"),
        (["loan"], {"batches": (0,)}, "batch"),
        (["loan"], {"repetitions": 0}, "repetitions"),
    ],
)
def test_bad_input_is_refused_before_anything_is_measured(environments, options, word, monkeypatch):
    monkeypatch.setattr(command, "measure", None)
    with pytest.raises(FairgymError, match=word):
        bench.main_bench(environments, **options)
