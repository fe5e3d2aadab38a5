"""The three systems with the authors' networks, learning rate and batches."""

import dataclasses
from typing import ClassVar

from jaxtyping import PyTree

from fairgym.experiments import _parts as ex
from fairgym.experiments.fppo._claims import LONG, REWARD, SHORT
from fairgym.experiments.fppo._several import (
    DOTS,
    Learners,
    SeveralSystems,
    dots_figure,
    each_system,
    figure_of,
    named,
    outcomes,
)
from fairgym.experiments.fppo._systems import A_PPO, F_PPO, PPO, SIZES

COLUMNS = (SHORT, LONG, REWARD)


@ex.experiments.register("fppo-authors")
class FppoAuthors(SeveralSystems):
    """PPO, A-PPO and F-PPO in the authors' settings."""

    title = "F-PPO with the authors' settings"
    source = "Striking a Balance in Fairness, figures 1, 3 and 4"
    claim = (
        'F-PPO "is capable of striking a desired balance between short-term fairness, long-term'
        ' fairness, and the utility of the sequential decision system"'
    )
    # the networks are large
    sizes: ClassVar = {scale: dataclasses.replace(size, seeds=3) for scale, size in SIZES.items()}
    caption: ClassVar[str] = (
        f"{DOTS} F-PPO's actions are massaged. One environment, batches of 64 steps, a learning"
        " rate of 1e-5, rectified units, and networks of the authors' sizes, of which actor and"
        " critic share nothing here."
    )

    def learners(self, name: str) -> Learners:
        """Return the paper's learners with the authors' settings."""
        system = figure_of(name).system
        return {label: (label, system.of_code(label)) for label in (PPO, A_PPO, F_PPO)}

    def conclude(self, data: PyTree) -> ex.Outcome:
        """Check whether F-PPO is fairer than PPO in both terms."""
        checks, numbers = [], {}
        for name, found in each_system(data):
            for what in (SHORT, LONG):
                checks += named(name, found.lower(what, F_PPO, [PPO]))
            numbers[name] = {
                label: {what: found.mean(label, what) for what in COLUMNS}
                for label in found.courses
            }
        caption = (
            "Means over the steps of an evaluation episode; interquartile mean over seeds [95% CI]."
            " The reward of bank loans is the bank's cash."
        )
        head = ["environment", "learner", *COLUMNS]
        table = ex.columns_table(head, ex.by_place(numbers), caption)
        tables = [table, *outcomes(data)]
        return ex.Outcome({"": dots_figure(numbers, COLUMNS)}, self.caption, tables, checks)
