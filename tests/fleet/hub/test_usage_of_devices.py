"""Who uses a device: owners and their names, processes kept as bytes until they are shown."""

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.fleet.state.nodes.usage import NOBODY, UNUSED, Occupancy, Usage, occupancy, usage_of
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Process, Reading
from accelwatch.schema.snapshot import DeviceView, EventCount, Owner
from accelwatch.schema.stream.context import MAX_OWNERS, MAX_USERS, processes_message
from support.machines import composed as machines

JOB = Owner(kind="job", scheduler="slurm", job_id="4711", user="trainer", queue="train")
OTHER = Owner(kind="job", scheduler="slurm", job_id="4712", user="eva", queue="train")
POD = Owner(kind="kubernetes", namespace="ml", pod="serve-0", container="model")


def test_the_names_of_owners_are_sorted_and_joined() -> None:
    assert occupancy((OTHER, JOB), ()) == Occupancy(
        (OTHER, JOB),
        {
            "job": ("4711", "4712"),
            "user": ("eva", "trainer"),
            "queue": ("train",),
            "scheduler": ("slurm",),
        },
        {"job": "4711+4712", "user": "eva+trainer", "queue": "train", "scheduler": "slurm"},
    )
    assert occupancy((POD,), ()).names == {
        "namespace": ("ml",),
        "pod": ("serve-0",),
        "container": ("model",),
    }


def test_people_who_run_processes_count_where_no_job_names_a_user() -> None:
    assert occupancy((), ("eva", "ada")).names == {"user": ("eva", "ada")}
    assert occupancy((), ("eva", "ada")).shown == {"user": "eva+ada"}
    assert occupancy((POD,), ("ada",)).names["user"] == ("ada",)
    assert occupancy((JOB,), ("ada",)).names["user"] == ("trainer",)
    assert occupancy((), ()) is NOBODY
    assert occupancy((), iter(("ada",))).owners == ()


def test_owners_and_users_are_bounded() -> None:
    owners = tuple(Owner(kind="job", job_id=str(number)) for number in range(MAX_OWNERS + 1))
    users = tuple(f"u{number}" for number in range(MAX_USERS + 1))
    found = occupancy(owners, users)
    assert found.owners == owners[:MAX_OWNERS]
    assert found.names["user"] == users[:MAX_USERS]


def test_owners_and_processes_change_apart() -> None:
    usage = Usage(health_reasons=("hot",)).with_owners((POD,))
    assert (usage.occupancy.owners, usage.health_reasons) == ((POD,), ("hot",))
    first = usage.with_processes(b"a", 1, ("ada",))
    assert (first.rows, first.processes_total, first.users) == (b"a", 1, ("ada",))
    assert first.occupancy.shown == {"user": "ada", **usage.occupancy.shown}
    assert (first.occupancy.owners, first.health_reasons) == ((POD,), ("hot",))
    second = first.with_processes(b"b", 2, ("ada",))
    assert (second.rows, second.processes_total) == (b"b", 2)
    assert second.occupancy is first.occupancy
    assert second.with_owners((JOB,)).occupancy.shown["user"] == "trainer"
    assert second.with_owners(()).occupancy.names == {"user": ("ada",)}


def shared_usage(count: int, total: int | None = None, rows: bytes | None = None) -> Usage:
    """What a stream reports of so many processes of a device."""
    message = processes_message(0, machines.processes("x", count))
    packed = msgspec.msgpack.encode(message.rows)
    return Usage(rows=rows or packed, processes_total=count if total is None else total)


def test_processes_are_shown_with_their_device() -> None:
    reading = shared_usage(2).reading(Reading(device_id="x", notes=("a note",)))
    assert reading.processes is not None
    assert [(one.device_id, one.pid, one.user) for one in reading.processes] == [
        ("x", 4000, "trainer"),
        ("x", 4001, "trainer"),
    ]
    assert reading.notes == ("a note",)
    assert shared_usage(0, rows=b"\x90").reading(Reading(device_id="x")).processes == ()


def test_processes_that_are_not_sent_to_the_hub_are_a_note() -> None:
    reading = shared_usage(2, total=3).reading(Reading(device_id="x", notes=("a note",)))
    assert reading.notes == ("a note", "2 of 3 processes are sent to the hub")


@pytest.mark.parametrize("series", [("processes",), ("*",)])
def test_processes_that_could_not_be_read_stay_absent(series: Series) -> None:
    reading = Reading(device_id="x", absent={series: Absence.TIMEOUT})
    assert shared_usage(2).reading(reading) is reading
    assert UNUSED.reading(Reading(device_id="x")).processes is None


@pytest.mark.parametrize("rows", [b"\xc1", b"\x91\xa1x", b"\x91" * 5000, b"\xa1\xff"])
def test_processes_that_cannot_be_decoded_are_none(rows: bytes) -> None:
    reading = shared_usage(1, rows=rows).reading(Reading(device_id="x"))
    assert reading.processes == ()
    assert reading.notes == ("0 of 1 processes are sent to the hub",)


def read(*processes: Process, **changes: object) -> DeviceView:
    return machines.view(0, reading=Reading(device_id="x", processes=processes), **changes)


def test_the_usage_of_a_device_that_was_read_whole() -> None:
    counts = (EventCount(code="xid_79", category="bus", total=1, last_time=0.0),)
    people = [Process(device_id="x", pid=at, user=user) for at, user in enumerate("cabb")]
    nameless = Process(device_id="x", pid=9, user=None)
    view = read(*people, nameless, owners=(POD,), health_reasons=("hot",), event_counts=counts)
    usage = usage_of(view)
    assert (usage.users, usage.processes_total, usage.rows) == (("a", "b", "c"), 5, None)
    assert usage.occupancy == occupancy((POD,), ("a", "b", "c"))
    assert (usage.health_reasons, usage.event_counts) == (("hot",), counts)
    many = [Process(device_id="x", pid=at, user=f"u{at}") for at in range(MAX_USERS + 1)]
    assert len(usage_of(read(*many)).users) == MAX_USERS


@pytest.mark.parametrize(
    "view",
    [
        read(owners=(JOB,)),
        read(Process(device_id="x", pid=1, user="ada")),
        read(health_reasons=("hot",)),
        read(event_counts=(EventCount(code="x", category="bus", total=1, last_time=0.0),)),
    ],
)
def test_anything_that_is_known_is_usage(view: DeviceView) -> None:
    assert usage_of(view) is not UNUSED


def test_a_device_of_which_nothing_is_known_has_the_usage_of_all_such() -> None:
    assert usage_of(read(Process(device_id="x", pid=1))) is UNUSED
    assert usage_of(machines.view(0, reading=Reading(device_id="x", processes=None))) is UNUSED
