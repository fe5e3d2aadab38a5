"""Seconds and memory of `fairgym audit` for a large table of decisions.

    python benchmarks/audit_speed.py                     # 5,000,000 rows of 8 columns, CSV
    python benchmarks/audit_speed.py --rows 1000000 --suffix .parquet

The table has two sexes, five races, 60 months, a score, an income, 200 branches and persons with
1.7 decisions each. The target is 5,000,000 rows within 4 GB and 5 minutes on two cores.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from fairgym.audit import Roles, audit

ROLES = Roles(
    decision="approved",
    groups=("sex", "race"),
    cross=True,
    time="month",
    score="score",
    person="person",
    legit=("income", "branch"),
)


def made_up(rows: int, seed: int = 0) -> pa.Table:
    """A table of decisions with 5 points between the sexes."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, rows)

    def named(names: list[str], codes: np.ndarray) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names))

    months = [f"{2019 + month // 12}-{month % 12 + 1:02d}" for month in range(60)]
    approved = (rng.random(rows) < 0.5 + 0.05 * sex).astype(int)
    return pa.table(
        {
            "approved": named(["no", "yes"], approved),
            "sex": named(["female", "male"], sex),
            "race": named(list("abcde"), rng.integers(0, 5, rows)),
            "month": named(months, rng.integers(0, 60, rows)),
            "score": rng.normal(600.0, 80.0, rows).round(2),
            "person": rng.integers(0, max(rows * 3 // 5, 1), rows),
            "income": rng.lognormal(10.0, 1.0, rows).round(0),
            "branch": rng.integers(0, 200, rows),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory of an audit.")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--suffix", choices=(".csv", ".parquet"), default=".csv")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"decisions{given.suffix}"
        table = made_up(given.rows)
        if given.suffix == ".csv":
            pyarrow.csv.write_csv(table, path)
        else:
            pyarrow.parquet.write_table(table, path)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        del table
        start, cpu = time.perf_counter(), time.process_time()
        found = audit(path, ROLES)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        most = max(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    print(f"{given.rows:,} rows: {wall:.1f} s, {cpu:.1f} s of CPU, at most {most / 1e6:.2f} GB")
    print(f"{len(found.parts)} tables")


if __name__ == "__main__":
    main()
