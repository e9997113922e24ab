"""`accelwatch record`: snapshots into a recording, until a count, a duration or ^C ends it."""

import contextlib
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from accelwatch.base.durations import deadline, reading_interval, seconds, size_bytes
from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import INTERRUPTED, NO_DEVICE, OK
from accelwatch.cli.collect_flags import MachineOptions
from accelwatch.cli.options import command, shared_option
from accelwatch.cli.output import complain
from accelwatch.cli.parameters import option
from accelwatch.node.sampler.protocol.settings import CollectSettings

if TYPE_CHECKING:
    from accelwatch.archive.recording import Recorder
    from accelwatch.base.clock import Clock
    from accelwatch.schema.snapshot import Snapshot

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class RecordOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is recorded, for how long, and where to."""

    output: Annotated[
        Path | None,
        option("--output", "-o", metavar="FILE", help="Recording; FILE.1 ... are older ones."),
    ] = None
    repair: Annotated[
        Path | None,
        option(
            metavar="FILE",
            help="Record nothing; save the readable documents of a damaged FILE to a new file.",
        ),
    ] = None
    interval: Annotated[
        str, option(metavar="DURATION", help="Time between two documents; at least 250ms.")
    ] = "1s"
    timeout: Annotated[
        str, shared_option("timeout", "Deadline of one read, and of the first document.")
    ] = "2s"
    duration: Annotated[
        str | None, option(metavar="DURATION", help="Stop after this time; default: at ^C.")
    ] = None
    count: Annotated[
        int | None, option("--count", "-n", min=1, metavar="N", help="Stop after N documents.")
    ] = None
    max_size: Annotated[str, option(metavar="SIZE", help="Start the next file at this size.")] = (
        "100MiB"
    )
    keep: Annotated[int, option(min=1, metavar="N", help="Finished files to keep.")] = 5
    compress: Annotated[
        str | None,
        option(metavar="HOW", help="zstd, gzip or none; else by FILE's name (.zst, .gz, .ndjson)."),
    ] = None
    processes: Annotated[
        bool, option("--processes/--no-processes", help="Record processes as well.")
    ] = True
    argv: Annotated[bool, shared_option("argv")] = False
    machine: MachineOptions = MachineOptions()

    @property
    def interval_s(self) -> float:
        """Seconds between two documents."""
        return reading_interval(self.interval)

    @property
    def duration_s(self) -> float | None:
        """Seconds after which it ends; None: when its user says so."""
        return None if self.duration is None else seconds(self.duration)

    @property
    def max_bytes(self) -> int:
        """Size at which the next file begins."""
        return size_bytes(self.max_size)


@command
def record_command(options: RecordOptions) -> None:
    """Record this machine to a file, to be played with --replay FILE."""
    raise click.exceptions.Exit(
        run(options) if options.repair is None else repair_file(options.repair, options)
    )


def repair_file(damaged: Path, options: RecordOptions) -> int:
    """Write a repaired copy and say on stderr what was saved and lost. Raises AccelwatchError."""
    from accelwatch.archive.recording.repair import losses, repair, repaired_path
    from accelwatch.schema.timestamps import timestamp

    done = repair(damaged, options.output or repaired_path(damaged))
    lost = losses(done.lost, done.lines, done.positions)
    complain(f"{done.path}: {done.documents} documents up to {timestamp(done.last)}; {lost}")
    return OK


def collect_settings(options: RecordOptions) -> CollectSettings:
    """The collector's settings. Raises UsageError for what is not there."""
    return options.machine.over(
        CollectSettings(
            interval_s=options.interval_s,
            timeout_s=deadline(options.timeout),
            processes=options.processes,
            argv=options.argv,
        )
    )


def open_recorder(options: RecordOptions) -> "Recorder":
    """The recorder that the options describe. Raises UsageError and AccelwatchError."""
    from accelwatch.archive.recording import Compression, Recorder

    if options.output is None:
        raise UsageError("name a file to record to: accelwatch record -o FILE")
    if str(options.output) == "-":
        raise UsageError(
            "--output is a file, not stdout, as a recording is rotated and indexed; for documents on "
            "stdout, a line each: accelwatch --json --watch; for an agent's stream: accelwatch stream"
        )
    names = [kind.value for kind in Compression]
    how = options.compress
    if how is not None and how not in names:
        raise UsageError(f"--compress is {', '.join(names)}, not {how!r}")
    return Recorder(
        options.output,
        compression=None if how is None else Compression(how),
        max_bytes=options.max_bytes,
        keep=options.keep,
    )


def run(options: RecordOptions) -> int:
    """The whole command; returns the exit code. Raises AccelwatchError."""
    from accelwatch.base.clock import SystemClock
    from accelwatch.node.snapshots import read_repeatedly

    settings = collect_settings(options)
    with open_recorder(options) as recorder:
        return record(
            options, recorder, read_repeatedly(settings, count=options.count), SystemClock()
        )


def record(
    options: RecordOptions,
    recorder: "Recorder",
    snapshots: "Generator[Snapshot, None, None]",
    clock: "Clock",
) -> int:
    """Write the snapshots until an option or a signal ends it; say on stderr what was written."""
    started: float | None = None
    last: Snapshot | None = None
    read = False
    with _Interruption() as interruption, contextlib.closing(snapshots):
        for snapshot in interruption.until(snapshots):
            recorder.write(snapshot)
            last, read = snapshot, read or bool(snapshot.devices or snapshot.node)
            now = clock.monotonic()
            started = now if started is None else started
            if _over(options, now - started):
                break
        recorder.close()
    elapsed = 0.0 if started is None else clock.monotonic() - started
    complain(summary(recorder, recorder.path, elapsed))
    if last is None:
        return INTERRUPTED
    return OK if read else _unread(last)


def _unread(last: "Snapshot") -> int:
    """Say why in no document anything was read; the exit code. To have no accelerator is no failure."""
    from accelwatch.cli.node.documents import narrate, status

    code = status(last, strict=False)
    if code == NO_DEVICE:
        return OK
    complain("neither a device nor the host could be read")
    narrate(last)
    return code


def _over(options: RecordOptions, elapsed_s: float) -> bool:
    """Whether the next document would come after the duration; ticks are a little late at times."""
    return (
        options.duration_s is not None and elapsed_s > options.duration_s - options.interval_s / 2
    )


def summary(recorder: "Recorder", path: Path, elapsed_s: float) -> str:
    """What was written, in one line."""
    if not recorder.documents:
        return f"nothing was recorded to {path}"
    plural = "" if recorder.documents == 1 else "s"
    return (
        f"recorded {recorder.documents} document{plural} of {elapsed_s:.0f} s"
        f" to {path} ({_size(recorder.bytes)})"
    )


def _size(count: int) -> str:
    if count < 1 << 20:
        return f"{count / 1024:.1f} KiB"
    return f"{count / (1 << 20):.1f} MiB"


class _Interruption:
    """Lets a signal interrupt the waiting for a snapshot, and nothing that is being written."""

    def __init__(self) -> None:
        self._requested = False
        self._waiting = False
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def __enter__(self) -> "_Interruption":
        for number in _STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._requested = True
        if self._waiting:
            self._waiting = False
            raise KeyboardInterrupt

    def until(self, snapshots: "Iterator[Snapshot]") -> "Iterator[Snapshot]":
        """The snapshots that come before a signal does."""
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                self._waiting = True
                snapshot = None if self._requested else next(snapshots, None)
                self._waiting = False
                if snapshot is None:
                    return
                yield snapshot
