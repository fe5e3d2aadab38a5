import gzip

import numpy as np
import pytest

from fairgym.core.errors import FairgymError
from fairgym.data import describe, import_lending_club, load_population, sources
from fairgym.data.importers import importer_modules, lending_club
from fairgym.utils import files


@pytest.fixture
def good(tmp_path, loans):
    path = tmp_path / "accepted.csv"
    path.write_text(loans.csv_text(loans.random_rows()))
    return path


def test_import_round_trip(good, home):
    seen = []
    report = import_lending_club(good, progress=lambda done, total: seen.append((done, total)))
    assert (report.read, report.kept, report.dropped) == (202, 200, {"footer or empty row": 2})
    assert seen[-1] == (good.stat().st_size,) * 2
    assert sources("loan") == ["built-in", "lending-club"]
    people = load_population("loan", "lending-club")
    assert len(people) == 200 and people.source == "lending-club"
    # what the full file has is observed; only these are imputed
    assert set(people.imputed) == {"months_since_delinquency", "race", "group"}
    assert people.bias_strength == report.bias_strength
    assert set(people.scores) == {"qualification", "propensity"}
    text = str(report)
    assert "rows read" in text and "loans kept" in text and "AUC" in text and str(home) in text
    assert "200 people" in describe("loan", "lending-club")
    assert importer_modules()["lending-club"].run is import_lending_club


def test_same_file_same_bits(good, tmp_path, monkeypatch):
    for name in ("one", "two"):
        monkeypatch.setenv("FAIRGYM_DATA_HOME", str(tmp_path / name))
        import_lending_club(good)
    one, two = ((tmp_path / name / "lending-club") for name in ("one", "two"))
    assert sorted(p.name for p in one.iterdir()) == sorted(p.name for p in two.iterdir())
    assert all((two / path.name).read_bytes() == path.read_bytes() for path in one.iterdir())


def test_compressed_and_in_pieces(good, tmp_path, monkeypatch):
    import_lending_club(good)
    whole = load_population("loan", "lending-club").checksum
    packed = tmp_path / "accepted.csv.gz"
    packed.write_bytes(gzip.compress(good.read_bytes()))
    monkeypatch.setattr(lending_club, "ROWS_AT_ONCE", 7)
    import_lending_club(packed)
    assert load_population("loan", "lending-club").checksum == whole


def test_values_and_reasons(tmp_path, loans):
    row = loans.row
    policy = "Does not meet the credit policy. Status:"
    rows = [
        row(int_rate=" 13.99%", term="60 months", mths_since_last_delinq="200"),
        row(loan_status="Charged Off", issue_d="Nov-2015", last_pymnt_d="Feb-2017"),
        row(loan_status="Charged Off", last_pymnt_d=""),
        row(loan_status="Default", issue_d="Jan-2015", last_pymnt_d="Jan-2020"),
        row(loan_status=policy + "Charged Off", issue_d="Jan-2016", last_pymnt_d="Feb-2016"),
        row(loan_status=policy + "Fully Paid", mths_since_last_delinq="7.0"),
        row(application_type="Joint App", annual_inc="0", annual_inc_joint="90000", dti_joint="9"),
    ]
    left_out = [
        row(loan_status="Current"),
        row(loan_status="Late (31-120 days)"),
        row(loan_status=""),
        row(emp_title="Clerk, senior"),  # no quotes: what follows is one column off
        row(dti=""),
        row(annual_inc="0.0"),
        row(dti="-1"),
        row(int_rate="n/a"),
        row(sub_grade=""),
        row(loan_amnt="0"),
        row(fico_range_low=""),
        row(loan_status="Charged Off", issue_d="soon"),
    ]
    path = tmp_path / "file.csv"
    path.write_text(loans.csv_text(rows + loans.random_rows() + left_out))
    report = import_lending_club(path)
    assert report.kept == len(rows) + 200
    assert report.dropped == {
        "footer or empty row": 2,
        "not resolved yet": 4,
        "dti missing or unreadable": 1,
        "int_rate missing or unreadable": 1,
        "fico_range_low missing or unreadable": 1,
        "sub_grade missing or unreadable": 1,
        "no income": 1,
        "dti below zero": 1,
        "loan_amnt not above zero": 1,
        "issue_d or last_pymnt_d unreadable": 1,
    }
    assert report.read == report.kept + sum(report.dropped.values())
    c = {k: v[: len(rows)] for k, v in load_population("loan", "lending-club").columns.items()}
    assert c["interest_rate"][0] == np.float32(0.1399) and c["term"][0] == 60
    np.testing.assert_array_equal(c["defaulted"], [0, 1, 1, 1, 1, 0, 0])
    np.testing.assert_array_equal(c["months_to_default"], [60, 15, 0, 36, 1, 36, 36])
    np.testing.assert_array_equal(c["months_since_delinquency"], [120, 120, 120, 120, 120, 7, 120])
    assert c["annual_income"][-1] == 90_000 and c["debt_to_income"][-1] == 9
    assert c["sub_grade"][0] == "C2" and c["fico_low"][0] == 690


def test_older_file_without_joint_columns(tmp_path, loans):
    path = tmp_path / "file.csv"
    lines = loans.csv_text(loans.random_rows()).splitlines()
    path.write_text("\n".join(line.rsplit(",", 2)[0] for line in lines))
    assert import_lending_club(path).kept == 200


def broken_files(loans, folder):
    """Name of a damage -> damaged file and expected error."""
    text = loans.csv_text(loans.random_rows())
    packed = gzip.compress(text.encode())
    contents = {
        "missing column": (text.replace("fico_range_low", "fico"), "no column fico_range_low"),
        "two missing": (text.replace("dti", "x"), "no column dti"),
        "truncated gzip": (packed[: len(packed) // 2], "truncated or damaged gzip"),
        "damaged gzip": (packed[:200] + b"\0" * 50 + packed[250:], "truncated or damaged gzip"),
        "gzip of nothing": (packed[:5], "truncated or damaged gzip"),
        "zip": (b"PK\x03\x04 and more", "zip archive"),
        "empty": (b"", "is empty"),
        "binary": (bytes(range(256)) * 20, "no column|not a readable CSV"),
        "header only": (loans.header + "\n", "no usable resolved loan"),
        "no usable row": (loans.csv_text([loans.row(dti="")]), "1 dti missing or unreadable"),
        "open quote": (text + loans.row(emp_title='"Clerk'), "not a readable CSV file"),
        "only repaid": (loans.csv_text([loans.row()] * 50), "with 5 defaulted"),
    }
    for name, (content, message) in contents.items():
        path = folder / f"{name.replace(' ', '-')}.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        yield name, path, message


def test_broken_files_leave_the_old_import(good, tmp_path, loans, home):
    import_lending_club(good)
    before = {p.name: p.read_bytes() for p in (home / "lending-club").iterdir()}
    for name, path, message in broken_files(loans, tmp_path):
        with pytest.raises(FairgymError, match=message) as caught:
            import_lending_club(path)
        assert "\n" not in str(caught.value), name
        after = {p.name: p.read_bytes() for p in (home / "lending-club").iterdir()}
        assert after == before, name
    with pytest.raises(FairgymError, match="is not a file"):
        import_lending_club(tmp_path / "absent.csv")


def test_failure_while_writing_leaves_the_old_import(good, tmp_path, loans, home, monkeypatch):
    import_lending_club(good)
    old = load_population("loan", "lending-club").checksum
    other = tmp_path / "other.csv"
    other.write_text(loans.csv_text(loans.random_rows(seed=1)))
    replace = files.write_whole

    def fails_at_the_end(path, content):
        if path.name == "checksums.json":
            raise OSError(28, "No space left on device")
        replace(path, content)

    with monkeypatch.context() as patch:
        patch.setattr("fairgym.data.store.write_whole", fails_at_the_end)
        with pytest.raises(FairgymError, match="No space left on device"):
            import_lending_club(other)
    assert load_population("loan", "lending-club").checksum == old
    import_lending_club(other)
    assert load_population("loan", "lending-club").checksum != old
    assert len(list((home / "lending-club").iterdir())) == 3


def test_home_that_cannot_be_written(good, tmp_path, monkeypatch):
    (tmp_path / "a-file").write_text("")
    monkeypatch.setenv("FAIRGYM_DATA_HOME", str(tmp_path / "a-file"))
    with pytest.raises(FairgymError, match="cannot be written"):
        import_lending_club(good)


def test_numbers_beyond_single_precision_are_dropped(tmp_path, loans):
    rows = loans.random_rows()
    odd = [loans.row(annual_inc=value) for value in ("1e300", "inf", "1e10")]
    odd += [loans.row(loan_amnt="1e300"), loans.row(dti="1e39"), loans.row(fico_range_low="9e99")]
    plain, path = tmp_path / "plain.csv", tmp_path / "odd.csv"
    plain.write_text(loans.csv_text(rows))
    path.write_text(loans.csv_text([*rows, *odd]))
    import_lending_club(plain)
    expected = load_population("loan", "lending-club").checksum
    report = import_lending_club(path)
    assert load_population("loan", "lending-club").checksum == expected
    assert report.dropped["annual_inc above 1e+09"] == 3
    assert sum(count for reason, count in report.dropped.items() if "above 1e+09" in reason) == 6
