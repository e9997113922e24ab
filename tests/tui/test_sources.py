"""The live source on the stand-in library, and the replay source over frames."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.errors import WireError
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.store.reports import BackendChanged, Cycle, Outcome
from accelwatch.schema.snapshot import BackendState, BackendStatus, Snapshot, is_awaited
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.local.sources.live import LiveSource
from accelwatch.tui.local.sources.replay import ReplaySource
from support.dashboards.local import node
from support.machines.composed import NOW
from support.machines.nvml_stand_ins import NvmlScenario

# A guard against a test that never ends.
LONG_S = 60.0


def scenario_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NvmlScenario:
    scenario = NvmlScenario(tmp_path / "node.scenario").devices(4)
    scenario.write()
    for name, value in scenario.environment().items():
        monkeypatch.setenv(name, value)
    return scenario


def live(interval_s: float = 0.25, timeout_s: float = 30.0) -> LiveSource:
    settings = CollectSettings(interval_s=interval_s, timeout_s=timeout_s, backends=("nvidia",))
    return LiveSource(settings)


async def watching(source: LiveSource, check: Callable[[], Awaitable[None]]) -> None:
    task = asyncio.create_task(source.run(lambda: None))
    try:
        async with asyncio.timeout(LONG_S):
            await check()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(source: LiveSource, good: Callable[[Snapshot], bool]) -> Snapshot:
    while (shot := source.snapshot()) is None or not good(shot):
        await asyncio.sleep(0.02)
    return shot


def test_a_host_that_answers_first_does_not_show_that_there_is_no_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario_of(tmp_path, monkeypatch)
    source = LiveSource(CollectSettings(backends=("nvidia", "host"), groups=frozenset({"host"})))
    source._unanswered = {"nvidia", "host"}
    receive = source._apply_report

    receive(Outcome(backend="host", slot="host", monotonic=0.0, wall=NOW))
    assert source.snapshot() is None
    receive(Outcome(backend="nvidia", slot="0", monotonic=0.0, wall=NOW))
    assert source.snapshot() is not None


def test_all_is_shown_once_each_accelerator_was_read() -> None:
    source = live()
    source._unanswered = {"nvidia", "amd", "host"}
    receive = source._apply_report
    receive(Cycle(backend="nvidia", result="ok", duration_s=0.0, wall=NOW))
    assert not source.all_reported
    status = BackendStatus(name="amd", vendor="amd", state=BackendState.ABSENT)
    receive(BackendChanged(status=status))
    assert source.all_reported


class Loop:
    """Whom an event loop would call, and when."""

    def __init__(self) -> None:
        self.readers: dict[int, Callable[[], None]] = {}

    def add_reader(self, descriptor: int, call: Callable[..., None], *words: object) -> None:
        self.readers[descriptor] = partial(call, *words)

    def remove_reader(self, descriptor: int) -> bool:
        return self.readers.pop(descriptor, None) is not None


class Telling:
    """A supervisor whose child tells something, and may end with that."""

    patience_s = 3600.0

    def __init__(self) -> None:
        self.descriptor: int | None = 7
        self.checked = 0
        self.ends = False

    def check(self) -> None:
        self.checked += 1
        if self.ends:
            self.descriptor = None

    def receive(self) -> None:
        self.check()

    def request_stop(self) -> None:
        self.stopped = True

    def stop(self) -> None:
        self.stopped = True


def watched() -> tuple[LiveSource, Telling, Loop]:
    source, supervisor, loop = live(), Telling(), Loop()
    source._supervisor = supervisor  # type: ignore[assignment]
    source._loop = loop  # type: ignore[assignment]
    source._watched(7)
    return source, supervisor, loop


def test_reports_are_taken_in_as_they_come() -> None:
    _, supervisor, loop = watched()
    for taken in (1, 2):
        loop.readers[7]()
        assert (supervisor.checked, [*loop.readers]) == (taken, [7])


def test_a_child_that_has_ended_is_looked_after_at_once() -> None:
    source, supervisor, loop = watched()

    async def check() -> None:
        collecting = asyncio.create_task(source._collect())
        await until_true(lambda: supervisor.checked)
        supervisor.ends = True
        before = supervisor.checked
        loop.readers[7]()
        await until_true(lambda: supervisor.checked > before + 1)
        collecting.cancel()
        await asyncio.gather(collecting, return_exceptions=True)

    asyncio.run(check())


def test_a_new_interval_is_taken_up_without_waiting_for_the_child() -> None:
    source, supervisor, _ = watched()

    async def check() -> None:
        collecting = asyncio.create_task(source._collect())
        await until_true(lambda: supervisor.checked)
        source.set_interval(source.settings.interval_s + 1.0)
        await collecting

    asyncio.run(check())
    assert supervisor.stopped


async def until_true(condition: Callable[[], object]) -> None:
    """Let an event loop go on until it is so."""
    async with asyncio.timeout(60.0):
        while not condition():
            await asyncio.sleep(0)


def test_the_host_is_shown_beside_the_devices_of_a_named_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario_of(tmp_path, monkeypatch)
    settings = CollectSettings(
        timeout_s=30.0, backends=("nvidia", "host"), groups=frozenset({"host"})
    )
    source = LiveSource(settings)

    async def check() -> None:
        shot = await until(source, lambda shot: shot.node is not None and bool(shot.devices))
        assert shot.node is not None
        await until(source, lambda shot: states(shot) == ["ok"] * 4)

    asyncio.run(watching(source, check))


def states(shot: Snapshot) -> list[str]:
    return [view.state.value for view in shot.devices]


def test_devices_come_fail_and_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = scenario_of(tmp_path, monkeypatch)
    source = live(timeout_s=0.2)

    async def check() -> None:
        await until(source, lambda shot: states(shot) == ["ok"] * 4)
        scenario.fault("*", "hang", device=1).lose(2).write()
        shot = await until(
            source, lambda shot: states(shot) == ["ok", "unresponsive", "lost", "ok"]
        )
        assert [view.device.index for view in shot.devices] == [0, 1, 2, 3]

    source.start()
    asyncio.run(watching(source, check))
    assert source.snapshot() is not None


def test_a_new_interval_keeps_the_devices_in_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario_of(tmp_path, monkeypatch)
    source = live(1.0)

    async def check() -> None:
        await until(source, lambda shot: states(shot) == ["ok"] * 4)
        source.set_interval(0.5)

        def renewed(shot: Snapshot) -> bool:
            assert len(shot.devices) == 4
            return shot.interval_s == 0.5

        await until(source, renewed)

    asyncio.run(watching(source, check))


def test_a_new_interval_loses_no_lost_device_and_not_since_when_it_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = scenario_of(tmp_path, monkeypatch)
    source = live(1.0)
    source = LiveSource(msgspec.structs.replace(source.settings, rediscover_s=0.5))

    async def check() -> None:
        await until(source, lambda shot: states(shot) == ["ok"] * 4)
        scenario.lose(1, handle=True).system("told_count", 3).write()
        lost = await until(source, lambda shot: states(shot) == ["ok", "lost", "ok", "lost"])
        since = [view.state_since for view in lost.devices]
        source.set_interval(0.5)
        await until(source, lambda shot: shot.interval_s == 0.5)

        def read_anew(shot: Snapshot) -> bool:
            assert states(shot) == ["ok", "lost", "ok", "lost"]
            age_s = shot.devices[0].sample_age_s
            return age_s is not None and shot.time - age_s > renewed

        renewed = time.time()
        shot = await until(source, read_anew)
        assert [view.state_since for view in shot.devices] == since

    asyncio.run(watching(source, check))


def test_a_device_lost_before_the_start_has_no_duration_and_one_lost_later_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = scenario_of(tmp_path, monkeypatch)
    scenario.lose(1).write()
    source = live()

    async def check() -> None:
        await until(source, lambda shot: states(shot) == ["ok", "lost", "ok", "ok"])
        scenario.lose(2).write()
        shot = await until(source, lambda shot: states(shot) == ["ok", "lost", "lost", "ok"])
        assert fmt.state_lasts(shot.devices[1], shot) == ""
        assert fmt.state_lasts(shot.devices[2], shot).endswith(" s")

    asyncio.run(watching(source, check))


def test_a_driver_call_that_hangs_from_the_start_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = scenario_of(tmp_path, monkeypatch)
    scenario.fault("nvmlDeviceGetUtilizationRates", "hang", 1).write()
    source = live(timeout_s=0.5)

    async def check() -> None:
        shot = await until(source, lambda shot: states(shot) == ["ok", "unresponsive", "ok", "ok"])
        shot = await until(source, lambda shot: not is_awaited(shot.devices[1]))
        assert shot.devices[1].sample_time is None
        assert fmt.state_lasts(shot.devices[1], shot).endswith(" s")

    asyncio.run(watching(source, check))


def test_a_collector_that_was_started_and_never_run_is_ended() -> None:
    source = live()
    supervisor = source.start()
    assert supervisor.pid is not None
    source.close()
    assert supervisor.stopped


class Shots:
    """Frames ten seconds apart; the ones in `damaged` cannot be read."""

    def __init__(self, count: int, damaged: frozenset[int] = frozenset()) -> None:
        self.count = count
        self.damaged = damaged
        self.closed = False

    def times(self) -> list[float]:
        return [NOW + 10 * index for index in range(self.count)]

    def at(self, index: int) -> Snapshot:
        if index in self.damaged:
            raise WireError("damaged")
        return msgspec.structs.replace(node(index % 3 + 1), time=self.times()[index])

    def close(self) -> None:
        self.closed = True


def played(source: ReplaySource, check: Callable[[], Awaitable[None]]) -> None:
    async def go() -> None:
        task = asyncio.create_task(source.run(lambda: None))
        async with asyncio.timeout(LONG_S):
            await asyncio.sleep(0)
            await check()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(go())


def time_of(source: ReplaySource) -> float:
    shot = source.snapshot()
    assert shot is not None
    return shot.time - NOW


def test_a_recording_plays_to_its_end_and_stays_there() -> None:
    source = ReplaySource(Shots(8))
    source.speed = 300.0

    async def check() -> None:
        while source.position[0] < 8:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.25)
        assert source.position == (8, 8)

    played(source, check)


def test_a_loop_restarts() -> None:
    source = ReplaySource(Shots(3), loop=True)
    source.speed = 300.0
    seen: list[int] = []

    async def check() -> None:
        while seen[-2:] != [3, 1]:
            if not seen or source.position[0] != seen[-1]:
                seen.append(source.position[0])
            await asyncio.sleep(0.01)

    played(source, check)


def test_steps_stop_at_the_ends_and_stop_playing() -> None:
    source = ReplaySource(Shots(3))

    async def check() -> None:
        source.step(-1)
        assert (time_of(source), source.playing) == (0.0, False)
        source.step(1)
        source.step(1)
        source.step(1)
        assert time_of(source) == 20.0

    played(source, check)


def test_a_jump_brings_the_frames_before_it_for_the_history() -> None:
    source = ReplaySource(Shots(100))

    async def check() -> None:
        source.pause()
        assert source.drain() == (True, [])
        source.seek(NOW + 555)
        anew, before = source.drain()
        assert anew
        assert [shot.time - NOW for shot in before] == [float(t) for t in range(250, 550, 10)]
        assert time_of(source) == 550.0

    played(source, check)


def test_a_step_forward_goes_on_with_the_history() -> None:
    source = ReplaySource(Shots(10))

    async def check() -> None:
        source.drain()
        source.step(1)
        assert source.drain() == (False, [])

    played(source, check)


def test_a_damaged_frame_is_passed_over() -> None:
    source = ReplaySource(Shots(3, frozenset({1})))

    async def check() -> None:
        source.step(1)
        assert time_of(source) == 0.0
        source.step(1)
        assert time_of(source) == 20.0

    played(source, check)


def test_closing_lets_go_of_the_frames() -> None:
    shots = Shots(2)
    ReplaySource(shots).close()
    assert shots.closed
