import io
import re

from rich.console import Console

from fairgym.training.progress import Several, shown, shown_together


def tell(progress, epochs=3):
    progress(0, epochs, None)
    for epoch in range(1, epochs + 1):
        progress(epoch, epochs, {"objective": None if epoch == 2 else epoch / 8})


def test_plain_lines_without_a_terminal():
    out = io.StringIO()
    with shown("loan, toy", Console(file=out)) as progress:
        tell(progress)
    lines = out.getvalue().splitlines()
    assert lines[0] == "loan, toy: compiling the training program, then 3 epochs"
    assert lines[1].startswith("loan, toy: epoch 1/3  objective 0.1250")
    assert lines[-1].startswith("loan, toy: epoch 3/3  objective 0.3750")
    assert "\x1b" not in out.getvalue()


def test_the_clock_is_that_of_the_log_and_names_both_times(monkeypatch):
    """Elapsed as in the log and the summary; remaining without the time of the compilation."""
    out, now = io.StringIO(), [0.0]
    monkeypatch.setattr("fairgym.training.progress.time.perf_counter", lambda: now[0])
    with shown("x", Console(file=out)) as progress:
        for epoch, second in ((1, 60.0), (2, 75.0), (3, 90.0), (4, 105.0)):
            now[0] = second
            progress(epoch, 4, {"objective": 0.5, "wall_time_s": second + 100.0})
    assert [line.partition("0.5000  ")[2] for line in out.getvalue().splitlines()] == [
        "elapsed 2 min 40 s",
        "elapsed 2 min 55 s, remaining 30 s",
        "elapsed 3 min 10 s, remaining 15 s",
        "elapsed 3 min 25 s",
    ]


def test_several_runs_have_one_clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("fairgym.training.progress.time.perf_counter", lambda: now[0])
    out, several = io.StringIO(), Several(3)
    with shown_together(Console(file=out), several) as each:
        for _ in range(3):
            with each("a"):
                now[0] += 40.0
    assert out.getvalue().splitlines() == [
        "1 of 3 runs done: elapsed 40 s, remaining about 1 min 20 s",
        "2 of 3 runs done: elapsed 1 min 20 s, remaining about 40 s",
        "3 of 3 runs done: elapsed 2 min 0 s",
    ]
    assert Several(1).finish() == ""


def test_a_resumed_training_says_where_it_goes_on():
    out = io.StringIO()
    with shown("x", Console(file=out)) as progress:
        progress(2, 3, None)
    assert out.getvalue() == "x: compiling the training program, then 1 epoch after epoch 2\n"


def test_a_bar_on_a_terminal():
    out = io.StringIO()
    with shown("loan, toy", Console(file=out, force_terminal=True, width=120)) as progress:
        tell(progress)
    text = out.getvalue()
    assert "compiling" in text and "epoch 3/3" in text and "objective 0.3750" in text


def test_several_at_once_leave_a_line_each():
    out = io.StringIO()
    with shown_together(Console(file=out)) as each, each("a") as one, each("b") as other:
        one(0, 2, None)
        other(0, 2, None)
        one(2, 2, {"objective": 0.5})
    lines = out.getvalue().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["a", "b", "a"]
    assert lines[2].startswith("a: epoch 2/2  objective 0.5000")

    out = io.StringIO()
    with shown_together(Console(file=out, force_terminal=True, width=120)) as each:
        with each("a") as one:
            one(0, 2, None)
            with each("b") as other:
                one(2, 2, {"objective": 0.5})
                other(1, 2, {"objective": None})
    text = out.getvalue()
    assert "a: compiling" in text  # a bar, while it goes on
    lines = re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", text).replace("\r", "\n").splitlines()
    assert lines.count("b  epoch 1/2  objective undefined") == 1
    assert lines.count("a  epoch 2/2  objective 0.5000") == 1
