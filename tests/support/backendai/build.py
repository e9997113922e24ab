"""Builds the tree of a Backend.AI release unless it is there, and prints the release."""

import argparse
import sys

from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.backendai.tree.building import built
from accelwatch_lab.cluster.backendai.tree.installed import NEWEST, OLDEST


def main() -> int:
    """Print the release, or why there is none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?", default="newest", help=f"{OLDEST}, say")
    version = parser.parse_args().version
    try:
        print(built(NEWEST if version == "newest" else version, _print_progress).version)
    except AccelwatchError as error:
        print(f"backendai: {error}", file=sys.stderr)
        return 1
    return 0


def _print_progress(what: str) -> None:
    print(f"building {what} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
