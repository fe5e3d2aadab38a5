"""Progress on the screen: a bar on a terminal, plain lines elsewhere."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping

from rich import progress as bars
from rich.console import Console

from fairgym.algorithms import log_keys
from fairgym.training.loop import Progress

# Words for a training -> a context that yields the argument `progress` of `fairgym.train`.
Shown = Callable[[str], contextlib.AbstractContextManager[Progress]]


@contextlib.contextmanager
def shown(label: str, console: Console | None = None) -> Iterator[Progress]:
    """Show a training while it goes on.

    Args:
        label: name of the training.
        console: place of the output; standard output by default.

    Yields:
        A function for the argument `progress` of `fairgym.training.train`.
    """
    console = console or Console()
    if console.is_terminal:
        with _display(console) as display:
            yield _bar(label, display)[1]
    else:
        yield _Lines(label, console)


@contextlib.contextmanager
def shown_together(console: Console | None = None) -> Iterator[Shown]:
    """Show trainings that go on side by side; of one that has ended a line stays.

    Args:
        console: place of the output; standard output by default.

    Yields:
        A function like `shown`, for several contexts at once.
    """
    console = console or Console()
    if not console.is_terminal:
        yield lambda label: contextlib.nullcontext(_Lines(label, console))
        return

    @contextlib.contextmanager
    def one(label: str) -> Iterator[Progress]:
        task, update = _bar(label, display)
        try:
            yield update
        finally:
            (bar,) = [bar for bar in display.tasks if bar.id == task]
            words = [bar.description, bar.fields["count"], bar.fields["objective"]]
            display.remove_task(task)
            text = "  ".join(filter(None, words))
            console.print(text, highlight=False, markup=False, soft_wrap=True)

    with _display(console) as display:
        yield one


class _Lines:
    """A line per update, but not more than about one per second."""

    def __init__(self, label: str, console: Console) -> None:
        self.label, self.console = label, console
        self.began = self.last = time.perf_counter()

    def __call__(self, epoch: int, epochs: int, line: Mapping[str, object] | None) -> None:
        now = time.perf_counter()
        if line is None:
            done = f" after epoch {epoch}" if epoch else ""
            text = f"compiling the training program, then {epochs - epoch} epochs{done}"
        elif epoch == epochs or epoch == 1 or now - self.last > 1.0:
            text = f"epoch {epoch}/{epochs}  objective {_objective(line)}  {now - self.began:.0f} s"
        else:
            return
        self.last = now
        self.console.print(f"{self.label}: {text}", highlight=False, markup=False, soft_wrap=True)
        self.console.file.flush()


def _display(console: Console) -> bars.Progress:
    return bars.Progress(
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(bar_width=24),
        bars.TextColumn("{task.fields[count]}"),
        bars.TimeElapsedColumn(),
        bars.TextColumn("left"),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.fields[objective]}"),
        console=console,
    )


def _bar(label: str, display: bars.Progress) -> tuple[bars.TaskID, Progress]:
    """A bar, and what moves it."""
    task = display.add_task(f"{label}: preparing ...", total=None, count="", objective="")

    def update(epoch: int, epochs: int, line: Mapping[str, object] | None) -> None:
        if line is None and epoch < epochs:
            display.update(task, description=f"{label}: compiling ...", refresh=True)
            return
        objective = "" if line is None else f"objective {_objective(line)}"
        display.update(
            task,
            description=label,
            total=epochs,
            completed=epoch,
            count=f"epoch {epoch}/{epochs}",
            objective=objective,
            refresh=True,
        )

    return task, update


def _objective(line: Mapping[str, object]) -> str:
    value = line.get(log_keys.OBJECTIVE)
    return "undefined" if value is None else f"{value:.4f}"
