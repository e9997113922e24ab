"""The process in which pyluwen reads one chip: `python -P library_process.py N` for /dev/tenstorrent/N.

Its calls hold the interpreter's lock, so that a chip that hangs would stop every other thread. It
imports nothing of ours, prints one line of JSON (the registers by name, or an error), and ends.
"""

import importlib
import json
import os
import sys


def main() -> int:
    """Open one chip, no other and without waiting for its parts, and print its registers."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What the library prints must not stand before the answer.
    answer: dict[str, object] = {}
    try:
        library = importlib.import_module("pyluwen")
        telemetry = library.PciChip(int(sys.argv[1])).get_telemetry()
        names = [name for name in dir(telemetry) if not name.startswith("_")]
        answer["registers"] = {name: _number(getattr(telemetry, name)) for name in names}
    except BaseException as error:  # noqa: BLE001 - a panic of the library is no Exception
        answer["error"] = f"{type(error).__name__}: {error}"[:300]
    with out:
        print(json.dumps(answer), file=out)
    return 0


def _number(value: object) -> "int | None":
    return value if isinstance(value, int) and not isinstance(value, bool) else None


if __name__ == "__main__":
    sys.exit(main())
