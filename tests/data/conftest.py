"""Made-up files in the formats of Lending Club and IPUMS, and a data folder of the test's own."""

import gzip
from xml.sax.saxutils import escape

import numpy as np
import pytest

HEADER = (
    "id,member_id,loan_amnt,funded_amnt,term,int_rate,installment,grade,sub_grade,emp_title,"
    "annual_inc,issue_d,loan_status,dti,fico_range_low,fico_range_high,mths_since_last_delinq,"
    "last_pymnt_d,application_type,annual_inc_joint,dti_joint"
)
GOOD = {
    "id": "1",
    "member_id": "",
    "loan_amnt": "10000.0",
    "funded_amnt": "10000.0",
    "term": " 36 months",
    "int_rate": "12.5",
    "installment": "334.54",
    "grade": "C",
    "sub_grade": "C2",
    "emp_title": '"Clerk, senior"',
    "annual_inc": "50000.0",
    "issue_d": "Dec-2015",
    "loan_status": "Fully Paid",
    "dti": "15.0",
    "fico_range_low": "690.0",
    "fico_range_high": "694.0",
    "mths_since_last_delinq": "",
    "last_pymnt_d": "Dec-2018",
    "application_type": "Individual",
    "annual_inc_joint": "",
    "dti_joint": "",
}
FOOTER = "Total amount funded in policy code 1: 6417608175" + "," * HEADER.count(",")


def row(**changes):
    """One line of the file: a repaid loan, with changes."""
    assert not set(changes) - set(GOOD)
    values = {**GOOD, **changes}
    return ",".join(values[name] for name in HEADER.split(","))


def csv_text(rows):
    """A whole file with its two footer lines."""
    return "\n".join([HEADER, *rows, FOOTER, FOOTER.replace("1:", "2:")]) + "\n"


def random_rows(number=200, seed=0):
    """Resolved loans with varied values: default is likelier at high rates and low FICO."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(number):
        rate, fico = rng.uniform(5, 30), 660 + 5 * rng.integers(0, 20)
        bad = rng.random() < 1 / (1 + np.exp(-(rate - 20) / 4 + (fico - 700) / 40))
        rows.append(
            row(
                loan_amnt=f"{rng.integers(1000, 40000)}.0",
                term=f" {rng.choice([36, 60])} months",
                int_rate=f"{rate:.2f}",
                annual_inc=f"{rng.integers(20000, 200000)}",
                dti=f"{rng.uniform(0, 40):.2f}",
                fico_range_low=f"{fico}.0",
                fico_range_high=f"{fico + 4}.0",
                mths_since_last_delinq="" if rng.random() < 0.5 else f"{rng.integers(1, 90)}.0",
                loan_status="Charged Off" if bad else "Fully Paid",
                last_pymnt_d="Mar-2017" if bad else "Dec-2018",
            )
        )
    return rows


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The user's data folder, empty."""
    folder = tmp_path / "home"
    monkeypatch.setenv("FAIRGYM_DATA_HOME", str(folder))
    return folder


@pytest.fixture
def loans():
    """The helpers of this file, for the tests (which cannot import a conftest)."""

    class Helpers:
        header, footer = HEADER, FOOTER
        row = staticmethod(row)
        csv_text = staticmethod(csv_text)
        random_rows = staticmethod(random_rows)

    return Helpers


DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5">
<stdyDscr>
<citation><serStmt><serName abbr="{collection}">IPUMS</serName>
<serInfo>doi:10.18128/D071</serInfo></serStmt></citation>
<stdyInfo><notes>User-provided description:  made up</notes></stdyInfo>
<dataAccs><useStmt><citReq>Cite it.</citReq><conditions>None.</conditions></useStmt></dataAccs>
</stdyDscr>
<fileDscr><fileTxt><fileName>{data}</fileName><fileCont>Microdata records</fileCont>
<fileStrc type="{structure}"/><fileType charset="UTF-8"/><format>fixed length fields</format>
<filePlac>Minneapolis</filePlac></fileTxt></fileDscr>
<dataDscr>
{variables}
</dataDscr>
</codeBook>
"""
VARIABLE = """<var ID="{name}" name="{name}" files="F1" dcml="{decimals}" intrvl="discrete">
<location StartPos="{first}" EndPos="{last}" width="{width}"/>
<labl>{name}</labl><txt>About {name}.</txt>
{codes}
<concept>Core</concept><varFormat type="numeric" schema="other"/></var>"""


def write_extract(
    folder, rows, widths, *, decimals=None, labels=None, kind=".dat", name="x_00001", **ddi
):
    """An IPUMS extract: name.xml and name.dat, .dat.gz, .csv or .csv.gz; returns the .xml's path.

    `rows` are mappings from variable to code (None: blank) in the order of `widths`, the number
    of characters of each variable; `decimals` are how many of these are implied decimals;
    `labels` are code -> label by variable.
    """
    decimals, labels = decimals or {}, labels or {}
    described, first = [], 1
    for variable, width in widths.items():
        codes = "".join(
            f"<catgry><catValu>{code}</catValu><labl>{escape(label)}</labl></catgry>"
            for code, label in labels.get(variable, {}).items()
        )
        last = first + width - 1
        described.append(
            VARIABLE.format(
                name=variable,
                decimals=decimals.get(variable, 0),
                first=first,
                last=last,
                width=width,
                codes=codes,
            )
        )
        first = last + 1
    facts = {"collection": "meps", "data": f"{name}.dat", "structure": "rectangular"} | ddi
    (folder / f"{name}.xml").write_text(DDI.format(variables="\n".join(described), **facts))

    def field(row, variable):
        value, places = row[variable], decimals.get(variable, 0)
        if value is None:
            return ""
        if kind.startswith(".csv"):
            return f"{value:.{places}f}"
        return f"{round(value * 10**places):0{widths[variable]}d}"

    if kind.startswith(".csv"):
        lines = [",".join(widths), *(",".join(field(r, v) for v in widths) for r in rows)]
    else:
        lines = ["".join(field(r, v).rjust(widths[v]) for v in widths) for r in rows]
    content = ("\n".join(lines) + "\n").encode()
    content = gzip.compress(content) if kind.endswith(".gz") else content
    (folder / f"{name}{kind}").write_bytes(content)
    return folder / f"{name}.xml"


@pytest.fixture
def ipums_extract():
    """`write_extract`, for the tests (which cannot import a conftest)."""
    return write_extract
