import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
# Ray's workers give way to everything else; beside other tests they would wait for minutes.
os.environ.setdefault("RAY_worker_niceness", "0")
