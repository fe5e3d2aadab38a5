"""`python -m fairgym.cli`."""

import sys

from fairgym.cli import main

sys.exit(main())
