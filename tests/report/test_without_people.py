"""Reports of environments that are no societies of people: nothing on people, no empty section."""

import dataclasses
import html
import itertools
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float

from fairgym.config import RunConfig
from fairgym.core import (
    ActionSpace,
    Components,
    EntitySpace,
    Environment,
    EnvironmentSpec,
    Feature,
    Params,
    State,
    Unit,
    component,
    param,
    per_group,
)
from fairgym.fairness import Direct, Disparity, Metric, Rate
from fairgym.report import write_report
from fairgym.training import train
from fairgym.utils.registry import environments

SITES = ("north", "south")


class SiteParams(Params):
    """Numbers of the system."""

    rate: Any = param(0.5, "chance of a second incident", low=0.0, high=1.0)
    breaks: Any = param(0.0, "1 if watching breaks the alarm", low=0.0, high=1.0)


class Incidents(Components):
    """Counts of a step."""

    occurred: Float[Array, " groups"] = component(
        "incidents that occurred", unit="incidents", per="group"
    )
    found: Float[Array, " groups"] = component(
        "incidents that were found", unit="incidents", per="group"
    )


@dataclasses.dataclass(frozen=True)
class Sites(Environment):
    """Incidents at two sites, found by a share of watchfulness."""

    name: ClassVar[str] = "sites"

    horizon: int = 4
    compares: bool = False

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(
            agents=("guard",),
            groups=SITES,
            components=Incidents,
            metrics=self._metrics,
            group_word="site",
            time_unit="hours",
            failure="the alarm breaks",
            baselines={"sleep": {"guard": 0.0}} if self.compares else {},
        )

    @property
    def default_params(self) -> SiteParams:
        return SiteParams()

    @property
    def _metrics(self) -> Mapping[str, Metric]:
        rate = Rate("found", "occurred")
        fair = {"found_disparity": Disparity(rate)} if self.compares else {}
        return {"found": Direct("found"), "found_rate": rate, **fair}

    def observation_space(self, agent: str) -> EntitySpace:
        return EntitySpace(1, (Feature("incidents", 0, 4),), (Feature("time", 0, 4),))

    def action_space(self, agent: str) -> ActionSpace:
        return Unit(per_group("watch", self.spec.groups))

    def initial_state(self, key: Any, params: Any) -> State:
        return State(time=jnp.int32(0))

    def observe(self, state: Any, params: Any) -> Any:
        view = self.observation_space("guard").view(
            {"incidents": jnp.ones(1)}, jnp.ones(1, bool), {"time": state.time}
        )
        return {"guard": view}

    def noise(self, key: Any, params: Any) -> Any:
        return jax.random.bernoulli(key, params.rate, (2,)).astype(jnp.float32)

    def transition(self, noise: Any, state: Any, actions: Any, params: Any) -> Any:
        occurred = 1.0 + noise
        counts = Incidents(occurred=occurred, found=occurred * actions["guard"])
        watched = jnp.any(actions["guard"] > 0.0)
        broken = (params.breaks > 0.5) & (state.time == 1) & watched
        return State(time=state.time + 1), counts, broken


def written(folder: Path, compares: bool, breaks: float = 0.0) -> Path:
    """The page of a run in such sites; whether the alarm breaks is a number of one program."""
    known = pytest.MonkeyPatch()
    known.setitem(environments._things, "sites", Sites)
    known.setattr("fairgym.report.write.png", lambda figure: b"")
    config = RunConfig(
        "sites",
        environment_args={"compares": compares},
        params={"breaks": breaks},
        algorithm_args={"epochs": 2, "episodes_per_epoch": 4},
    )
    train(config, folder / "run")
    path = write_report([folder / "run"], episodes=3, worlds=False)
    known.undo()
    return path


@pytest.fixture(scope="module", params=[False, True], ids=["no-disparity", "disparity"])
def report(request, tmp_path_factory) -> tuple[bool, str, set[str]]:
    """Whether groups are compared, the page, and the names of its pictures."""
    path = written(tmp_path_factory.mktemp("sites"), compares=request.param)
    files = [path.name for path in (path.parent / "figures").iterdir()]
    pictures = {name.removesuffix(".png") for name in files if name.endswith(".png")}
    assert {f"{name}.csv" for name in pictures} == set(files) - {f"{n}.png" for n in pictures}
    return request.param, path.read_text(encoding="utf-8"), pictures


def test_nothing_is_said_of_people(report):
    compares, page, pictures = report
    assert "people" not in page and "person" not in page
    assert "2 sites, 4 hours an episode" in page and "2 sites: north, south" in page
    assert pictures == {"comparison", "learning", "actions"} | (
        {"groups", "group-rates"} if compares else set()
    )


def test_no_section_is_empty(report):
    compares, page, _ = report
    shown = ["gaps"] if compares else []
    drawn = ["group-rates"] if compares else []
    place = r'<h2 id="([^"]*)">(.*?)</h2>|<summary>([^<]*)</summary><div id="([^"]*)">'
    *sections, last = re.finditer(place, page)
    names = [one[1] or one[4] for one in (*sections, last)]
    assert names == ["short", *shown, "results", "actions", "learning", *drawn, "trained", "words"]
    for one, following in itertools.pairwise((*sections, last)):
        content = page[one.end() : following.start()]
        assert re.sub(r"<[^>]+>|\s", "", content), one[0]
    titles = {one[1]: one[2] for one in sections}
    assert titles.get("gaps", "Who is worse off") == "Who is worse off"
    assert ("<h3>By site</h3>" in page) == ("A disparity is" in page) == compares


def test_a_failure_comes_first_and_is_not_bold(tmp_path):
    page = html.unescape(written(tmp_path, compares=True, breaks=1.0).read_text(encoding="utf-8"))
    lines = re.findall(r"<li>(.*?)</li>", page.partition("<figure")[0])
    first, second, *_, last = lines
    assert first == (
        "The learned policy failed: in all 3 episodes the alarm breaks before the end, on average"
        " after 2 of 4 hours. Its other numbers cover the time until then, so do not compare"
        " them with those of policies that reached the end."
    )
    assert second.startswith("Worse off with the learned policy, on average: ")
    assert not any("compared with" in line for line in lines), "a policy that failed"
    assert last.startswith("By the objective, the learned policy scores ")
    assert last.endswith(
        "for the baseline, “sleep”. Not comparable, because the learned policy failed."
    )
    table = page.partition('id="results"')[2].partition("</table>")[0]
    cells = re.findall(r"<td>(.*?)</td>", table)
    learned, asleep = cells[::2], cells[1::2]
    assert not any("best" in cell for cell in learned)
    assert all("best" in cell for cell in asleep if cell[0] != "u" and " of 3" not in cell)
    assert "learned policy<small>learned, failed</small>" in table
    assert "sleep<small>fixed</small>" in table
    assert learned[-1] == "3 of 3" and asleep[-1] == "0 of 3"
    assert "From the card" not in page and "card says" not in page  # sites have none


def test_sites_that_hold_say_so(report):
    _, page, _ = report
    assert "No policy failed: every episode reached its end." in page
