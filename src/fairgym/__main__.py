"""`python -m fairgym`."""

import sys

from fairgym.cli import main

sys.exit(main())
