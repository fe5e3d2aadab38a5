"""Bad words on the command line that are no value of one flag: commands, names, combinations."""

from bad_flags import DIGITS, LONG, Case

# Words -> what the sentence names.
WORDS = [
    # no such command
    *(
        ([word], "unknown command")
        for word in ("", " ", "trian", "TRAIN", "train ", "-", "--", "-x")
    ),
    *(([word], "unknown command") for word in ("a\0b", "\x1b[2J", "\ud800", LONG, "--versio", "é")),
    # commands without flags
    *(
        (["version", word], "version takes no arguments")
        for word in ("x", "", "--x", "-v", "\x1b", LONG)
    ),
    *((["list", word], "list --help") for word in ("x", "", "--x", "-l", "\0", LONG)),
    # names that stand alone
    *((["train", word], "environment") for word in ("nope", "", " ", "Loan", "loan/", "../loan")),
    *((["train", word], "environment") for word in ("_sampled", "a\0b", "\x1b[2J", "é", LONG)),
    (["train"], "environment is not given"),
    (["train", "--epochs", "3"], "environment is not given"),
    (["train", "loan", "health"], "unknown argument 'health'"),
    (["train", "loan", "--", "3"], "'3'"),
    (["train", "loan", "-e", "3"], "'-e'"),
    (["train", "loan", ""], "''"),
    *((["bench", word], "environment") for word in ("nope", "", "--", "a\0b", "loan,health", LONG)),
    (["bench"], "no environment is given"),
    (["bench", "loan", "nope"], "nope"),
    *(
        (["reproduce", word], "experiment")
        for word in ("nope", "", "mafe", "mafe-fig1", "a\0b", LONG)
    ),
    *((["reproduce", word], "experiment") for word in ("mafe_fig5", "mafe-fig5 ", "../fig5", "é")),
    (["reproduce"], "no experiment is given"),
    (["reproduce", "--list", "mafe-fig5"], "mafe-fig5"),
    (["reproduce", "mafe-fig8", "nope"], "nope"),
    *((["data", word], "action") for word in ("nope", "", "Describe", "--x", "a\0b", LONG)),
    *((["data", "describe", word], "population") for word in ("nope", "", "../loan", "a\0b", LONG)),
    (["data", "describe"], "no population is given"),
    *((["data", "import", word], "source") for word in ("nope", "", "lending_club", "--x", LONG)),
    (["data", "import"], "source is not given"),
    *(
        (["data", "import", name], "needs one file, got 0")
        for name in ("lending-club", "meps", "higher-ed")
    ),
    (["data", "import", "meps", "a.xml", "b.xml"], "needs one file, got 2"),
    *(([command], "no run folder is given") for command in ("evaluate", "report")),
    *(([command, "--episodes", "2"], "no run folder") for command in ("evaluate", "report")),
    *((["simulate", word], "environment") for word in ("nope", "", "../loan", "a\0b", LONG)),
    (["simulate"], "environment is not given"),
    (["simulate", "loan", "health"], "unknown argument 'health'"),
    # decisions and parameters that are changed
    *((["simulate", "loan", "--fix", word], "fix must be") for word in ("", "=", "x", "x=", "=1")),
    *(
        (["simulate", "loan", "--params", word], "params must be")
        for word in ("", "=", "x", "x=", "=1")
    ),
    *(
        (["simulate", "loan", "--fix", f"admissions={value}"], "scenario 'changed'")
        for value in (
            "nan",
            "inf",
            "2",
            "-1",
            "1,2,3",
            "nope",
            "nope:x",
            "os:",
            "+x%",
            "--5%",
            LONG,
        )
    ),
    *(
        (["simulate", "loan", "--fix", f"{name}=0.5"], name.partition(".")[0])
        for name in ("bank", "admissions.nope", "admissions.", "bank.x", "admissions.threshold.x")
    ),
    (["simulate", "loan", "--fix", f"{LONG}=0.5"], "xxx"),
    *(
        (["simulate", "loan", "--params", f"deposit_rate={value}"], "deposit_rate")
        for value in ("nan", "inf", "2", "-1", "x", "1,2", "+x%", "+1e39%", "+9999%", DIGITS, LONG)
    ),
    *(
        (["simulate", "loan", "--params", f"{name}=0.5"], name.partition(".")[0])
        for name in ("nope", "deposit_rate.nope", "deposit_rate.", "beds_at_start")
    ),
    (["simulate", "loan", *"--params deposit_rate=0 --params deposit_rate=1".split()], "twice"),
    (
        ["simulate", "loan", *"--population 10 --applicants 11".split()],
        "applicants must be a whole number from 1 to 10, got 11",
    ),
    (["simulate", "loan", "--reference", "nope", "--fix", "admissions=0"], "nope"),
    *(
        ([*words.split(), "--csv", path], path)
        for words in ("simulate loan", "evaluate run", "bench loan", "list", "reproduce --list")
        for path in ("/proc/x.csv", "run", "run/x.txt")
    ),
    # modules of others, for every command
    *(
        (["--import", word, "list"], word[:4])
        for word in ("nope_nothing", "nope.nothing", "os.nope", "../x", "a b", "x.py", "1x", LONG)
    ),
    *((["--import", word, "list"], "--import") for word in ("", "-x", "--import")),
    *(
        ([*words.split(), "--import"], "--import")
        for words in ("list", "train loan", "evaluate run")
    ),
    *(
        ([*words.split(), "--import=nope_nothing"], "nope_nothing")
        for words in ("version", "train loan", "evaluate run", "report run", "bench loan", "demo")
    ),
    # settings that go together wrongly
    (["train", "loan", "--seed", "1", "--seeds", "0:2"], "seed and seeds"),
    (["train", "loan_simple", "--resume", "--overwrite", "--out", "run"], "resume and overwrite"),
    (["train", "loan", "--resume", "--out", "typo"], "typo"),
    (["train", "--resume"], "environment is not given"),
    (["train", "health", "--resume", "--out", "run"], "environment"),
    (["train", "loan_simple", "--out", "run"], "already holds a run"),
    (["train", "loan_simple", "--seeds", "0:2", "--out", "run"], "itself the folder of a run"),
    (["train", "--resume", "--out", "run", "--seed", "5"], "seed is 5"),
    (["train", "--resume", "--out", "run", "--params.deposit-rate", "0.01"], "deposit_rate"),
    (["train", "--resume", "--out", "run", "--algorithm", "f-macem"], "algorithm"),
    (
        ["train", "loan", "--population", "10", "--applicants", "11"],
        "applicants must be a whole number from 1 to 10, got 11",
    ),
    (["train", "loan", "--population", "10", "--disbursement-cap", "11"], "disbursement_cap"),
    (
        ["train", "loan", "--action-groups", "3"],
        "action_groups must be a whole number from 1 to 2, got 3",
    ),
    (["train", "loan", "--algorithm", "grid-search", "--epochs", "3"], "--epochs"),
    (["train", "loan", "--algorithm", "f-mappo", "--elite-share", "0.1"], "--elite-share"),
    (["train", "health", "--applicants", "3"], "--applicants"),
    (["train", "loan", "--params.beds-at-start", "3"], "--params.beds-at-start"),
    (["train", "loan", "--epochs", "3", "--epochs", "x"], "epochs must be a whole number, got 'x'"),
    (
        ["train", "loan", "--epochs", "0"],
        "epochs must be a whole number from 1 to 2147483647, got 0",
    ),
    (
        ["train", "loan", "--population", "1"],
        "population must be a whole number from 2 to 1000000, got 1",
    ),
    (
        ["train", "loan", "--episodes-per-epoch", "1"],
        "episodes_per_epoch must be a whole number from 2 to 1000000, got 1",
    ),
    (
        ["train", "loan", "--algorithm", "grid-search", "--steps", "1"],
        "steps must be a whole number from 2 to",
    ),
    # several values of a kind in one word
    *(
        (["train", "loan", "--fix", word], "fix must be")
        for word in ("", "=", "x", "admissions=", "=1")
    ),
    *(
        (["train", "loan", "--fix", f"admissions={value}"], "'admissions'")
        for value in ("nan", "inf", "2", "-1", "1,2,3", "nope", ",", "1,,1", DIGITS, "a\0b", LONG)
    ),
    *((["train", "loan", "--fix", f"{a}=0"], a) for a in ("bank", "Ad missions", "admissions,x")),
    (["train", "loan", "--fix", f"{LONG}=0"], "xxx"),
    (
        [
            "train",
            "loan",
            *"--fix admissions=0 --fix disbursement=0 --fix debt_management=0".split(),
        ],
        "fix",
    ),
    *((["train", "loan", "--bound", word], "bound must be") for word in ("", "=", "x", "x=", "=1")),
    *(
        (["train", "loan", "--bound", f"wait_disparity={value}"], "'wait_disparity'")
        for value in ("nan", "-1", "inf", "low", "1,2", f"-{DIGITS}", "\x1b", LONG)
    ),
    *((["train", "loan", "--bound", f"{m}=1"], m) for m in ("gap", "x y")),
    *(
        (["train", "loan", "--agent-objective", word], "agent-objective must be")
        for word in ("", "x=")
    ),
    *(
        (["train", "loan", "--agent-objective", f"admissions={value}"], "objective")
        for value in ("nope", "frontier:2", "profit=nan", "nope=1", "a\0b", LONG)
    ),
    (["train", "loan", "--agent-objective", "bank=direct"], "'bank'"),
    (
        ["train", "loan", *"--fix admissions=0 --agent-objective admissions=direct".split()],
        "'admissions'",
    ),
]


def word_cases() -> list[Case]:
    """All of them."""
    return [Case(tuple(words), (names,)) for words, names in WORDS]
