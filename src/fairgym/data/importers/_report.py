"""Shared code of importers: the report, dropped rows by reason, and read errors."""

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
    """Report of an import; `print` it.

    Attributes:
        source: Name of the source.
        path: The data file that was read.
        folder: Folder of the new population.
        what: Name of the rows, in the plural.
        read: Rows read.
        kept: Rows kept.
        dropped: Reason -> number of dropped rows (each row counts once, for its first reason).
        years: Survey years that were kept, if they are selected.
        shares: Name -> share of the kept rows ("insured", "default").
        bias_strength: Fitted resampling strength.
        metrics: Score -> its metrics on held-out rows.
        cite: Address of the source's citation guide; "" if it asks for none.
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
                f"  {name} score: {measure.upper()} {metrics[measure]:.3f} on held-out rows"
            )
        lines.append(f"  bias_strength {self.bias_strength:g}")
        if self.cite:
            lines.append(f"  IPUMS asks its users to cite the data: {self.cite}")
        return "\n".join(lines)

    def require_rows(self, kind: str) -> None:
        """Remove reasons without rows, and check that a row is left.

        Args:
            kind: Name of the rows, for the message.

        Raises:
            FairgymError: If no row is kept.
        """
        self.dropped = {reason: count for reason, count in self.dropped.items() if count}
        if not self.kept:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.items())
            raise FairgymError(
                f"{self.path} has no usable {kind} ({self.read:,} rows read; dropped: "
                f"{reasons or 'none'})"
            )


class Sieve:
    """Rows of a chunk of a file, with those dropped by reason.

    Attributes:
        left: True for rows that are not dropped, shape (rows,).
        dropped: Reason -> number of dropped rows in all chunks.
    """

    def __init__(self, rows: int, dropped: dict[str, int]) -> None:
        """Start with all rows."""
        self.left, self.dropped = np.ones(rows, bool), dropped

    def drop(self, reason: str, rows: np.ndarray) -> None:
        """Drop rows and count those that were not dropped before."""
        self.dropped[reason] = self.dropped.get(reason, 0) + int((self.left & rows).sum())
        self.left = self.left & ~rows


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn read errors into one sentence that says why a file cannot be read."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FairgymError(f"{path} is a truncated or damaged gzip file: {error}") from error
    except OSError as error:
        raise FairgymError(f"{path} cannot be read: {error.strerror or error}") from error
