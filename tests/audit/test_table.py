"""Tables of decisions: what is read, and what is refused with one sentence."""

import datetime
import gzip
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairgym.audit.columns import Codes, crossed, legit_of, names_of, periods_of
from fairgym.audit.roles import Roles
from fairgym.audit.table import read_decisions
from fairgym.core import FairgymError

ROLES = Roles(decision="ok", groups=("sex",))
TABLE = {"ok": ["yes", "no", "yes", "no"], "sex": ["f", "m", "m", "f"]}


def read(table, **roles) -> Any:
    return read_decisions(table, Roles(**{"decision": "ok", "groups": ("sex",)} | roles))


def refusal(table, **roles):
    with pytest.raises(FairgymError) as caught:
        read(table, **roles)
    return str(caught.value)


class Series:
    """A column as polars has it."""

    def __init__(self, values):
        self.values = values

    def to_arrow(self):
        return pa.array(self.values)


class Frame:
    """A data frame with what polars offers: columns, and columns by name."""

    def __init__(self, table):
        self.table = table

    @property
    def columns(self):
        return list(self.table)

    def __getitem__(self, name):
        return Series(self.table[name])


def csv_file(folder, text, name="log.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
    return path


def plain_csv(table, delimiter=","):
    rows = zip(*table.values(), strict=True)
    return "\n".join([delimiter.join(table), *(delimiter.join(map(str, row)) for row in rows), ""])


def unsigned(values):
    """A column as polars has its categories."""
    kinds = sorted(set(values))
    codes = pa.array([kinds.index(value) for value in values], pa.uint32())
    return pa.DictionaryArray.from_arrays(codes, pa.array(kinds, pa.large_string()))


def test_every_kind_of_table_is_read_alike(tmp_path):
    arrow = pa.table(TABLE)
    pq.write_table(arrow, tmp_path / "log.parquet")
    dictionary = pa.table({name: pa.array(x).dictionary_encode() for name, x in TABLE.items()})
    tables = [
        TABLE,
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE).astype("category"),
        arrow,
        dictionary,
        pa.table({name: unsigned(x) for name, x in TABLE.items()}),
        arrow.to_batches()[0],
        Frame(TABLE),
        tmp_path / "log.parquet",
        str(csv_file(tmp_path, plain_csv(TABLE))),
        csv_file(tmp_path, plain_csv(TABLE, ";"), "semicolons.csv"),
        csv_file(tmp_path, plain_csv(TABLE, "\t"), "tabs.tsv"),
        csv_file(tmp_path, "\ufeff" + plain_csv(TABLE), "mark.csv"),
        csv_file(tmp_path, plain_csv(TABLE), "wide.csv", "utf-16"),
        csv_file(tmp_path, plain_csv(TABLE).replace("\n", "\r\n"), "windows.csv"),
    ]
    for table in tables:
        found = read(table)
        assert found.favourable.tolist() == [True, False, True, False], table
        codes = found.groupings["sex"]
        assert codes.names == ("f", "m") and codes.codes.tolist() == [0, 1, 1, 0]
        assert found.rows == found.source.rows == 4 and not found.dropped
    assert len(read(tmp_path / "log.parquet").source.sha256) == 64
    assert read(TABLE).source.sha256 == ""


def test_quotes_commas_and_newlines_in_cells(tmp_path):
    text = 'ok,"the ""group"", sex"\nyes,"a, ""b"""\nno,"two\nlines"\nyes," a, ""b"" "\n'
    found = read(csv_file(tmp_path, text), groups=('the "group", sex',))
    codes = found.groupings['the "group", sex']
    assert codes.names == ('a, "b"', "two\nlines") and codes.codes.tolist() == [0, 1, 0]


def test_the_first_of_several_columns_of_a_name_is_read_and_told(tmp_path):
    path = csv_file(tmp_path, "sex,ok,sex,x,x\nf,yes,a,1,2\nm,no,a,3,4\n")
    found = read(path)
    assert found.groupings["sex"].names == ("f", "m")
    assert found.source.notes == ("Of several columns named 'sex' the first was read.",)
    same = pa.table([pa.array(["yes", "no"])] + [pa.array(["f", "m"])] * 2, ["ok", "sex", "sex"])
    assert "the table has two columns named 'sex'" in refusal(same)


def test_letters_of_windows_are_told(tmp_path):
    path = csv_file(tmp_path, "ok,sex\nyes,Männer\nno,Frauen\n", encoding="cp1252")
    found = read(path)
    assert found.groupings["sex"].names == ("Frauen", "Männer")
    assert found.source.notes == ("log.csv is not UTF-8; its letters were read as Windows-1252.",)


def test_decimal_commas_are_read_and_told(tmp_path):
    rows = ["yes;f;0,5;1,25;1,234", "no;m;1;-3,5;5,678", "yes;m;;2;7,125"]
    text = "\n".join(["ok;sex;score;amount;odd", *rows])
    roles = {"score": "score", "amount": "amount"}
    found = read(csv_file(tmp_path, text), **roles)
    assert np.nan_to_num(found.score, nan=-1.0).tolist() == [0.5, 1.0, -1.0]
    assert found.amount.tolist() == [1.25, -3.5, 2.0]
    assert found.source.notes == ("Decimal commas were read as points: score, amount.",)
    # three digits behind every comma may be thousands
    assert "must have numbers, got '1,234' in row 1" in refusal(
        csv_file(tmp_path, text), score="odd"
    )
    many = "\n".join(
        ["ok;sex;x", *(f"{('yes', 'no')[n % 2]};{'fm'[n % 2]};{n},5" for n in range(20))]
    )
    found = read(csv_file(tmp_path, many), legit=("x",))
    assert found.legit["x"].tolist() == [n + 0.5 for n in range(20)]


def test_values_that_stand_for_an_unknown_group():
    table = {"ok": ["yes", "no"] * 3, "sex": ["f", "m", "Not stated", "f", " not stated", ""]}
    found = read(table, unknown=("not stated",))
    codes = found.groupings["sex"]
    assert codes.names == ("f", "m") and codes.codes.tolist() == [0, 1, -1, 0, -1, -1]
    assert "two or more groups, got only 'm'" in refusal(table, unknown=("not stated", "F"))


def test_a_value_for_an_unknown_group_must_occur():
    table: dict[str, Any] = {"ok": ["yes", "no"] * 3}
    table["sex"] = ["f", "m", "Not stated", "f", "m", "N/A"]
    table["age"] = [9.0, 30.0, 40.0, 30.0, 40.0, 40.0]
    assert refusal(table, unknown=("not stated", "Not statd")) == (
        "unknown must name values of the groups, got 'Not statd', which does not occur in the"
        " column 'sex'; it has: Not stated, f, m"
    )
    both = ("sex", "age")
    assert refusal(table, unknown=("Not statd",), groups=both) == (
        "unknown must name values of the groups, got 'Not statd', which occurs in none of the"
        " columns 'sex', 'age'; did you mean 'Not stated'?"
    )
    # A value of one column, written as a number, and one that always stands for an empty cell.
    found = read(table, unknown=("Not stated", "9.0", "n/a"), groups=both)
    assert found.groupings["age"].codes.tolist() == [-1, 0, 1, 0, 1, 1]
    assert found.groupings["sex"].codes.tolist() == [0, 1, -1, 0, 1, -1]
    roles = Roles(decision="ok", groups=("sex",), unknown=("Not stated", "Declined"))
    assert read_decisions(table, roles, absent_ok=True).groupings["sex"].names == ("f", "m")


def test_many_values_are_not_all_listed():
    table = {"ok": ["yes", "no"] * 10, "area": [f"area {n:02d}" for n in range(20)]}
    assert refusal(table, unknown=("zone",), groups=("area",)).endswith("area 11 and 8 more")


@pytest.mark.parametrize(
    "values, expected",
    [
        (["yes", "no"], [1, 0]),
        (["Y", "N"], [1, 0]),
        (["TRUE", "false"], [1, 0]),
        ([True, False], [1, 0]),
        ([1, 0], [1, 0]),
        ([1.0, 0.0], [1, 0]),
        (["1.0", "0.0"], [1, 0]),
    ],
)
def test_yes_true_and_one_are_favourable(values, expected):
    found = read({"ok": values * 2, "sex": ["f", "m"] * 2})
    assert found.favourable.tolist() == [bool(x) for x in expected] * 2


def test_named_values_and_those_that_are_neither():
    table = {"ok": ["granted", "refused", "part", None, ""], "sex": ["f", "m", "m", "f", "f"]}
    assert read(table, favourable=("granted", "part")).favourable.tolist() == [True, False, True]
    assert read(table, favourable=("granted",)).dropped == {"no ok": 2}
    found = read(table, favourable=("granted",), unfavourable=("refused",))
    assert found.favourable.tolist() == [True, False]
    assert found.dropped == {"no ok": 2, "ok neither favourable nor unfavourable": 1}
    assert read(table, favourable=("Granted",)).favourable.tolist() == [True, False, False]
    truths = {"ok": [True, False], "sex": ["f", "m"]}
    assert read(truths, favourable=("False",)).favourable.tolist() == [False, True]
    numbers = {"ok": [1, 2, 3, 3], "sex": ["f", "m", "m", "f"]}
    assert read(numbers, favourable=("1", "2")).favourable.tolist() == [True, True, False, False]


def test_names_are_sorted_and_unknown_ones_have_no_code():
    found = names_of(pa.chunked_array([["10", "9", None], [" 9 ", "", "NA", "n/a"]]))
    assert found.names == ("9", "10") and found.codes.tolist() == [1, 0, -1, 0, -1, -1, -1]
    assert found.counts().tolist() == [2, 1]
    numbers = names_of(pa.chunked_array([[1.0, 2.5, float("nan"), 1.0]]))
    assert numbers.names == ("1", "2.5") and numbers.codes.tolist() == [0, 1, -1, 0]
    dates = names_of(pa.chunked_array([[datetime.date(2020, 1, 2)]]))
    assert dates.names == ("2020-01-02",)
    kept = found.kept(np.array([1, 2, 3]))
    assert kept.names == ("9",) and kept.codes.tolist() == [0, -1, 0]


def test_crossed_groups_are_those_that_occur():
    sex = Codes(np.array([0, 1, 1, -1], np.int32), ("f", "m"))
    race = Codes(np.array([1, 0, 0, 0], np.int32), ("a", "b"))
    found = crossed([sex, race])
    assert found.names == ("f & b", "m & a") and found.codes.tolist() == [0, 1, 1, -1]
    table = TABLE | {"race": ["b", "a", "b", "a"]}
    both = read(table, groups=("sex", "race"), cross=True)
    assert list(both.groupings) == ["sex", "race", "sex × race"]
    assert both.groupings["sex × race"].names == ("f & a", "f & b", "m & a", "m & b")


@pytest.mark.parametrize(
    "times, every, names, codes",
    [
        ([1999, 1997, 1999, 2002], "", ("1997", "1999", "2002"), [1, 0, 1, 2]),
        (["2020-02", "2020-01", "2020-02", "2021-01"], "", ("2020-01", "2020-02", "2021-01"), None),
        (["Dec-2018", "Jan-2018", "Feb-2018", "Dec-2018"], "", None, [2, 0, 1, 2]),
        (
            ["2020-02-28", "2020-01-31", "", "2020-02-01"],
            "month",
            ("2020-01", "2020-02"),
            [1, 0, -1, 1],
        ),
        (
            ["2020-12-28", "2021-01-03", "2021-01-04", "2020-12-28"],
            "week",
            ("2020-W53", "2021-W01"),
            None,
        ),
        (
            ["2020-05", "2020-06", "2020-07", "2020-05"],
            "quarter",
            ("2020Q2", "2020Q3"),
            [0, 0, 1, 0],
        ),
        (
            [datetime.date(2020, 5, 1)] * 3 + [datetime.date(2019, 1, 1)],
            "year",
            ("2019", "2020"),
            [1, 1, 1, 0],
        ),
        (
            np.array(["2020-05-01", "2020-05-02"] * 2, "datetime64[ns]"),
            "day",
            ("2020-05-01", "2020-05-02"),
            None,
        ),
    ],
)
def test_periods_are_distinct_times_in_order(times, every, names, codes):
    found = read(TABLE | {"when": times}, time="when", every=every).periods
    assert names is None or found.names == names
    assert codes is None or found.codes.tolist() == codes


def test_a_column_of_years_has_no_empty_periods():
    column = pa.chunked_array([[1997, 2002, 1998]])
    assert periods_of(column, "year").names == ("1997", "1998", "2002")


def test_numbers_persons_and_clusters():
    table = TABLE | {
        "score": [1, None, 3, 4],
        "id": ["p", "q", None, "p"],
        "branch": ["x", "y", None, "x"],
        "w": [1.0, 2.0, 0.0, 1.0],
        "repaid": ["yes", None, "no", None],
    }
    found = read(table, score="score", person="id", cluster="branch", weight="w", outcome="repaid")
    assert np.nan_to_num(found.score, nan=-1.0).tolist() == [1.0, -1.0, 3.0, 4.0]
    assert found.person[0] == found.person[3] and len(set(found.person.tolist())) == 3
    assert found.cluster.names == ("x", "y")
    units = found.units
    assert units[0] == units[3] and len(set(units.tolist())) == 3
    assert np.nan_to_num(found.outcome, nan=-1.0).tolist() == [1.0, -1.0, 0.0, -1.0]
    assert found.weight.tolist() == [1.0, 2.0, 0.0, 1.0]
    empty = read(TABLE | {"id": ["p", "", "NA", "p"]}, person="id").person
    assert empty[0] == empty[3] and len(set(empty.tolist())) == 3
    some = found.kept(np.array([0, 2]))
    assert some.rows == 2 and some.groupings["sex"].codes.tolist() == [0, 1]
    assert some.dropped == found.dropped and some.weight.tolist() == [1.0, 0.0]


def test_columns_to_adjust_for_are_numbers_or_names():
    many = [str(x / 2) for x in range(11)]
    found = legit_of(pa.chunked_array([many]), "ratio")
    assert isinstance(found, np.ndarray) and found.tolist() == [x / 2 for x in range(11)]
    few = legit_of(pa.chunked_array([[3, 1, 2, 1]]), "grade")
    assert isinstance(few, Codes) and few.names == ("1", "2", "3")
    words = legit_of(pa.chunked_array([[f"town {x}" for x in range(20)]]), "town")
    assert isinstance(words, Codes) and len(words.names) == 20
    with pytest.raises(
        FairgymError, match=r"'ratio' \(legit\) must have numbers, got 'x' in row 12"
    ):
        legit_of(pa.chunked_array([[*many, "x"]]), "ratio")


@pytest.mark.parametrize(
    "change, roles, message",
    [
        ({}, {"groups": ("gender",)}, "unknown column 'gender' in the table"),
        ({}, {"groups": ("sx",)}, "unknown column 'sx' in the table; did you mean 'sex'?"),
        (
            {"ok": ["approved", "denied"] * 2},
            {},
            "the column 'ok' must have yes and no, true and false, or 1 and 0, or favourable values"
            " must be named as ok=VALUE; it has: approved, denied",
        ),
        (
            {"ok": ["approved", "denied"] * 2},
            {"favourable": ("aproved",)},
            "the favourable value 'aproved' does not occur in the column 'ok'; did you mean"
            " 'approved'?",
        ),
        (
            {"ok": [None, "", "NA", None]},
            {},
            "the column 'ok' must have decisions, got empty cells",
        ),
        ({"sex": ["f"] * 4}, {}, "the column 'sex' must have two or more groups, got only 'f'"),
        ({"sex": [None] * 4}, {}, "the column 'sex' must have two or more groups, got empty cells"),
        (
            {"when": ["2020-01-01", "2020-01-02", "soon", "2020-01-02"]},
            {"time": "when"},
            "the column 'when' (time) must have times of one kind: whole numbers, dates such as",
        ),
        (
            {"when": ["2020-01-01", "2020-01-02", "2020-01-02", "02/30/2020"]},
            {"time": "when"},
            "got '02/30/2020' in row 4",
        ),
        (
            {"when": [1, 2, 3, 2]},
            {"time": "when", "every": "month"},
            "the column 'when' (time) must have dates, to be split by month, got '1' in row 1",
        ),
        (
            {"w": [1.0, -0.5, 1.0, 1.0]},
            {"weight": "w"},
            "the column 'w' (weight) must have numbers of at least 0, got -0.5 in row 2",
        ),
        ({"w": [0.0] * 4}, {"weight": "w"}, "the column 'w' (weight) must have weights above 0"),
        ({"w": [1, None, 1, 1]}, {"weight": "w"}, "a number in every row, got 1 empty cells"),
        (
            {"s": ["1", "2", "high", "low"]},
            {"score": "s"},
            "the column 's' (score) must have numbers, got 'high' in row 3",
        ),
        ({"s": [1, 2, np.inf, 2]}, {"score": "s"}, "must have finite numbers, got inf in row 3"),
        (
            {"back": ["good", "bad"] * 2},
            {"outcome": "back"},
            "or good values must be named as back=VALUE; it has: bad, good",
        ),
        ({"sex": ["f", "m"]}, {}, "the columns must be equally long, got ok 4, sex 2 rows"),
    ],
)
def test_bad_tables_are_one_sentence(change, roles, message):
    assert message in refusal(TABLE | change, **roles)


def test_too_many_groups_and_times():
    many = {"ok": [1, 0] * 200, "sex": list(range(400)), "when": list(range(400))}
    assert "must have at most 200 groups, got 400 different values; is it a number" in refusal(many)
    long = {"ok": [1, 0] * 3000, "sex": ["f", "m"] * 3000, "when": list(range(6000))}
    assert "at most 5,000 different times, got 6,000; group dates with --every" in refusal(
        long, time="when"
    )


def test_bad_files_are_one_sentence(tmp_path):
    good = plain_csv(TABLE)
    cases = {
        "log.xlsx": (b"PK\3\4", "must be a file that ends in .csv, .tsv or .parquet"),
        "book.csv": (b"PK\3\4 zipped", "is no text; it must be a CSV file"),
        "picture.csv": (b"ok,sex\n\0\1\2", "is no text; it must be a CSV file"),
        "empty.csv": (b"", "is empty; it must have a line of column names"),
        "head.csv": (b"ok,sex\n", "must have one row per decision, got no rows"),
        "ragged.csv": (f"{good}yes\n".encode(), "is not a readable CSV file: CSV parse error"),
        "other.csv": (b"a,b\n1,2\n", "unknown column 'ok' in"),
        "text.parquet": (good.encode(), "is not a readable parquet file"),
        "cut.parquet": (b"PAR1 and no more", "is not a readable parquet file"),
        "zip.csv.gz": (gzip.compress(good.encode()), "must be a file that ends in"),
    }
    for name, (content, message) in cases.items():
        assert message in refusal(csv_file(tmp_path, content, name)), name
    assert "does not exist" in refusal(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in refusal(tmp_path / "folder.csv")
    assert "table must be a path" in refusal("")
    assert "pyarrow in memory, or a dictionary of columns, got a int" in refusal(3)


def test_a_lazy_frame_is_one_sentence():
    class LazyFrame(Frame):
        def collect(self):
            return self.table

    assert "must be the path of a CSV or parquet file" in refusal(LazyFrame(TABLE))


def test_bad_roles_are_one_sentence():
    for change, message in [
        ({"decision": ""}, "decision is not given; name the column with the decisions"),
        ({"groups": ()}, "group is not given; name one or more columns"),
        ({"groups": ("a", "a")}, "groups must name each column once, got a, a"),
        ({"unknown": ("x", "")}, "unknown must name values, such as 'Not stated', got 'x,'"),
        ({"every": "moon"}, "every must be day, week, month, quarter, year, got 'moon'"),
        ({"min_n": 0}, "min_n must be a whole number from 1"),
        ({"level": 1.0}, "level must be a number from 0.5 to below 1, got 1.0"),
        ({"min_share": 2.0}, "min_share must be a number from 0 to 1, got 2.0"),
    ]:
        with pytest.raises(FairgymError) as caught:
            Roles(**{"decision": "ok", "groups": ("sex",)} | change)
        assert message in str(caught.value)


def test_periods_and_intervals_of_pandas_are_read_as_they_print():
    months = pd.period_range("2020-01", periods=4, freq="M").to_series(index=range(4))
    cut = pd.cut(np.arange(4.0), [-1.0, 1.0, 3.0])
    frame = pd.DataFrame(TABLE).assign(when=months.where(months.index > 0), size=cut)
    found = read(frame, time="when", legit=("size",))
    assert found.periods.names == ("2020-02", "2020-03", "2020-04")
    assert found.periods.codes.tolist() == [-1, 0, 1, 2]
    assert found.legit["size"].names == ("(-1.0, 1.0]", "(1.0, 3.0]")


def test_columns_of_other_kinds_are_one_sentence(tmp_path):
    lists = pa.table(TABLE | {"x": [[1], [2], [3], [4]]})
    told = "the column 'x' must have texts, numbers, dates or truths, got list<"
    assert told in refusal(lists, legit=("x",))
    pq.write_table(lists, tmp_path / "lists.parquet")
    assert told in refusal(tmp_path / "lists.parquet", person="x")
    raw = pa.table(TABLE | {"x": [b"a", b"\xff", b"a", b"b"]})
    assert "got binary" in refusal(raw, legit=("x",))
    text = pa.table(TABLE | {"x": [b"a", b"b", b"a", b"b"]})
    assert read(text, legit=("x",)).legit["x"].names == ("a", "b")


def test_a_frame_of_mixed_values_is_read_as_texts():
    frame = pd.DataFrame(TABLE | {"grade": [1, "a", None, 2.0]})
    found = read(frame, legit=("grade",))
    assert found.legit["grade"].names == ("1", "2", "a")
