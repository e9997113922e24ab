"""`python -m night --seed 7`: play a night, print its report, end with 1 when a property is broken."""

import argparse
import logging
import sys
import tempfile
from pathlib import Path

from night.play import Night
from night.report import broken, report
from night.scenario import make_scenario


def main() -> int:
    """Play one night."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", action="store_true", help="what the hub logs, to standard error")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO if given.log else logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="night") as folder:
        night = Night(make_scenario(given.seed), Path(folder)).play()
    print(report(night))
    return 1 if any(broken(night).values()) else 0


if __name__ == "__main__":
    sys.exit(main())
