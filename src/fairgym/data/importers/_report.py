"""What importers share: the account of an import, rows dropped for a reason, errors of reading."""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fairgym.core.errors import FairgymError


@dataclass
class Report:
    """Account of an import; `print` it.

    Attributes:
        source: name of the source.
        path: the data file that was read.
        folder: folder of the new population.
        what: what a row holds, in the plural.
        read: rows read.
        kept: rows kept.
        dropped: reason -> rows left out for it (each row counts once, for the first reason).
        years: survey years that were kept, where they are chosen.
        shares: words -> share of the rows kept that they are true of ("insured", "default").
        bias_strength: fitted resampling strength.
        metrics: score -> its figures on held-out rows.
        cite: where the source says how it is to be cited; "" if it does not ask for it.
    """

    source: str
    path: str
    folder: str = ""
    what: str = "people"
    read: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    years: tuple[int, ...] = ()
    shares: dict[str, float] = field(default_factory=dict)
    bias_strength: float = 0.0
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)
    cite: str = ""

    def __str__(self) -> str:
        counts = {"rows read": self.read}
        counts |= {f"  dropped: {reason}": count for reason, count in self.dropped.items()}
        counts |= {f"{self.what} kept": self.kept}
        width = max(map(len, counts))
        lines = [f"{self.source}: imported {self.path}", f"into {self.folder}"]
        lines += [f"  {label.ljust(width)}  {count:>12,}" for label, count in counts.items()]
        if self.years:
            lines.append(f"  survey years {', '.join(map(str, self.years))}")
        lines += [f"  {words} share {share:.1%}" for words, share in self.shares.items()]
        for name, metrics in self.metrics.items():
            measure = "auc" if "auc" in metrics else "r2"
            lines.append(
                f"  {name} score: {measure.upper()} {metrics[measure]:.3f} on rows held out"
            )
        lines.append(f"  bias_strength {self.bias_strength:g}")
        if self.cite:
            lines.append(f"  IPUMS asks its users to cite the data: {self.cite}")
        return "\n".join(lines)

    def require_rows(self, kind: str) -> None:
        """Leave reasons out that concern no row.

        Args:
            kind: what could not be used, for the message.

        Raises:
            FairgymError: no row is kept.
        """
        self.dropped = {reason: count for reason, count in self.dropped.items() if count}
        if not self.kept:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.items())
            raise FairgymError(
                f"{self.path} has no {kind} that can be used ({self.read:,} rows read; dropped: "
                f"{reasons or 'none'})"
            )


class Sieve:
    """Rows of a piece of a file, some of which are dropped for a reason.

    Attributes:
        left: True for the rows that are not dropped, shape (rows,).
        dropped: reason -> rows, of all pieces.
    """

    def __init__(self, rows: int, dropped: dict[str, int]) -> None:
        """Begin with all rows."""
        self.left, self.dropped = np.ones(rows, bool), dropped

    def drop(self, reason: str, rows: np.ndarray) -> None:
        """Drop rows, and count those that have not been dropped before."""
        self.dropped[reason] = self.dropped.get(reason, 0) + int((self.left & rows).sum())
        self.left = self.left & ~rows


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say in one sentence why a file cannot be read."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FairgymError(f"{path} is a truncated or damaged gzip file: {error}") from error
    except OSError as error:
        raise FairgymError(f"{path} cannot be read: {error.strerror or error}") from error
