"""When the first readings count as complete, and what is shown while settings change."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from accelwatch.agent.collection import Collection, first_cycle_over
from accelwatch.base.clock import SystemClock
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import BackendState, BackendStatus, Snapshot
from support.machines import composed as machines

HANGING = "hanging_backend:HangingBackend"


def _with(state: BackendState, *cycled: str) -> Snapshot:
    status = BackendStatus(name="nvidia", vendor="nvidia", state=state)
    own = {("collector_cycles_total", name, "ok"): 1 for name in cycled}
    return machines.snapshot(backends=(status,), own=own)


def test_a_backend_is_waited_for_until_it_is_read_or_known_to_be_unusable() -> None:
    assert not first_cycle_over(_with(BackendState.OK), ["nvidia"])
    assert first_cycle_over(_with(BackendState.OK, "nvidia"), ["nvidia"])
    assert not first_cycle_over(_with(BackendState.OK, "nvidia"), ["nvidia", "amd"])
    for state in (BackendState.ABSENT, BackendState.UNAVAILABLE, BackendState.FAILED):
        assert first_cycle_over(_with(state), ["nvidia"])
    assert first_cycle_over(_with(BackendState.OK), [])


def test_the_old_readings_are_shown_until_the_new_ones_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    settings = CollectSettings(backends=(HANGING,), interval_s=0.1, timeout_s=0.1)

    async def scenario() -> None:
        collection = Collection(settings, SystemClock())
        seen: list[tuple[int, int, bool]] = []
        collection.subscribe(
            lambda: seen.append(
                (collection.version, len(collection.snapshot().devices), collection.ready)
            )
        )
        collection.start()
        while not collection.ready:
            await asyncio.sleep(0.02)
        assert collection.alive
        before = len(seen)
        changed = msgspec.structs.replace(settings, groups=frozenset({"pipes"}))
        await collection.replace(changed)
        assert len(collection.snapshot().devices) == 2
        while len(seen) < before + 3:
            await asyncio.sleep(0.02)
        assert ("pipe_active_ratio", "tensor") in collection.snapshot().devices[0].reading.values
        assert {(devices, ready) for _, devices, ready in seen[before:]} == {(2, True)}
        assert [version for version, _, _ in seen] == sorted({version for version, _, _ in seen})
        await collection.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("changed", [{"interval_s": 0.2}, {"timeout_s": 6.0}])
def test_another_pace_leaves_since_when_devices_are_in_their_state(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, float]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    # The device that answers must not be late before and after the change, on any machine.
    settings = CollectSettings(backends=(HANGING,), interval_s=0.1, timeout_s=5.0)

    async def scenario() -> None:
        collection = Collection(settings, SystemClock())
        collection.start()
        while not collection.ready:
            await asyncio.sleep(0.02)
        before = [(one.state, one.state_since) for one in collection.snapshot().devices]
        assert [state for state, _ in before] == [DeviceState.OK, DeviceState.UNRESPONSIVE]
        published = asyncio.Event()
        collection.subscribe(published.set)
        await collection.replace(msgspec.structs.replace(settings, **changed))
        published.clear()
        await published.wait()
        shown = collection.snapshot()
        assert [(one.state, one.state_since) for one in shown.devices] == before
        assert shown.interval_s == changed.get("interval_s", settings.interval_s)
        await collection.stop()

    asyncio.run(asyncio.wait_for(scenario(), 60))


def test_a_backend_requested_by_name_that_cannot_be_used_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        settings = CollectSettings(backends=("replay",), interval_s=0.1)
        collection = Collection(settings, SystemClock())
        collection.start()
        while not collection.ready:
            await asyncio.sleep(0.02)
        await collection.stop()

    asyncio.run(asyncio.wait_for(scenario(), 60))

    (warning,) = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert warning.startswith("backend replay: ")
    assert "set replay's option file" in warning


def test_what_is_here_and_cannot_be_read_is_reported_unasked(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    backends = tuple(map(machines.unread, ("nvidia", "kernel_log")))
    snapshot = machines.snapshot(devices=(), backends=backends)

    async def twice() -> None:
        collection = Collection(CollectSettings(), SystemClock())
        monkeypatch.setattr(collection._store, "snapshot", lambda: snapshot)
        monkeypatch.setattr(collection, "_expected", frozenset({"nvidia"}))
        assert collection.ready
        assert collection.ready

    asyncio.run(twice())
    warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert warnings == [
        "backend nvidia: NVML_ERROR_LIB_RM_VERSION_MISMATCH; reboot after the update"
    ]
