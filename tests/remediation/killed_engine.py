"""A process that carries out one intent and is killed at a moment: `killed_engine.py FOLDER KIND POINT`.

The world outlives it as the lines of `effects` in the folder.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from accelwatch.action.intent import IntentKind
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.journal.writer import JournalWriter
from accelwatch.remediation.execution.operations.ledger import Ledger
from remediation.bench import Bench
from remediation.crash import PLAYS, KilledError, Point, kill_at


def main(folder: Path, kind: IntentKind, point: Point) -> None:
    bench = Bench()
    apply = bench.action.apply

    def remembered(step, operation):  # type: ignore[no-untyped-def]
        apply(step, operation)
        with (folder / "effects").open("a", encoding="utf-8") as file:
            file.write(f"{step.kind}\n")
            os.fsync(file.fileno())

    bench.action.apply = remembered  # type: ignore[method-assign]

    async def play() -> None:
        writer = JournalWriter(open_file(folder / FILE))

        async def commit(batch):  # type: ignore[no-untyped-def]
            bench.journal.before(batch)
            await writer.commit(batch)
            bench.journal.after(batch)

        bench.ledger = Ledger(commit, bench.clock, new_id=lambda: "killed")
        bench.site = bench.site._replace(ledger=bench.ledger)
        wanted = PLAYS[kind](bench)
        kill_at(bench, point, 0)
        try:
            await bench.pursuit(wanted).run()
        except KilledError:
            os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(play())


if __name__ == "__main__":
    main(Path(sys.argv[1]), IntentKind(sys.argv[2]), Point(sys.argv[3]))
