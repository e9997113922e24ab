"""What a record becomes as an event: subject, time, detail; and what is no record at all."""

from pathlib import Path

from accelwatch.backend import Context, EventSource, Request
from accelwatch.base.clock import ManualClock
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch_kernel_log import KernelLogBackend
from backends.kernel_log.memory_log import NOW, UPTIME, XID79, Log, codes, start
from support.machines.samples import FIXTURES


def test_it_is_a_source_of_events_without_devices(root: Path) -> None:
    backend = start(root, Log())
    assert isinstance(backend, EventSource)
    assert list(backend.discover()) == []


def test_event_has_subject_time_and_detail(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, "NVRM: Xid (PCI:0000:65:00): 13, pid=7, name=my job, Graphics", seconds=990.0)
    (event,) = backend.wait_events(0.1)
    assert event == ErrorEvent(
        code="xid_13",
        category=Category.APPLICATION,
        time=NOW - 10.0,
        text="NVRM: Xid (PCI:0000:65:00): 13, pid=7, name=my job, Graphics",
        source="kernel_log",
        subject="0000:65:00.0",
        detail={"xid": "13", "pid": "7", "process": "my job", "message": "Graphics"},
    )
    assert backend.wait_events(0.0) == []


def test_an_event_is_never_in_the_future(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.say(1, XID79, seconds=UPTIME + 50)
    assert backend.wait_events(0.0)[0].time == NOW


def test_device_property_names_what_the_text_does_not(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    log.pieces.append(
        b"3,1,900000000,-;i915 [drm] GPU HANG: ecode 12:1:859ffffb, in ollama [41]\n"
        b" SUBSYSTEM=pci\n DEVICE=+pci:0000:00:02.0\n"
    )
    assert backend.wait_events(0.0)[0].subject == "0000:00:02.0"


def test_garbage_in_the_log_is_passed_over(root: Path) -> None:
    log = Log([b"\xff" * 65536 for _ in range(160)])
    backend = start(root, log)
    log.pieces.append(b"\n")
    log.say(1, XID79)
    assert codes(backend.wait_events(0.0)) == ["xid_79"]


def test_flood_does_not_hold_the_caller(root: Path) -> None:
    log = Log()
    backend = start(root, log)
    for sequence in range(5000):
        log.say(sequence, "noise")
    backend.wait_events(0.0)
    assert log.pieces, "the rest is read by the next call"
    while log.pieces:
        assert backend.wait_events(0.0) == []


def test_single_reading_waits_for_no_events(root: Path) -> None:
    log = Log()
    log.say(1, XID79)
    context = Context(root=root, state_dir=root.parent / "state", one_shot=True)
    backend = KernelLogBackend(context, lambda path: log)
    backend.open()
    assert list(backend.wait_events(5.0)) == []
    backend.close()
    assert not list((root.parent / "state").iterdir())


FIXTURE = FIXTURES / "kernel_log/bad-day/root"
BAD_DAY = [
    ("pcie_corrected", "0000:65:00.0", True),
    ("xid_79", "0000:65:00.0", True),
    ("xid_154", "0000:65:00.0", True),
    ("xid_48", "0000:66:00.0", False),
    ("nfs_not_responding", "store-a", True),
    ("ras_umc", "0000:c1:00.0", True),
    ("xe_wedged", "0000:03:00.0", True),
    ("nfs_ok", "store-a", True),
]


def test_composed_log_of_a_bad_day() -> None:
    clock = ManualClock(wall=NOW)
    backend = KernelLogBackend(Context(root=FIXTURE, clock=clock, options={"backlog": True}))
    backend.open()
    events = backend.wait_events(0.0)
    assert [(event.code, event.subject, event.trusted) for event in events] == BAD_DAY
    # /proc/uptime says 5000 s, the lost GPU was told of at 1000.25 s
    assert events[1].time == NOW - 3999.75
    backend.close()


def test_read_brings_nothing(root: Path) -> None:
    from support.machines.composed import device

    assert list(start(root, Log()).read(device(), Request())) == []
