"""A process that trains whenever it is told to: started by `test_races.py`.

It reads lines of JSON, {"out", "seed", "at", "overwrite"}, and writes one for each: "" if it has
trained, or the sentence by which it was refused.
"""

import json
import sys
import time

from fairgym.core import FairgymError
from fairgym.training import train
from fairgym.utils.plugins import import_plugin

toy = import_plugin("toy_algorithm")
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    order = json.loads(line)
    config = toy.toy_config(seed=order["seed"], epochs=order["epochs"])
    while time.monotonic() < order["at"]:  # one clock for all processes
        pass
    said = ""
    try:
        train(config, order["out"], overwrite=order["overwrite"], checkpoint_seconds=0)
    except FairgymError as error:
        said = str(error)
    print(json.dumps(said), flush=True)
