"""`accelwatch record`: snapshots into a recording, until a count, a duration or ^C ends it."""

import contextlib
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from accelwatch.cli.arguments import split_list
from accelwatch.cli.output import complain
from accelwatch.collecting import installed, opt_in
from accelwatch.durations import seconds, size_bytes
from accelwatch.errors import UsageError
from accelwatch.exit_codes import INTERRUPTED, OK

if TYPE_CHECKING:
    from accelwatch.clock import Clock
    from accelwatch.recording import Recorder
    from accelwatch.sampler.settings import CollectSettings
    from accelwatch.schema.snapshot import Snapshot

MIN_INTERVAL_S = 0.25
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to record and where to; times in seconds, sizes in bytes."""

    path: Path
    interval_s: float = 1.0
    duration_s: float | None = None
    count: int | None = None
    max_bytes: int = 100 << 20
    keep: int = 5
    compression: str | None = None
    processes: bool = True
    argv: bool = False
    backends: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


def record_command(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Recording; FILE.1 ... are the ones before it."
        ),
    ],
    interval: Annotated[
        str, typer.Option(metavar="DURATION", help="Time between two documents; at least 250ms.")
    ] = "1s",
    duration: Annotated[
        str | None, typer.Option(metavar="DURATION", help="End after this; else ^C ends it.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, metavar="N", help="End after N documents.")
    ] = None,
    max_size: Annotated[
        str, typer.Option(metavar="SIZE", help="Begin the next file at this size.")
    ] = "100MiB",
    keep: Annotated[int, typer.Option(min=1, metavar="N", help="Finished files that stay.")] = 5,
    compress: Annotated[
        str | None,
        typer.Option(
            metavar="HOW", help="zstd, gzip or none; else by FILE's name (.zst, .gz, .ndjson)."
        ),
    ] = None,
    processes: Annotated[
        bool, typer.Option("--processes/--no-processes", help="Record processes as well.")
    ] = True,
    argv: Annotated[
        bool, typer.Option("--argv", help="Arguments of processes as well; they may hold secrets.")
    ] = False,
    backend: Annotated[
        list[str] | None,
        typer.Option("--backend", "-b", metavar="NAME", help="Only these backends; also a,b,c."),
    ] = None,
    collect: Annotated[
        list[str] | None,
        typer.Option("--collect", metavar="GROUP", help="Opt-in groups as well; also a,b,c."),
    ] = None,
) -> None:
    """Record this machine to a file, to be played with --replay FILE."""
    plan = Plan(
        path=output,
        interval_s=max(MIN_INTERVAL_S, seconds(interval)),
        duration_s=None if duration is None else seconds(duration),
        count=count,
        max_bytes=size_bytes(max_size),
        keep=keep,
        compression=compress,
        processes=processes,
        argv=argv,
        backends=split_list(tuple(backend or ())),
        groups=split_list(tuple(collect or ())),
    )
    raise typer.Exit(run(plan))


def collect_settings(plan: Plan) -> "CollectSettings":
    """What the collector is told. Raises UsageError for a group or backend that does not exist."""
    from accelwatch.sampler.settings import CollectSettings

    return CollectSettings(
        backends=installed(plan.backends, "--backend"),
        interval_s=plan.interval_s,
        timeout_s=2.0,
        groups=opt_in(plan.groups),
        processes=plan.processes,
        argv=plan.argv,
    )


def open_recorder(plan: Plan) -> "Recorder":
    """The recorder that a plan asks for. Raises UsageError and AccelwatchError."""
    from accelwatch.recording import Compression, Recorder

    known = [one.value for one in Compression]
    if plan.compression is not None and plan.compression not in known:
        raise UsageError(f"--compress is {', '.join(known)}, not {plan.compression!r}")
    return Recorder(
        plan.path,
        compression=None if plan.compression is None else Compression(plan.compression),
        max_bytes=plan.max_bytes,
        keep=plan.keep,
    )


def run(plan: Plan) -> int:
    """The whole command; returns the exit code. Raises AccelwatchError."""
    from accelwatch.clock import SystemClock
    from accelwatch.readings import read_repeatedly

    settings = collect_settings(plan)
    with open_recorder(plan) as recorder:
        return record(plan, recorder, read_repeatedly(settings, count=plan.count), SystemClock())


def record(
    plan: Plan,
    recorder: "Recorder",
    snapshots: "Generator[Snapshot, None, None]",
    clock: "Clock",
) -> int:
    """Write the snapshots until the plan or a signal ends it; say on stderr what was written."""
    began: float | None = None
    with _Ending() as ending, contextlib.closing(snapshots):
        for snapshot in ending.until(snapshots):
            recorder.write(snapshot)
            now = clock.monotonic()
            began = now if began is None else began
            if _over(plan, now - began):
                break
        recorder.close()
    took = 0.0 if began is None else clock.monotonic() - began
    complain(summary(recorder, plan.path, took))
    return OK if recorder.documents else INTERRUPTED


def _over(plan: Plan, elapsed_s: float) -> bool:
    """Whether the next document would come after the duration; ticks are a little late at times."""
    return plan.duration_s is not None and elapsed_s > plan.duration_s - plan.interval_s / 2


def summary(recorder: "Recorder", path: Path, took_s: float) -> str:
    """What was written, in one line."""
    if not recorder.documents:
        return f"nothing was recorded to {path}"
    plural = "" if recorder.documents == 1 else "s"
    return (
        f"recorded {recorder.documents} document{plural} of {took_s:.0f} s"
        f" to {path} ({_size(recorder.bytes)})"
    )


def _size(count: int) -> str:
    if count < 1 << 20:
        return f"{count / 1024:.1f} KiB"
    return f"{count / (1 << 20):.1f} MiB"


class _Ending:
    """Lets a signal interrupt the waiting for a snapshot, and nothing that is being written."""

    def __init__(self) -> None:
        self._asked = False
        self._waiting = False
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def __enter__(self) -> "_Ending":
        for one in _ENDING:
            if signal.getsignal(one) is not signal.SIG_IGN:
                self._before[one] = signal.signal(one, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        if self._waiting:
            self._waiting = False
            raise KeyboardInterrupt

    def until(self, snapshots: "Iterator[Snapshot]") -> "Iterator[Snapshot]":
        """The snapshots that come before a signal does."""
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                self._waiting = True
                snapshot = None if self._asked else next(snapshots, None)
                self._waiting = False
                if snapshot is None:
                    return
                yield snapshot
