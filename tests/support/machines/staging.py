"""A snapshot of a fixture machine through backend and store: no thread and no process."""

import time

import msgspec

from accelwatch.backend import Backend, EventSource, Request
from accelwatch.base.errors import ReadError
from accelwatch.node.sampler.turns.contract import failure_of, sound_readings
from accelwatch.node.store import Store
from accelwatch.node.store.reports import BackendChanged, Cycle, Events, Identified, Outcome, Slots
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process, Reading
from accelwatch.schema.snapshot import BackendState, BackendStatus, DeviceView, Snapshot
from support.machines.staged_machines import Stage


def two_ticks(stage: Stage) -> Snapshot:
    """The machine after two rounds, a second apart; host, version and users of processes are fixed."""
    store = Store(stage.clock, host="n01", root=stage.root)
    backend = stage.backend()
    opened = backend.open()
    status = BackendStatus(
        name=backend.name,
        vendor=backend.vendor,
        state=BackendState.OK,
        source=opened.source,
        versions=dict(opened.versions),
        devices=len(backend.discover()),
    )
    store.apply(BackendChanged(status=status))
    for _ in range(2):
        stage.clock.advance(1.0)
        _tick(store, backend, stage)
        time.sleep(stage.settle_s)
    backend.close()
    return _fixed(store.snapshot())


def _tick(store: Store, backend: Backend, stage: Stage) -> None:
    found = tuple(backend.discover())
    store.apply(Slots(backend=backend.name, devices=found))
    for device in found:
        store.apply(_turn(store, backend, device, stage))
    if isinstance(backend, EventSource):
        store.apply(Events(backend=backend.name, events=tuple(backend.wait_events(0.0))))
    cycle = Cycle(backend=backend.name, result="ok", duration_s=0.01, wall=stage.clock.wall())
    store.apply(cycle)


def _turn(store: Store, backend: Backend, device: Device, stage: Stage) -> Outcome:
    readings: tuple[Reading, ...] = ()
    failure = None
    try:
        identity = tuple(backend.identify(device))
        store.apply(Identified(backend=backend.name, slot=device.id, devices=identity))
        answer = tuple(backend.read(identity[0], Request()))
        readings = sound_readings(answer, tuple(identity), frozenset())
    except ReadError as error:
        failure = failure_of(error)
    return Outcome(
        backend=backend.name,
        slot=device.id,
        monotonic=stage.clock.monotonic(),
        wall=stage.clock.wall(),
        readings=readings,
        failure=failure,
    )


def _fixed(snapshot: Snapshot) -> Snapshot:
    """Without what depends on who runs the test, and with what it costs."""
    views = tuple(_fixed_view(view) for view in snapshot.devices)
    return msgspec.structs.replace(snapshot, devices=views, version="0.0.0", own={})


def _fixed_view(view: DeviceView) -> DeviceView:
    processes = view.reading.processes
    if processes is None:
        return view
    named = tuple(_fixed_process(process) for process in processes)
    reading = msgspec.structs.replace(view.reading, processes=named)
    return msgspec.structs.replace(view, reading=reading)


def _fixed_process(process: Process) -> Process:
    return msgspec.structs.replace(process, user=process.user and "trainer")


def worth_reading(snapshot: Snapshot) -> Snapshot:
    """A big machine cut down: devices that are unwell, and the first that is well, with partitions."""
    if len(snapshot.devices) <= 4:
        return snapshot
    whole = [view for view in snapshot.devices if view.device.parent_id is None]
    well = [view.device.id for view in whole if view.health.value == "ok"][:1]
    kept = {view.device.id for view in whole if view.health.value != "ok"} | set(well)
    devices = tuple(
        view for view in snapshot.devices if {view.device.id, view.device.parent_id} & kept
    )
    return msgspec.structs.replace(snapshot, devices=devices)
