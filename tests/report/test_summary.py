"""First lines of a page: failure, what was done, what came out for whom; words and caveats."""

import html
import re
from pathlib import Path

import numpy as np
import pytest
from panels import trace_of
from stand_ins import stand_in

import fairgym
from fairgym.config import RunConfig
from fairgym.fairness import Objective
from fairgym.report import summary, verdicts
from fairgym.report.grouping import group_runs
from fairgym.results import caveats as cards
from fairgym.results.estimates import Result, best
from fairgym.utils.registry import environments


@pytest.fixture(scope="module")
def page(written) -> str:
    """A page of two real seeds, as text with marks."""
    return written.read_text(encoding="utf-8")


def plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_the_first_lines_say_who_decided_and_what_came_out(page):
    top = page.partition("<nav")[0]
    lines = [plain(x) for x in re.findall(r"<li>(.*?)</li>", top)]
    if " failed: in " in lines[0]:  # whatever these tiny trainings came to
        del lines[0]
    assert re.match("(Worse off with|With) the learned policy", lines[0])
    (score,) = [line for line in lines if line.startswith("By the objective")]
    assert re.match("By the objective, the learned policy is (neither|better|worse)", score)
    count = len(fairgym.make("loan", population=60, horizon=20).spec.baselines)
    (told,) = re.findall("<p>Admissions.*?</p>", top)
    assert plain(told).startswith(
        "Admissions, disbursement and debt management decide about 60 people over 20 months, in a"
        " simulation. The algorithm f-macem learned by trial and error how they should decide. It"
        " maximised the objective “uniform”, a weighted sum of profit,"
    )
    assert plain(told).endswith(
        f"The learned policy was then measured beside {count} baselines (fixed policies), in the"
        " same 4 episodes, with the same people and random draws."
    )


def test_at_most_six_findings_and_a_picture_stand_first(page):
    first = page.partition("<figure")[0].partition("<body>")[2]
    assert 2 < first.count("<li>") <= 6 and "<h2" in first and "<table" not in first
    places = [page.index(part) for part in ("<figure", "<p>Admissions", "<nav", 'id="gaps"')]
    assert places == sorted(places) and page.index('id="gaps"') < page.index('id="results"')


def test_every_word_is_explained(page):
    words = plain(page.partition('id="words"')[2].partition("</details>")[0])
    for word in ("policy", "baseline", "episode", "objective", "epoch", "disparity"):
        assert re.search(rf"\bAn? {word} is ", words), word
    assert "a seed is" in words and "95% confidence interval" in words and "excludes 0" in words
    assert "do not overlap" not in page


def test_the_card_is_quoted_in_short_and_whole(page):
    top, _, rest = page.partition("<nav")
    text = cards.caveats(fairgym.make("loan"))
    assert "Do not use it, its scores or policies trained in it to decide about real" in plain(top)
    assert 'href="#caveats"' in top and page.count('id="caveats"') == 1
    end = plain(rest.partition('id="caveats"')[2])
    assert all(paragraph in end for lines in text.values() for paragraph in lines)
    assert "Race is imputed from the FICO score alone" in end
    assert "Not observed but imputed, from sources named in DATA_LICENSES.md" in end


@pytest.mark.parametrize("name", ["loan", "loan_simple", "health", "education"])
def test_every_built_in_environment_has_caveats(name):
    path = Path(fairgym.__file__).parent / "environments" / name / "README.md"
    section = path.read_text(encoding="utf-8").partition("## What it must not be used for\n")[2]
    section = section.partition("\n## ")[0]
    found = cards.caveats(environments.get(name)())
    assert list(found) == ["What it must not be used for", "The people"]
    words = re.findall(r"[a-z]{3,}", re.sub(r"\]\([^)]*\)", "]", section))
    assert re.findall(r"[a-z]{3,}", " ".join(found["What it must not be used for"])) == words
    for text in (*found["The people"], *found["What it must not be used for"]):
        assert not re.search(r"[`*#]|\]\(", text)
    short = cards.in_short_of(found)
    assert short.startswith("Do not use it") and short.endswith("is lawful or fair.")


def test_an_environment_without_a_card_has_none(country, tmp_path, monkeypatch):
    assert cards.caveats(country) == {} and cards.in_short_of({}) == ""
    mine = tmp_path / "README.md"
    monkeypatch.setattr(cards.inspect, "getfile", lambda _: str(tmp_path / "mine.py"))
    mine.write_text("# Mine\n\n## The people\n\nMade up.\n")
    assert cards.caveats(country) == {}
    mine.write_text(
        "# Mine\n## What it must not be used for\n\nIt is a *toy* of [ours](a.md).\n\nNo <b>!\n\n"
        "```python\ncode\n```\n| a | b |\n\n## More\nx\n"
    )
    found = cards.caveats(country)
    assert found == {cards.USES: ["It is a toy of ours.", "No <b>!"]}
    assert cards.in_short_of(found) == "It is a toy of ours."
    mine.write_bytes(b"\xff\xfe\x00")
    assert cards.caveats(country) == {}


# ---------------------------------------------------------------- sentences


def test_the_verdict_follows_the_paired_difference(made_up_result, made_up_evaluation):
    base = [made_up_result("low", False, 0.2), made_up_result("base", False, 0.5)]

    def say(value: float) -> str:
        return verdicts.verdict(made_up_result("learned policy", True, value), base)

    assert say(0.9) == (
        "By the objective, the learned policy is better than the best of 2 baselines, “base”:"
        " 0.90 [0.88, 0.92] against 0.50 [0.48, 0.52], a difference of 0.40 [0.40, 0.40]."
    )
    assert "is worse than the best of 2" in say(0.1) and "of −0.40 [−0.40, −0.40]." in say(0.1)
    assert say(0.5).startswith("By the objective, the learned policy equals the best of 2 bas")
    near = made_up_result("learned policy", True, 0.5, objective=np.array([0.5, 0.5, 0.51, 0.5]))
    assert "is neither clearly better nor clearly worse than" in verdicts.verdict(near, base)
    single, rule = (
        Result(name, learned, (made_up_evaluation(x, objective=np.array([x])),))
        for name, learned, x in (("a", True, 0.9), ("b", False, 0.5))
    )
    assert verdicts.verdict(single, [rule]) == (
        "By the objective, “a” scores 0.90 against 0.50 for the baseline, “b”. One episode gives no"
        " interval."
    )
    assert "there is no baseline" in verdicts.verdict(single, [])


def test_a_baseline_that_failed_is_not_the_best(made_up_result):
    ended = np.array([False, True, False, False])
    rules = [
        made_up_result("broke", False, 0.9, terminated=ended),
        made_up_result("base", False, 0.5),
    ]
    assert best(rules) is rules[1] and best(rules[:1]) is rules[0]
    own = made_up_result("learned policy", True, 0.7)
    assert "better than the only baseline that did not fail, “base”" in verdicts.verdict(own, rules)


def test_failures_come_first_and_say_what_failed_and_when(
    made_up_run, made_up_result, made_up_page
):
    group = group_runs([made_up_run(0, [1.0])])
    ended = np.array([True, False, True, False])
    lengths = np.array([3, 20, 4, 20])
    broke = {"terminated": ended, "lengths": lengths}
    own = made_up_result("learned policy", True, 0.5, **broke)
    rules = [made_up_result("base", False, 0.4), made_up_result("rash", False, 0.1, **broke)]
    lines = summary.in_short(made_up_page(group, [own], [rules]))
    assert lines[0].startswith(
        "The learned policy failed: in 2 of 4 episodes the bank goes bankrupt before the end, on"
        " average after 3.5 of 20 months. Its other numbers cover the time until then"
    )
    (score,) = [line for line in lines if line.startswith("By the objective")]
    assert score == (
        "By the objective, the learned policy scores 0.50 [0.48, 0.52] against 0.40 [0.38, 0.42]"
        " for the only baseline that did not fail, “base”. Not comparable, because the learned"
        " policy failed."
    )
    assert lines[-1] == "Baselines that failed: “rash” in 2 of 4 episodes."
    compared = "The learned policy compared with “base”: "
    assert not any(line.startswith(compared) for line in lines)
    fine = made_up_page(group, [made_up_result("learned policy", True, 0.5)], [rules[:1]])
    fine = summary.in_short(fine)
    assert fine[-1] == "No policy failed: every episode reached its end."
    assert any(line.startswith(compared) for line in fine)


def admitting(env, made_up_evaluation, approved, profit=(0.0, 0.1, 0.2, 0.3)):
    """An evaluation in which these shares of the groups are approved."""
    shape = np.ones((4, 3, 2)) * np.array([1.0, 1.1, 0.9, 1.0])[:, None, None]
    apart = approved[0] - approved[1]
    metrics = dict.fromkeys(env.metrics, np.full(4, 0.5))
    metrics |= {"profit": np.array(profit), "admission_disparity": -np.full(4, abs(apart))}
    return made_up_evaluation(
        0.5,
        metrics=metrics,
        trace=trace_of(env, shape, approved=shape * approved),
        rates={"admission_disparity": np.array(approved) + 0.01 * np.arange(4)[:, None]},
    )


def test_what_is_better_for_whom(env, made_up_evaluation, made_up_page, made_up_run):
    def result(name: str, learned: bool, approved: tuple[float, float], profit: float) -> Result:
        gains = profit + np.array([0.0, 0.1, 0.2, 0.3])
        return Result(name, learned, (admitting(env, made_up_evaluation, approved, gains),))

    own, base = (
        result("learned policy", True, (0.75, 0.5), 3.0),
        result("base", False, (0.5, 0.38), 4.0),
    )
    page = made_up_page(group_runs([made_up_run(0, [1.0])]), [own], [[base]])
    first, groups = summary.in_short(page), summary.by_group(page)
    assert first[0] == (
        "Worse off with the learned policy, on average: the disadvantaged in admission rate by"
        " 25.0 points [25.0, 25.0]."
    )
    assert first[1].startswith("The learned policy compared with “base”: worse in profit")
    assert "worse in profit (3,150 dollars instead of 4,150)" in first[1]
    assert "no clear difference in" in first[1]
    assert [line.partition(":")[0] for line in groups] == [
        "For the advantaged, the learned policy compared with “base”",
        "For the disadvantaged, the learned policy compared with “base”",
        "Worse off with the baseline “base”, on average",
    ]
    assert "better in admission rate (75.0% instead of 50.0)" in groups[0]
    assert "better in admission rate (50.0% instead of 38.0)" in groups[1]
    assert groups[2].endswith(": the disadvantaged in admission rate by 12.0 points [12.0, 12.0].")
    several = verdicts.for_groups(own, own, env, True)
    assert several[0].startswith("For the advantaged, “learned policy” compared with")


def test_no_wait_is_better_where_another_share_is_served(env, made_up_evaluation):
    """Waits of those who are served do not compare where a policy serves only the quick ones."""

    def result(served: float, months: float) -> Result:
        shape = np.ones((4, 3, 2)) * np.array([1.0, 1.1, 0.9, 1.0])[:, None, None]
        finished = env.spec.finished_only
        trace = trace_of(env, shape)
        for name, metric in env.metrics.items():
            if name in finished:
                setattr(trace, metric.rate.numerator, shape * months)
        for name in finished.values():
            setattr(trace, env.metrics[name].rate.numerator, shape * served)
        return Result("a", True, (made_up_evaluation(0.5, trace=trace),))

    assert env.spec.finished_only, "of the loan's waits it is known who is served"
    quick, slow = result(0.2, 3.0), result(0.9, 8.0)
    for line in verdicts.for_groups(quick, slow, env, False):
        same = line.partition("because the numbers of people served differ:")[2]
        assert " wait of those paid out (3.00 months instead of 8.00)" in same
        assert line.index("ever paid out") < line.index(" wait of those")
    for line in verdicts.for_groups(result(0.9, 3.0), slow, env, False):
        assert "better in wait of those paid out (3.00 months instead of 8.00)" in line


def test_a_few_seeds_that_are_too_few_to_tell_are_told_one_by_one(env, made_up_evaluation):
    def result(*seeds: tuple[tuple[float, float], float]) -> Result:
        made = [
            admitting(env, made_up_evaluation, a, b + np.array([0.0, 0.1, 0.2, 0.3]))
            for a, b in seeds
        ]
        return Result("learned policy", True, tuple(made))

    base = Result("base", False, (admitting(env, made_up_evaluation, (0.5, 0.5)),))
    apart = result(((0.75, 0.5), 3.0), ((0.4, 0.6), -3.0))
    (line,) = [x for x in verdicts.overall(apart, base, env, False) if "profit" in x]
    assert "too few seeds to tell: profit (3,150, −2,850 by seed instead of" in line
    assert verdicts.gap_sentence(apart, env) == (
        "With the learned policy, 2 seeds are too few to tell who is worse off in admission rate"
        " (the disadvantaged by 25.0 points, the advantaged by 20.0 points)."
    )
    # each of two seeds is clearly worse, and the interval over both holds 0 all the same
    worse = result(((0.75, 0.5), -3.0), ((0.52, 0.5), -30.0))
    (line,) = [x for x in verdicts.overall(worse, base, env, False) if "profit" in x]
    assert "too few seeds to tell: profit (−2,850, −29,850 by seed instead of" in line
    assert "(the disadvantaged by 25.0 and 2.00 points)" in verdicts.gap_sentence(worse, env)
    alike = result(((0.75, 0.5), 3.0), ((0.74, 0.5), 3.1))
    (line,) = [x for x in verdicts.overall(alike, base, env, False) if "profit" in x]
    assert "better in profit (3,200 dollars instead of 150)" in line and "seed" not in line
    told = verdicts.gap_sentence(alike, env)
    assert "Worse off with the learned policy, on average: the disadvantaged in admission" in told
    assert "seeds" not in told


def test_an_objective_is_made_of_what_tables_call_its_metrics(bare_run):
    env = fairgym.make("epidemic")
    run = bare_run(RunConfig("epidemic", objective="published"), env, [{"epoch": 1}], "/z")
    run.objective = Objective.published(env)
    assert summary._aim(group_runs([run])).endswith(
        "“published”, a weighted sum of people not infected"
    )


def test_fixed_agents_and_several_configurations_are_told(
    made_up_run, made_up_result, made_up_page
):
    fixed = {"admissions": 0.5, "disbursement": "random"}
    runs = [
        made_up_run(0, [1.0], fixed=fixed),
        made_up_run(0, [1.0], fixed=fixed, objective="direct"),
    ]
    for run in runs:
        run.objective = stand_in(Objective, weights={"profit": 1.0, "default_rate": 0.0})
    groups = group_runs(runs)
    results = [made_up_result(group.name, True, 0.5) for group in groups]
    _, made, tried = summary.setting(made_up_page(groups, results, [[], []]))
    assert "how debt management should decide, while admissions and disbursement follow" in made
    assert made.endswith("maximised a different objective in each configuration.")
    assert tried.startswith("The learned policies were then measured in the same 4 episodes")
    (_, one, _) = summary.setting(made_up_page(groups[:1], results[:1], [[]]))
    assert one.endswith("maximised the objective “uniform”, a weighted sum of profit.")
