"""The process that judges a share of the rules of a back-test: what it finds goes to stdout.

Started as `python -m accelwatch.cli.rules.backtest_share JSON` by a back-test, which reads it.
"""

import os
import sys
from pathlib import Path

import msgspec

from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.base.exit_codes import OK


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What is judged by which rules."""

    folder: str
    # Of the rules.
    ids: tuple[str, ...]
    # Of all rules of these files and packs: they are the same for all shares.
    digest: str
    # Unix seconds.
    start: float | None = None
    end: float | None = None
    files: tuple[str, ...] = ()
    packs: tuple[str, ...] = ()

    def command(self) -> list[str]:
        """The words that start the process."""
        document = msgspec.json.encode(self).decode()
        return [sys.executable, "-m", "accelwatch.cli.rules.backtest_share", document]


def run(share: Share) -> int:
    """Send what is found until the end; returns the exit code. Raises AccelwatchError."""
    from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
    from accelwatch.alerting.rules.loading.rule_files import load
    from accelwatch.archive.history.reading.reader import Archive
    from accelwatch.fleet.backtest.partner import send_changes
    from accelwatch.fleet.backtest.verdicts import Span, Verdicts

    packs = share.packs or (() if share.files else pack_names())
    files = [*map(pack_file, packs), *map(Path, share.files)]
    loaded = load(files, tests=False)
    if loaded.digest != share.digest:
        raise UsageError("rule files have changed since the back-test started")
    chosen = set(share.ids)
    rules = {id_: rule for id_, rule in loaded.rules.items() if id_ in chosen}
    verdicts = Verdicts(Archive(Path(share.folder)), rules, Span(share.start, share.end))
    send_changes(verdicts.each(), sys.stdout.buffer)
    return OK


def main(argv: list[str]) -> int:
    """What the process does; a mistake goes to stderr as one line."""
    try:
        return run(msgspec.json.decode(argv[0], type=Share))
    except AccelwatchError as error:
        sys.stderr.write(f"{error}\n".splitlines(keepends=True)[0])
        return error.exit_code
    except BrokenPipeError:  # who began it reads no more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
