"""The replay backend: one file, played by the clock, behind the contract of every other backend."""

import threading
from collections.abc import Sequence

import msgspec

from accelwatch.archive.recording import may_be_recording, names_recording
from accelwatch.backend import Check, Context, Opened, Option, Probe, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.errors import ConfigError, ReadError, WireError
from accelwatch.schema.device import Device
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.reading import Reading
from accelwatch_lab.replay.acting import ScenarioPlayer
from accelwatch_lab.replay.options import Options, parse_options
from accelwatch_lab.replay.playback import RecordingPlayer, read_recording
from accelwatch_lab.replay.player import Player, PlayTime
from accelwatch_lab.replay.scenario import FORMAT, read_scenario

# How often events are polled while waiting; a replay's events need no better.
_POLL_S = 0.25
_REMEDY = "set replay's option file to a recording or a scenario, or to demo"


class ReplayBackend:
    """Plays `options["file"]`; docs/backends/replay.md describes options and files."""

    name = "replay"
    elsewhere = True
    vendor = "replay"
    serial = False
    options = (
        Option("file", is_path=True, names="demo", must_exist=True),
        Option("speed"),
        Option("loop"),
        Option("start"),
        Option("host"),
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._player: Player | None = None
        self._started_at = 0.0
        self._options = Options()
        self._closed = threading.Event()

    def probe(self) -> Probe:
        """Look whether the file is there."""
        try:
            options = parse_options(self._context.options)
        except ConfigError as error:
            check = Check(subject="options", ok=False, found=str(error), remedy=_REMEDY)
            return Probe(present=True, checks=(check,))
        if not options.file:
            check = Check(subject="option file", ok=False, found="not set", remedy=_REMEDY)
            return Probe(present=False, checks=(check,))
        there = names_recording(options.path)
        finding = "found" if there else "not found"
        remedy = "" if there else _REMEDY
        check = Check(subject=str(options.path), ok=there, found=finding, remedy=remedy)
        return Probe(present=True, checks=(check,))

    def open(self) -> Opened:
        """Read the file and begin to play. Raises BackendUnavailable."""
        self.close()
        self._closed = threading.Event()
        try:
            self._options = parse_options(self._context.options)
            self._started_at = self._context.clock.monotonic()
            player, versions = self._load()
        except ConfigError as error:
            raise BackendUnavailable(str(error), reason="config", remedy=_REMEDY) from error
        except OSError as error:
            message = f"{self._options.path}: {error.strerror or error}"
            raise BackendUnavailable(message, reason="file", remedy=_REMEDY) from error
        except WireError as error:
            raise BackendUnavailable(f"{self._options.path}: {error}", reason="format") from error
        self._enter(player, "open")
        self._player = player
        return Opened(source="replay", versions=versions)

    def _load(self) -> tuple[Player, dict[str, str]]:
        options = self._options
        if not options.file:
            raise ConfigError("replay: the option file is not set")
        if not may_be_recording(options.path):
            return ScenarioPlayer(
                read_scenario(options.path), loop=options.loop, now=self._elapsed_s
            ), {"scenario": str(FORMAT)}
        recording = read_recording(options.path)
        playing = RecordingPlayer(recording, loop=options.loop, host=options.host)
        return playing, {"accelwatch": playing.recorder}

    def _elapsed_s(self) -> float:
        """Seconds of the file since its beginning; stands still for a single reading."""
        if self._context.one_shot:
            return self._options.start_s
        passed = self._context.clock.monotonic() - self._started_at
        return self._options.start_s + passed * self._options.speed

    def _play_time(self) -> PlayTime:
        return PlayTime(self._elapsed_s(), self._context.clock.wall())

    def _playing(self) -> Player:
        if self._player is None:
            raise BackendUnavailable("replay is not open", reason="closed")
        return self._player

    def _enter(self, player: Player, call: str) -> None:
        try:
            player.enter(call, None)
        except ReadError as error:
            raise BackendUnavailable(str(error), reason=error.code) from error

    def discover(self) -> Sequence[Device]:
        """Whole devices at this moment. Raises BackendUnavailable."""
        player = self._playing()
        self._enter(player, "discover")
        return player.devices(self._play_time())

    def identify(self, device: Device) -> Sequence[Device]:
        """The device and its partitions. Raises ReadError."""
        player = self._open_player(device)
        player.enter("identify", device)
        return player.identity(device, self._play_time())

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """Readings of the device and its partitions at this moment. Raises ReadError."""
        player = self._open_player(device)
        player.enter("read", device)
        return tuple(
            _requested(reading, request) for reading in player.readings(device, self._play_time())
        )

    def _open_player(self, device: Device) -> Player:
        if self._player is None:
            raise ReadError(f"{device.name}: replay is not open", code="closed")
        return self._player

    def wait_events(self, timeout_s: float) -> Sequence[ErrorEvent]:
        """Block up to `timeout_s` seconds for events of the file."""
        player = self._player
        if player is None:
            return ()
        left = timeout_s
        while not (events := player.events(self._play_time())) and left > 0:
            if self._closed.wait(min(left, _POLL_S)):
                return ()
            left -= _POLL_S
        return events

    def close(self) -> None:
        """Stop playing."""
        self._closed.set()
        self._player = None


def _requested(reading: Reading, request: Request) -> Reading:
    """A reading cut to what was requested: processes, command lines."""
    processes = reading.processes if request.processes else None
    if processes is not None and not request.argv:
        processes = tuple(msgspec.structs.replace(process, argv=None) for process in processes)
    return msgspec.structs.replace(reading, processes=processes)
