"""Tables, claims and page of the benchmark from stored results, by plain NumPy and scipy."""

import json
import re
import sys
import time
from pathlib import Path

import numpy as np
import paced
import pytest
from scipy import stats

from fairgym.benchmark import TIERS, Learner, learner_of, read_task, task_of
from fairgym.benchmark.claims import claims_of
from fairgym.benchmark.figures import _looks
from fairgym.benchmark.learner import learner_names
from fairgym.benchmark.measuring import measured
from fairgym.benchmark.page import write_page
from fairgym.benchmark.scores import Results
from fairgym.benchmark.store import FIXED, RANDOM, write_results
from fairgym.benchmark.tables import records_of, tables_of
from fairgym.cli import main
from fairgym.fairness import Objective
from fairgym.policies import fixed_policies

SEEDS = 5


@pytest.fixture
def task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("two-servers-v0.toml").write_text(paced.TASK)
    Path("ppo.toml").write_text(paced.LEARNER.replace("Walker", "PPO"))
    Path("walker.toml").write_text(paced.LEARNER)
    return read_task("two-servers-v0.toml")


def numbers(seed):
    """Reward from -1 to 0 and unfairness from 0 to 1: (levels, seeds)."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.9, -0.1, (2, SEEDS)), rng.uniform(0.1, 0.9, (2, SEEDS))


def stored(task):
    """Two learners with two levels, two rules, and the random policy."""
    rows = []
    for place, name in enumerate(("ppo", "walker")):
        reward, unfair = numbers(place)
        for level, text in enumerate(("0.2", "0.8")):
            for seed in range(SEEDS):
                one = reward[level, seed], unfair[level, seed]
                rates = json.dumps([0.5 + 0.01 * seed, 0.4, None])
                more = {"rates": rates, "p": 0.01 * (seed + 3), "disparity": one[1]}
                rows.append(paced.row(task, name, "frontier", text, seed, *one, **more))
    for seed in range(SEEDS):
        rules = [(RANDOM, "random", 0.9, 0.0), (FIXED, "good", 0.5, 0.0), (FIXED, "poor", 0.8, 0.5)]
        for name, rule, x, ended in rules:
            more = {"steps": 0.0, "terminated": ended}
            rows.append(paced.row(task, name, "rules", rule, seed, -x, x, **more))
    return rows


@pytest.fixture
def results(task):
    learners = [learner_of("ppo.toml"), learner_of("walker.toml")]
    return Results.of(stored(task), [task], learners)


def areas(seed):
    """Union of two rectangles per seed, in the box with corners (-1, 1) and (0, 0)."""
    reward, unfair = numbers(seed)
    x, y = 1.0 + reward, 1.0 - unfair
    return x[0] * y[0] + x[1] * y[1] - np.minimum(*x) * np.minimum(*y)


def test_the_score_is_the_normalised_area_of_a_seeds_front(results, task):
    """The random policy has the area .01, the best rule .25."""
    assert results.best_rule(task).level == "good"
    for place, name in enumerate(("ppo", "walker")):
        np.testing.assert_allclose(results.scores(task, name), (areas(place) - 0.01) / 0.24)
    np.testing.assert_allclose(results.scores(task, RANDOM), 0.0, atol=1e-12)


def test_numbers_over_tasks_are_those_of_scipy(results, task):
    found = {
        (one["task"], one["algorithm"], one["level"], one["measure"]): one
        for one in records_of(results)
    }
    assert all(one["n"] >= 1 for one in found.values())
    score = found["decisions", "walker", "", "score"]
    expected = (areas(1) - 0.01) / 0.24
    assert score["value"] == pytest.approx(stats.trim_mean(expected, 0.25)) and score["n"] == SEEDS
    above = found["decisions", "walker", "", "above_best_rule"]
    assert above["value"] == pytest.approx(np.mean(expected > 1.0))
    better = found["decisions", "walker", "", "improvement_over_ppo"]
    # runs at the middle level, since a front is the best of several runs
    single = [(1.0 + numbers(place)[0][1]) * (1.0 - numbers(place)[1][1]) for place in (0, 1)]
    u = stats.mannwhitneyu(single[1], single[0]).statistic
    alone = found["decisions", "walker", "", "score_of_one_run"]
    assert alone["value"] == pytest.approx(stats.trim_mean((single[1] - 0.01) / 0.24, 0.25))
    assert better["value"] == pytest.approx(u / SEEDS**2) and better["n"] == 1
    reward = found["two-servers-v0", "walker", "0.8", "reward"]
    assert reward["value"] == pytest.approx(stats.trim_mean(numbers(1)[0][1], 0.25))
    assert reward["low"] < reward["value"] < reward["high"]
    gap = found["two-servers-v0", "walker", "0.8", "widest_gap"]
    each = 0.1 + 0.01 * np.arange(SEEDS)  # of the first two groups; the third is undefined
    assert gap["value"] == pytest.approx(each.mean()) and gap["low"] > 0.0
    worst = found["two-servers-v0", "walker", "0.8", "worst_group"]
    assert worst["value"] == pytest.approx(0.4)
    ended = found["two-servers-v0", FIXED, "poor", "terminated"]
    assert ended["value"] == 0.5 and ended["n"] == SEEDS


def test_rows_of_other_definitions_and_settings_do_not_count(task, results):
    learners, rows = [learner_of("walker.toml")], stored(task)
    other = [{**row, "fingerprint": "0123456789"} for row in rows]
    mine = [row for row in rows if row["algorithm"] != "ppo"]
    assert Results.of(other, [task], learners).cells == {}
    assert Results.of(other, [task], learners).others == len(mine)
    others = [{**row, "learner_fingerprint": "0123456789"} for row in rows]
    found = Results.of(others, [task], learners)
    assert ("two-servers-v0", "walker") not in found.cells and found.others == 2 * SEEDS
    tried = [
        paced.row(task, "walker", "tuning", "0.8", 1000, x, 0.5, setting=name, settings="{}")
        for name, x in (("published", -0.9), ("random-1", -0.1))
    ]
    found = Results.of(rows + tried, [task], learners)
    assert ("two-servers-v0", "walker") not in found.cells and found.others == 2 * SEEDS


def test_runs_that_end_or_diverge_count_as_the_reference(task):
    """Of episodes that end early, none is in the means; of a run without numbers, nothing is."""
    rows = [
        paced.row(task, "walker", "frontier", "0.2", seed, *one)
        for seed, one in enumerate([(-0.5, 0.5), (-0.5, 0.5), ("", "")])
    ]
    rows[1]["terminated"], rows[2]["terminated"] = "0.5", "1.0"
    rows.append(paced.row(task, "walker", "frontier", "0.2", 3, "", ""))
    found = Results.of(rows, [task], [learner_of("walker.toml")])
    (point,) = found.cells[task.name, "walker"].points
    expected = [[0.5, 0.5], [0.25, 0.25], [0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(point.measures, expected)
    assert point.terminated == (8 + 16, 4 * 16)


def test_of_a_learner_known_by_its_rows_the_newest_definition_counts(task):
    """Levels are those of the rows; the middle one is that of single runs."""
    rows = [
        paced.row(
            *(task, "stranger", "frontier", level, seed, reward, 0.5),
            learner_fingerprint=definition,
            finished=finished,
        )
        for definition, finished, reward in (
            ("old", "2026-01-01", -0.9),
            ("new", "2026-02-01", -0.5),
        )
        for level in ("0.3", "0.6", "0.9")
        for seed in range(3)
    ]
    stranger = Learner("stranger", "stranger", "", (0.3, 0.6, 0.9))
    found = Results.of(rows, [task], [stranger])
    cell = found.cells[task.name, "stranger"]
    assert [len(point.rows) for point in cell.points] == [3, 3, 3] and found.others == 9
    assert cell.middle is not None and cell.middle.level == "0.6"
    np.testing.assert_allclose(cell.middle.measures, 0.5)


def test_two_runs_have_no_interval(task):
    rows = [row for row in stored(task) if int(row["seed"]) < 2]
    results = Results.of(rows, [task], [learner_of("ppo.toml"), learner_of("walker.toml")])
    found = records_of(results)
    assert {one["n"] for one in found if one["measure"] == "reward"} == {2}
    others = ("above_best_rule", "widest_gap", "seconds", "steps")  # not bootstrap, or more runs
    limits = [one["low"] for one in found if one["measure"] not in others]
    assert len(limits) > 20 and np.isnan(limits).all()


def test_in_claims_an_ended_episode_counts_as_the_reference():
    """In the task the reference is (0, .4)."""
    task = task_of("loan-300-v0")
    rows = [
        paced.row(task, name, "frontier", "0.5", seed, 0.3 + 0.01 * seed, 0.1)
        for name in ("f-macem", "f-mappo")
        for seed in range(SEEDS)
    ]
    for row in rows[SEEDS:]:
        row["terminated"] = "0.5"
    ((*_, check),) = claims_of(
        Results.of(rows, [task], [learner_of("f-macem"), learner_of("f-mappo")])
    )
    expected = np.mean([0.3 + 0.01 * seed for seed in range(SEEDS)]) / 2 + (0.4 - 0.1) / 2
    assert check.estimate == pytest.approx(expected)


def claimed(name, rows, learners):
    """Claims about these learners in a task, by the first words of each."""
    results = Results.of(rows, [task_of(name)], [learner_of(one) for one in learners])
    return {one.claim.split(" (")[0]: one for one in claims_of(results)}


def test_claims_compare_independent_seeds():
    """Welch's interval by scipy, with other numbers of seeds."""
    task, rng = task_of("loan-300-v0"), np.random.default_rng(0)
    names = ("f-macem", "f-mappo", "elbert-po", "a-ppo")
    values = {name: rng.uniform(0.0, 0.4, (2, SEEDS)) for name in names}
    values["f-macem"] = values["f-macem"][:, :3]
    rows = [
        paced.row(task, name, "frontier", "0.5" if name.startswith("f-") else "1", seed, x, y)
        for name, own in values.items()
        for seed, (x, y) in enumerate(own.T)
    ]
    found = claimed(task.name, rows, names)
    assert all(one.task == task.name for one in found.values())
    macem, mappo, elbert, a_ppo = values.values()
    for claim, a, b, n in (
        (
            "F-MACEM has more reward minus unfairness than F-MAPPO",
            macem[0] - macem[1],
            mappo[0] - mappo[1],
            3,
        ),
        ("ELBERT-PO has less unfairness than A-PPO", a_ppo[1], elbert[1], 5),
        ("ELBERT-PO has no less reward than A-PPO", elbert[0], a_ppo[0], 5),
    ):
        check, test = found[claim].check, stats.ttest_ind(a, b, equal_var=False)
        assert check.estimate == pytest.approx(np.mean(a) - np.mean(b)) and found[claim].n == n
        assert (check.low, check.high) == pytest.approx(tuple(test.confidence_interval()))
    tenth = found["ELBERT-PO has no less reward than A-PPO"].check
    assert tenth.lowest == pytest.approx(-0.05) and "; margin 0.05" in tenth.detail


@pytest.mark.parametrize(("setting", "limit"), [({}, 0.1), ({"cost_limit": 0.07}, 0.07)])
def test_cpo_keeps_its_limit_in_a_task_or_not(setting, limit):
    """The limit is that of the chosen setting; an episode that terminates has unfairness .4."""
    task = task_of("bank-loans-v0")
    unfair = [0.02, 0.03, 0.025, 0.02, 0.01]
    rows = [
        paced.row(task, "cpo", "frontier", "1", seed, 0.1, one, settings=json.dumps(setting))
        for seed, one in enumerate(unfair)
    ]
    (found,) = claimed(task.name, rows, ["cpo"]).values()
    assert found.claim.startswith("CPO keeps its limit") and found.check.outcome == "holds"
    assert found.check.estimate == pytest.approx(limit - np.mean(unfair))
    for row in rows:
        row["terminated"] = "1.0"
    (found,) = claimed(task.name, rows, ["cpo"]).values()
    assert found.check.outcome == "contradicted"
    assert found.check.estimate == pytest.approx(limit - 0.4)


def test_the_table_and_the_page_need_no_training(task, results, monkeypatch, capsys):
    """Every number of the page stands with its interval and the number of runs."""
    for name in ("fairgym.training.loop", "fairgym.sweeps.plan"):
        monkeypatch.setattr(sys.modules[name], "train", lambda *a, **b: pytest.fail("trained"))
    monkeypatch.setattr("fairgym.training.evaluation.measure", lambda *a: pytest.fail("measured"))
    write_results(Path("raw.csv"), stored(task))
    words = ["--task", "two-servers-v0.toml", "--algorithm", "ppo.toml"]
    words += ["--algorithm", "walker.toml", "--results", "raw.csv"]
    began = time.process_time()
    assert main(["benchmark", "table", *words]) == 0
    assert main(["benchmark", "page", *words, "--file", "docs/page.md"]) == 0
    assert time.process_time() - began < 60.0
    out = capsys.readouterr().out
    assert "Walker" in out and "docs/page.md" in out
    text = Path("docs/page.md").read_text()
    assert "$" not in text and "20 runs of 2 pairs" in text
    pictures = re.findall(r"\]\((images/[\w-]+\.png)\)", text)
    assert len(pictures) == 3 and all(Path("docs", one).stat().st_size > 5_000 for one in pictures)
    levels = [line for line in text.splitlines() if re.match(r"\| Walker \| 0\.[28] \|", line)]
    assert len(levels) == 4
    for line in levels[:2]:
        _, _, n, reward, unfair, *_ = line.strip("| ").split(" | ")
        assert n == str(SEEDS) and re.fullmatch(r"\S+ \[\S+, \S+\]", reward), line
        assert re.fullmatch(r"\S+ \[\S+, \S+\]", unfair), line


def test_every_learner_has_a_look_of_its_own():
    names = [*learner_names(), *(f"own {k}" for k in range(6))]
    looks = _looks(names)
    for keys in (("color", "marker"), ("color", "linestyle")):
        seen = {tuple(str(looks[name][key]) for key in keys) for name in names}
        assert len(seen) == len(names), keys


def test_tables_leave_out_what_nothing_fills(results):
    heads = [tuple(table.head) for table in tables_of(results)]
    assert all("null mean" not in head for head in heads)
    assert any("widest systematic gap" in head for head in heads)


def test_measures_are_those_of_the_episodes(task):
    """Reward and unfairness of a policy that serves the left queue alone, by plain rollouts."""
    import jax

    import fairgym

    env, params = task.world
    policies = fixed_policies(env, {"router": 1.0})
    tier = TIERS["quick"]
    found = measured(task, policies, 3, tier)
    keys = jax.random.split(jax.random.fold_in(jax.random.key(2**31 - 1), 3), tier.episodes)
    episodes = [fairgym.rollout(env, params, policies, key) for key in keys]
    reward = Objective.weighted(env, {"waiting": 1.0})
    expected = np.mean([float(reward.score(one.totals)) for one in episodes])
    assert float(found["reward"]) == pytest.approx(expected, rel=1e-5)
    rates = np.array([one.totals.served / one.totals.arrived for one in episodes])
    gaps = np.abs(rates[:, 0] - rates[:, 1])
    assert float(found["unfairness"]) == pytest.approx(gaps.mean(), rel=1e-5)
    assert float(found["disparity"]) == pytest.approx(gaps.mean(), rel=1e-5)
    np.testing.assert_allclose(json.loads(found["rates"]), rates.mean(axis=0), rtol=1e-5)
    assert (found["null"], found["p"], found["terminated"]) == ("", "", "0")


def test_the_page_of_quick_results_tells_what_is_missing(task, results, tmp_path):
    paths = write_page(results, stored(task), TIERS["quick"], tmp_path / "page.md")
    text = paths[0].read_text()
    assert "the quick tier" in text and "No results yet." in text and "None yet." in text
