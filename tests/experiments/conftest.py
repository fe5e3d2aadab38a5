"""Made-up numbers beside the tests can be imported."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
