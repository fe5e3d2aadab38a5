"""`--json` and `--csv FILE`, of every command that prints tables."""

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fairgym.cli.parsing import flag


@dataclasses.dataclass(frozen=True, kw_only=True)
class Output:
    """Flags of results for programs and spreadsheets."""

    json: bool = flag(False, "Print the results as JSON: raw numbers, with the unit of each.")
    csv: str | None = flag(
        None, "Write the results to a table, .csv or .parquet: the same numbers.", metavar="FILE"
    )

    def __post_init__(self) -> None:
        """Check that the table can be written, before anything is computed."""
        if self.csv is not None:
            from fairgym.results.table import require_table

            require_table(self.csv, "csv")

    def computing(self) -> contextlib.AbstractContextManager[object]:
        """While results are computed: progress goes to standard error if JSON is asked for."""
        return contextlib.redirect_stdout(sys.stderr) if self.json else contextlib.nullcontext()

    def give(
        self,
        command: str,
        tell: Callable[[], Mapping[str, Any]],
        settings: Mapping[str, object] | None = None,
    ) -> bool:
        """Write and print what these flags ask for.

        Args:
            command: The command, such as "sweep table".
            tell: Called if they ask for anything: "results", a list of flat records, and what else
                JSON has.
            settings: What the command was given; by default the values of its flags.

        Returns:
            True if the tables for people are to be printed.
        """
        if not self.json and self.csv is None:
            return True
        from fairgym.results.table import results_json, write_rows

        found = tell()
        if self.csv is not None:
            write_rows(Path(self.csv), found["results"])
        if self.json:
            given = dataclasses.asdict(self) if settings is None else settings
            told = {name: x for name, x in given.items() if name not in ("json", "csv")}
            print(results_json(command, told, **found))
        return not self.json
