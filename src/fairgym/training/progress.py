"""Progress on the screen: a bar on a terminal, plain lines elsewhere."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping

from rich import progress as bars
from rich.console import Console
from rich.text import Text

from fairgym.algorithms import log_keys
from fairgym.training.loop import Progress

LINE_SECONDS = 10.0  # between two lines of a run

# Words for a run -> a context that yields the argument `progress` of `fairgym.train`.
Shown = Callable[[str], contextlib.AbstractContextManager[Progress]]


def duration(seconds: float) -> str:
    """Return a time in words.

    Examples:
        >>> from fairgym.training.progress import duration
        >>> duration(42.3), duration(175.0), duration(3720.0)
        ('42 s', '2 min 55 s', '1 h 2 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Several:
    """Elapsed and remaining time of several runs.

    Args:
        runs: Number of runs that are to be trained.
    """

    def __init__(self, runs: int) -> None:
        self.runs, self.done, self.began = runs, 0, time.perf_counter()

    def finish(self) -> str:
        """Count a run that has ended; return the state of all, or "" for a single run."""
        self.done += 1
        if self.runs < 2:
            return ""
        elapsed = time.perf_counter() - self.began
        text = f"{self.done} of {self.runs} runs done: elapsed {duration(elapsed)}"
        left = self.runs - self.done
        return (
            f"{text}, remaining about {duration(elapsed / self.done * left)}" if left > 0 else text
        )


@contextlib.contextmanager
def shown(label: str, console: Console | None = None) -> Iterator[Progress]:
    """Show the progress of one run.

    Args:
        label: Name of the run.
        console: Where to print; standard output by default.

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
def shown_together(
    console: Console | None = None, several: Several | None = None
) -> Iterator[Shown]:
    """Show the progress of several runs at once; a line stays for each run that has ended.

    Args:
        console: Where to print; standard output by default.
        several: Clock of all runs, printed whenever one has ended.

    Yields:
        A function like `shown`, for several contexts at once.
    """
    console = console or Console()

    def ended(text: str) -> None:
        for line in filter(None, (text, several.finish() if several else "")):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        console.file.flush()

    @contextlib.contextmanager
    def lines(label: str) -> Iterator[Progress]:
        try:
            yield _Lines(label, console)
        finally:
            ended("")

    if not console.is_terminal:
        yield lines
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
            ended("  ".join(filter(None, words)))

    with _display(console) as display:
        yield one


class _Clock:
    """Training time of one run, as its log counts it: what a resumed run took before counts."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        # Epoch and time after the first epoch, which compiles.
        self.first: tuple[int, float] | None = None
        self.remaining: float | None = None

    def update(self, epoch: int, epochs: int, line: Mapping[str, object] | None) -> None:
        """Note that an epoch has ended."""
        now = time.perf_counter()
        if line is None:
            self.first, self.remaining = None, None
            return
        if isinstance(before := line.get("wall_time_s"), float):
            self.began = now - before
        if self.first is None:
            self.first = epoch, now
        elif epoch > self.first[0]:
            pace = (now - self.first[1]) / (epoch - self.first[0])
            self.remaining = pace * (epochs - epoch)

    def __str__(self) -> str:
        """Elapsed time, and remaining time if it is known and there is any."""
        text = f"elapsed {duration(time.perf_counter() - self.began)}"
        return f"{text}, remaining {duration(self.remaining)}" if self.remaining else text


class _Lines:
    """A line per epoch, but at most one in ten seconds."""

    def __init__(self, label: str, console: Console) -> None:
        self.label, self.console = label, console
        self.clock, self.last = _Clock(), time.perf_counter()

    def __call__(self, epoch: int, epochs: int, line: Mapping[str, object] | None) -> None:
        now = time.perf_counter()
        self.clock.update(epoch, epochs, line)
        if line is None:
            left = epochs - epoch
            done = f" after epoch {epoch}" if epoch else ""
            text = f"compiling the training program, then {left} epoch{'s' * (left > 1)}{done}"
        elif epoch == epochs or epoch == 1 or now - self.last > LINE_SECONDS:
            text = f"epoch {epoch}/{epochs}  objective {_objective(line)}  {self.clock}"
        else:
            return
        self.last = now
        self.console.print(f"{self.label}: {text}", highlight=False, markup=False, soft_wrap=True)
        self.console.file.flush()


class _ClockColumn(bars.ProgressColumn):
    """Elapsed and remaining time of a run, by the same clock as in plain lines."""

    def render(self, task: bars.Task) -> Text:
        """Return the times in words."""
        return Text(str(task.fields["clock"]))


def _display(console: Console) -> bars.Progress:
    return bars.Progress(
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(bar_width=24),
        bars.TextColumn("{task.fields[count]}"),
        _ClockColumn(),
        bars.TextColumn("{task.fields[objective]}"),
        console=console,
    )


def _bar(label: str, display: bars.Progress) -> tuple[bars.TaskID, Progress]:
    """Return a bar, and the function that updates it."""
    clock = _Clock()
    task = display.add_task(
        f"{label}: preparing ...", total=None, count="", objective="", clock=clock
    )

    def update(epoch: int, epochs: int, line: Mapping[str, object] | None) -> None:
        clock.update(epoch, epochs, line)
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
