"""The process that judges an archive for `accelwatch fleet --replay`: what it finds goes to stdout.

Started as `python -m accelwatch.cli.fleet.fleet_backtest JSON`; one message a line, the last when it has
come to the end.
"""

import os
import sys
from pathlib import Path

import msgspec

from accelwatch.base.errors import AccelwatchError
from accelwatch.base.exit_codes import OK

# A screen is shown beside it.
_NICE = 10


class BacktestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is judged by which rules; all packs when none are named."""

    folder: str
    # Unix seconds.
    start: float
    end: float
    files: tuple[str, ...] = ()
    packs: tuple[str, ...] = ()

    def command(self) -> list[str]:
        """The words that start the process."""
        document = msgspec.json.encode(self).decode()
        return [sys.executable, "-m", "accelwatch.cli.fleet.fleet_backtest", document]


def run(request: BacktestRequest) -> int:
    """Print what is found until the end; returns the exit code. Raises AccelwatchError."""
    from accelwatch.archive.history.reading.reader import Archive
    from accelwatch.cli.rules.rule_loading import load_rules
    from accelwatch.fleet.backtest.growing import growing
    from accelwatch.fleet.backtest.incidents import Backtest

    rules = load_rules([Path(name) for name in request.files], list(request.packs)).rules
    archive = Archive(Path(request.folder))
    encode = msgspec.json.Encoder().encode
    for message in growing(archive, Backtest(archive, rules, request.start, request.end)):
        sys.stdout.buffer.write(encode(message) + b"\n")
        sys.stdout.buffer.flush()
    return OK


def main(argv: list[str]) -> int:
    """What the process does; a mistake goes to stderr as one line."""
    os.nice(_NICE)
    try:
        return run(msgspec.json.decode(argv[0], type=BacktestRequest))
    except AccelwatchError as error:
        sys.stderr.write(f"{error}\n".splitlines(keepends=True)[0])
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
