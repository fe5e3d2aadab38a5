"""Two banks with a common pool of applicants: shared, separate and opposed objectives."""

from collections.abc import Sequence

import numpy as np

from fairgym.algorithms import log_keys
from fairgym.experiments import _parts as ex
from fairgym.experiments.mafe._readings import served
from fairgym.utils import make

COOPERATIVE, FAIR, MIXED = "cooperative", "both fair-minded", "fair and profit-minded"
SELFISH, AT_RANDOM = "both profit-minded", "both profit-minded, random applicants"
BANKS = FIRST, SECOND = ("bank_1", "bank_2")
# Banks whose objective is their six published terms; the objective of the others is profit.
FAIR_MINDED: dict[str, tuple[str, ...]] = {
    FAIR: BANKS,
    MIXED: BANKS[:1],
    SELFISH: (),
    AT_RANDOM: (),
}
TOGETHER = "profit of both"
ADMITTED, RELIEF, GAP = "admitted", "relief", "difference of admission rates"
NEVER, LESS_SERVED = "never paid out", "difference of shares paid out"
WAITS, DEFAULTS, THRESHOLD = "difference of waits of those paid out", "defaults", "threshold"
ANYBODY = "admitted, random applicants"
SHARE = "applications to bank 1"
SIGNED = "signed gap of admission rates"


@ex.experiments.register("mafe-two-banks")
class TwoBanks(ex.ComparisonFigure):
    """F-MACEM in loan with two banks, whose agents have the same or different objectives."""

    title = "Beyond MAFE: two banks that share the applicants"
    source = "beyond MAFE, appendix F"
    claim = (
        "several institutions serve the same people, each with its own agents, money and objective;"
        " people go where the terms are better, so one institution's fairness depends on the"
        " other's objective"
    )
    height = 4.0
    legend = tuple(bank.replace("_", " ") for bank in BANKS)
    sizes = ex.STUDIES
    claims = (
        ex.Claim(
            "one bank of each kind: the profit-minded bank earns more than the fair-minded one",
            ex.At(MIXED, f"{SECOND}: profit"),
            ex.At(MIXED, f"{FIRST}: profit"),
        ),
        ex.Claim(
            "one bank of each kind: the fair-minded bank admits a larger share of its applicants",
            ex.At(MIXED, f"{FIRST}: {ADMITTED}"),
            ex.At(MIXED, f"{SECOND}: {ADMITTED}"),
        ),
        ex.Claim(
            "one bank of each kind: the profit-minded bank posts the higher threshold",
            ex.At(MIXED, f"{SECOND}: {THRESHOLD}"),
            ex.At(MIXED, f"{FIRST}: {THRESHOLD}"),
        ),
        ex.Claim(
            "one of each: more of the disadvantaged apply to the fair-minded bank (share above"
            " one half)",
            ex.At(MIXED, f"{SHARE}, disadvantaged"),
            0.5,
        ),
        ex.Claim(
            "profit-minded banks earn more together than cooperative ones",
            *ex.pair(SELFISH, COOPERATIVE, TOGETHER),
        ),
        ex.Claim(
            "cooperative banks admit a larger share of applicants than profit-minded ones",
            *ex.pair(COOPERATIVE, SELFISH, ADMITTED),
        ),
        ex.Claim(
            "the groups' admission rates differ more with profit-minded banks than with cooperative"
            " ones (excess over the null)",
            *ex.pair(SELFISH, COOPERATIVE, GAP, excess=True),
        ),
        ex.Claim(
            "profit-minded banks give more relief if people choose by terms than at random",
            *ex.pair(SELFISH, AT_RANDOM, RELIEF),
        ),
        ex.Claim(
            "profit-minded banks admit a larger share if people choose by terms",
            *ex.pair(SELFISH, AT_RANDOM, ADMITTED),
            "calibrated",  # seen in quick runs before it was claimed
        ),
    )

    def grid(self, size: ex.Size) -> ex.Grid:
        """Return shared to opposed objectives; profit alone also with random applicants."""
        arguments = {"population": size.people, "banks": len(BANKS)}
        env = make("loan", **arguments)
        found = {COOPERATIVE: ex.run_config("loan", size, environment_args=arguments)}
        for label, fair in FAIR_MINDED.items():
            objectives = {}
            for bank in BANKS:
                terms = [name for name in env.spec.terms if name.startswith(bank)]
                weights = (
                    dict.fromkeys(terms, 1.0 / len(terms))
                    if bank in fair
                    else {f"{bank}_profit": 1.0}
                )
                objectives |= {agent: weights for agent in env.agents if agent.startswith(bank)}
            found[label] = ex.run_config(
                "loan",
                size,
                environment_args=arguments,
                objectives=objectives,
                params={"terms_sensitivity": 0.0} if label == AT_RANDOM else {},
            )
        return found

    def numbers(self, place: str, runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
        """Return the numbers of the pool and of each bank, also with random applicants."""
        # the same policies, with applicants who do not look at terms
        anybody = [
            ex.held_out(
                run.env,
                run.params.replace(terms_sensitivity=0.0),
                run.policies,
                run.config.seed,
                ends[0].episodes,
            )
            for run in runs
        ]
        return _columns(runs, ends) | {
            f"{bank}: {ANYBODY}": ex.means(anybody, f"{bank}_admission_rate") for bank in BANKS
        }

    def checks(self, data: ex.Compared) -> list[ex.Check]:
        """Check the claims, and which banks have the larger signed gap."""
        signed = [data[""][label][SIGNED] for label in (SELFISH, COOPERATIVE)]
        statement = (
            "the groups' admission rates differ more with profit-minded banks than with cooperative"
            " ones (signed gap)"
        )
        return [*super().checks(data), ex.Check.above(statement, ex.narrowing(*signed))]

    def tables(self, data: ex.Compared) -> list[ex.Table]:
        """Return the pool, and each bank."""
        columns = list(data[""][COOPERATIVE])
        of_bank = [column for column in columns if column.startswith(BANKS)]
        of_pool = [column for column in columns if column not in of_bank]
        caption = f"Interquartile mean over seeds [stratified bootstrap 95% CI]. {ex.NULL_NOTE}"
        return [
            ex.columns_table(
                ["objectives", *(column.replace("_", " ") for column in own)],
                data[""],
                f"{words} {caption}",
                own,
            )
            for own, words in (
                (
                    of_pool,
                    "The pool, in held-out episodes: profit in thousand dollars, waits in months,"
                    " relief as learned at the end. The signed gap is the advantaged's rate minus"
                    " that of the disadvantaged. “Never paid out” is a share of the ever"
                    " approved.",
                ),
                (of_bank, "Each bank, with the applicants who chose it."),
            )
        ]

    def panels(self, data: ex.Compared) -> list[ex.Panel]:
        """Return each bank's profit, admissions and relief, by objectives."""
        profit = {"profit": "profit (thousand dollars) ↑"}
        shown = profit | {ADMITTED: "share admitted", RELIEF: RELIEF}
        return [
            ex.Panel(data[""], [f"{bank}: {column}" for bank in BANKS], ylabel=label)
            for column, label in shown.items()
        ]


def _columns(runs: Sequence[ex.Run], ends: ex.Ends) -> ex.Columns:
    """Return numbers by column, (seeds,); null distributions are (seeds, permutations)."""

    def mean(metric: str, sign: float = 1.0) -> np.ndarray:
        return sign * ex.means(ends, metric)

    def learned(agent: str) -> np.ndarray:
        """Return the mean action over groups at the end of training."""
        keys = [log_keys.action(agent, name) for name in runs[0].env.action_space(agent).names]
        return ex.logged_ends(runs, *keys)[1]

    def applied(bank: str) -> np.ndarray:
        """Return the applications by seed and group."""
        return np.array(
            [np.asarray(getattr(one.totals, f"{bank}_applied")).sum(axis=0) for one in ends],
            np.float64,
        )

    def apart(column: str, metric: str) -> ex.Columns:
        """Return a disparity and its null distribution; undefined values count as parity."""
        null = np.array([one.nulls[metric].mean(axis=0) for one in ends])
        return {column: mean(metric, -1.0), column + ex.NULL_MEAN: -null}

    relief = {bank: learned(f"{bank}_debt_management") for bank in BANKS}
    first, everywhere = applied(BANKS[0]), sum(applied(bank) for bank in BANKS)
    shares = first / everywhere
    found = {
        TOGETHER: mean("profit"),
        ADMITTED: mean("admission_rate"),
        **apart(GAP, "admission_disparity"),
        SIGNED: ex.signed_gap(ends, "admission_disparity"),
        NEVER: 1.0 - served(ends),
        **apart(LESS_SERVED, "served_disparity"),
        **apart(WAITS, "wait_disparity"),
        DEFAULTS: mean("default_rate", -1.0),
        RELIEF: np.mean(list(relief.values()), axis=0),
        f"{SHARE}, advantaged": shares[:, 0],
        f"{SHARE}, disadvantaged": shares[:, 1],
        "survived": ex.survival(ends),
    }
    for bank in BANKS:
        found |= {
            f"{bank}: profit": mean(f"{bank}_profit"),
            f"{bank}: {ADMITTED}": mean(f"{bank}_admission_rate"),
            **apart(f"{bank}: {GAP}", f"{bank}_admission_disparity"),
            f"{bank}: {DEFAULTS}": mean(f"{bank}_default_rate", -1.0),
            f"{bank}: {THRESHOLD}": learned(f"{bank}_admissions"),
            f"{bank}: {RELIEF}": relief[bank],
        }
    return found
