"""What Python imports first in the programs of tests: they tell which functions they reach."""

import os
import sys
from pathlib import Path

if "MUTANTS_REACHED" in os.environ:
    sys.path.append(str(Path(__file__).parents[2]))
    from mutants import reached

    reached.go_on()
