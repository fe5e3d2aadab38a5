"""Tables of made-up decisions for tests of audits."""

from typing import Any

import numpy as np


def decisions_table(rows: int = 2000, seed: int = 0) -> dict[str, Any]:
    """Columns of decisions by sex and race in three years, with a gap of 0.15 between the sexes."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    race = rng.choice(["a", "b", "c", "rare"], rows, p=[0.55, 0.3, 0.146, 0.004]).astype(object)
    race[rng.random(rows) < 0.05] = None
    rate = 0.45 + 0.15 * (sex == "m") + 0.05 * (race == "b")
    return {
        "ok": np.where(rng.random(rows) < rate, "yes", "no"),
        "sex": sex,
        "race": race,
        "year": rng.choice([1997, 1999, 2002], rows),
        "score": rng.normal(0.3 * (sex == "m"), 1.0),
        "id": rng.integers(0, rows // 3, rows),
    }
