"""A dashboard over a source that a test feeds, and machines worth looking at."""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from textual.events import Key
from textual.pilot import Pilot

from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.reading import Process, wholly_absent
from accelwatch.schema.snapshot import BackendState, BackendStatus, DeviceView, Owner, Snapshot
from accelwatch.tui.app import Dashboard
from accelwatch.tui.drawing.glyphs import ASCII, UNICODE
from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.state.board import Board
from accelwatch.tui.theme.appearance import Appearance
from accelwatch.tui.theme.preferences import Preferences
from support.machines.composed import GIB, NOW, lost_view, snapshot, view
from support.processes.waiting import GUARD_S

COMMANDS = ("python3 train.py --config a.yaml", "vllm serve", "jupyter-kernel")
USERS = ("ada", "grace", "trainer")

_TYPED = {"less_than_sign": "<", "greater_than_sign": ">", "equals_sign": "=", "space": " "}
# What a terminal's parser would call a character, and the other way about.
_NAMED = {'"': "quotation_mark", "=": "equals_sign", "%": "percent_sign", ".": "full_stop"}


class FedSource:
    """Shows what it is given; keeps what it was told."""

    recorded = False

    def __init__(self, shot: Snapshot | None, *, local: bool = True) -> None:
        self.shot = shot
        self.local = local
        self.interval_s: float | None = None
        self.ended = False
        self._changed: Callable[[], None] = lambda: None

    async def run(self, changed: Callable[[], None]) -> None:
        """Tell once, then wait."""
        self._changed = changed
        changed()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True

    def snapshot(self) -> Snapshot | None:
        """What was given last."""
        return self.shot

    def set_interval(self, interval_s: float) -> None:
        """Only noted."""
        self.interval_s = interval_s

    def close(self) -> None:
        """Nothing is held."""

    def feed(self, shot: Snapshot) -> None:
        """Something new."""
        self.shot = shot
        self._changed()


def busy_view(index: int, **changes: Any) -> DeviceView:
    """A device at work, each with other figures and three processes."""
    one = view(index % 8)
    device = msgspec.structs.replace(
        one.device,
        index=index,
        name=f"nvidia{index}",
        id=f"nvidia:{index}",
        uuid=f"GPU-{index:04d}",
    )
    share = (index * 37 % 100) / 100
    found = {
        **one.reading.values,
        ("utilization_ratio",): share,
        ("memory_used_bytes",): int(80 * GIB * (0.2 + share * 0.7)),
        ("power_watts",): 200 + 450 * share,
        ("temperature_celsius", "gpu"): 40 + 40 * share,
    }
    reading = msgspec.structs.replace(
        one.reading,
        device_id=device.id,
        values=found,
        processes=tuple(busy_process(device.id, index * 3 + n) for n in range(3)),
    )
    return msgspec.structs.replace(one, device=device, reading=reading, **changes)


def busy_process(device_id: str, number: int, **changes: Any) -> Process:
    """A process with all figures."""
    whole = Process(
        device_id=device_id,
        pid=4000 + number,
        start_time=NOW - 3600 - number,
        user=USERS[number % 3],
        command=COMMANDS[number % 3],
        gpu_memory_bytes=(number * 7 % 29 + 1) * GIB,
        utilization_ratio=(number * 13 % 100) / 100,
        host_memory_bytes=(number * 5 % 40 + 1) * GIB,
        cpu_utilization_ratio=number % 4 + 0.5,
        job="48121" if number < 12 else None,
        pod="research/llama-0" if number >= 18 else None,
    )
    return msgspec.structs.replace(whole, **changes)


def lost(index: int) -> DeviceView:
    """A device that fell off the bus."""
    device = busy_view(index).device
    reading = wholly_absent(device.id, Absence.LOST)
    return msgspec.structs.replace(lost_view(index % 8), device=device, reading=reading)


def hung(index: int) -> DeviceView:
    """A device whose driver does not answer."""
    device = busy_view(index).device
    return DeviceView(
        device=device,
        state=DeviceState.UNRESPONSIVE,
        state_since=NOW - 42,
        reading=wholly_absent(device.id, Absence.TIMEOUT),
        sample_time=NOW - 42,
        sample_age_s=42.0,
        health=Health.FAILED,
        health_reasons=("the device does not answer",),
    )


def unread(index: int, state: DeviceState = DeviceState.UNRESPONSIVE) -> DeviceView:
    """A device whose first reading is not over yet; or one that is left alone."""
    device = busy_view(index).device
    return DeviceView(
        device=device,
        state=state,
        state_since=NOW - 2,
        reading=wholly_absent(device.id, Absence.NOT_COLLECTED),
        health_reasons=("not read yet",),
    )


def stale(index: int) -> DeviceView:
    """A device nobody has heard from."""
    device = busy_view(index).device
    return DeviceView(
        device=device,
        state=DeviceState.UNRESPONSIVE,
        state_since=NOW - 9,
        reading=wholly_absent(device.id, Absence.STALE),
        sample_time=NOW - 12,
        sample_age_s=12.0,
        health=Health.UNKNOWN,
        health_reasons=("no reading for 12 s",),
    )


def node(count: int = 8, **replaced: DeviceView) -> Snapshot:
    """`count` busy devices; `d3=lost(3)` puts another in a place."""
    views = [busy_view(index) for index in range(count)]
    for name, other in replaced.items():
        views[int(name[1:])] = other
    return msgspec.structs.replace(snapshot(), devices=tuple(views), interval_s=2.0)


def empty_node() -> Snapshot:
    """No accelerator."""
    return msgspec.structs.replace(snapshot(), devices=(), errors=(), events=())


JOB = Owner(kind="job", scheduler="slurm", job_id="48121", user="ada", queue="batch")


def owned(shot: Snapshot, *owners: Owner) -> Snapshot:
    """All devices are allocated to these."""
    views = tuple(msgspec.structs.replace(view, owners=owners) for view in shot.devices)
    return msgspec.structs.replace(shot, devices=views)


def driverless() -> Snapshot:
    """An accelerator is here, and its driver is not loaded."""
    status = BackendStatus(
        name="nvidia",
        vendor="nvidia",
        state=BackendState.UNAVAILABLE,
        reason="no_driver",
        message="the kernel module does not answer",
        remedy="load it with modprobe nvidia",
    )
    absent = BackendStatus(name="amd", vendor="amd", state=BackendState.ABSENT)
    return msgspec.structs.replace(empty_node(), backends=(status, absent))


def board_of(*, theme: str = "safe", ascii_only: bool = False, **preferences: Any) -> Board:
    """A board with preferences."""
    looks = Appearance(glyphs=ASCII if ascii_only else UNICODE)
    return Board(Preferences(theme=theme, **preferences), looks)


def with_history(board: Board, shot: Snapshot, seconds: int = 300) -> Board:
    """Waves in the rings of the devices, up to their present values or the last that were read."""
    for second in range(seconds):
        time = NOW - seconds + second
        left = min((seconds - second) / 30, 1.0)
        wave = 0.5 + 0.45 * math.sin(second / 23)
        board.history.record([_before(one, time, wave, left) for one in shot.devices])
    return board


def _before(now: DeviceView, time: float, wave: float, left: float) -> DeviceView:
    """A device as it was: `left` is the share of the wave in it, the rest is of now."""
    seen = now if ("*",) not in now.reading.absent else busy_view(now.device.index)
    if seen is not now and (now.sample_time is None or time > now.sample_time):
        return now
    found = seen.reading.values
    share = wave * left + float(found["utilization_ratio",]) * (1 - left)
    values = {**found, ("utilization_ratio",): share, ("power_watts",): 200 + 450 * share}
    reading = msgspec.structs.replace(seen.reading, values=values)
    return msgspec.structs.replace(seen, sample_time=time, reading=reading)


@contextlib.asynccontextmanager
async def running(
    source: Any,
    size: tuple[int, int] = (120, 40),
    *,
    board: Board | None = None,
    readonly: bool = False,
    path: Path = Path("unwritten.yaml"),
    incidents: Callable[[], Any] | None = None,
) -> AsyncIterator["Stage"]:
    """The dashboard in a terminal of a size, with what the source has on it.

    `incidents` gives whoever tells of those of this machine.
    """
    clock = ManualClock(wall=NOW + 0.25)
    app = Dashboard(
        board or board_of(),
        source,
        incidents=incidents,
        clock=clock,
        readonly=readonly,
        preferences_path=path,
    )
    async with app.run_test(size=size) as pilot:
        stage = Stage(app, pilot)
        app.pull()
        await pilot.pause()
        yield stage


class Stage:
    """A running dashboard in the hands of a test."""

    def __init__(self, app: Dashboard, pilot: "Pilot[None]") -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Keys one after another, each with time to take effect."""
        for key in keys:
            self._post(key)
            await self._painted()

    async def press_together(self, *keys: str) -> None:
        """Keys that the terminal hands over at once, as after a stall of the network."""
        for key in keys:
            self._post(key)
        await self._painted()

    async def _painted(self) -> None:
        """Wait until the keys are done, and what they have changed is on the screen."""
        await self.pilot.pause()
        painted = asyncio.Event()
        self.app.call_after_refresh(painted.set)
        while self.app.is_running and not painted.is_set():
            await self.pilot.pause()

    def _post(self, key: str) -> None:
        name, char = _NAMED.get(key, key), _TYPED.get(key, key if len(key) == 1 else None)
        self.app.post_message(Key(name, char))

    async def feed(self, shot: Snapshot) -> None:
        """A newer snapshot, painted."""
        source = self.app.source
        assert isinstance(source, FedSource)
        source.shot = shot
        self.app.pull()
        await self.pilot.pause()

    async def until(self, words: str) -> None:
        """Wait for something to be on the screen that comes by itself."""
        async with asyncio.timeout(GUARD_S):
            while words not in self.text():
                await self.pilot.pause(0.02)

    @property
    def screen_name(self) -> str:
        """Name of the present screen; the class's for a dialog."""
        screen = self.app.screen
        return str(getattr(screen, "view_name", type(screen).__name__))

    def text(self) -> str:
        """What is on the terminal, line by line."""
        width, _ = self.app.size
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.ljust(width) for strip in strips)

    def line_with(self, word: str) -> str:
        """The first line with a word on it."""
        found = [line for line in self.text().splitlines() if word in line]
        assert found, f"{word!r} is not on the screen:\n{self.text()}"
        return found[0]


Check = Callable[[Stage], Awaitable[None]]


def on(check: Check, *, count: int = 8, size: tuple[int, int] = (120, 40)) -> None:
    """Run a check on a dashboard with some devices."""

    async def go() -> None:
        async with running(FedSource(node(count)), size) as stage:
            await check(stage)

    asyncio.run(go())


def texts(lines: "list[Any]") -> str:
    """Lines of spans as text."""
    return "\n".join(plain(line) for line in lines)
