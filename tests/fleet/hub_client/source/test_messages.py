"""Messages of a hub's stream, of this version, of a later one, and damaged; the picture they make."""

import msgspec
import pytest

from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.hub_client.connection.messages import message, tag
from accelwatch.fleet.hub_client.picture import Picture
from accelwatch.fleet.picture.model import MOST_EVENTS
from accelwatch.fleet.wire import DeviceSlot, FleetHello, FleetTick
from accelwatch.web.http.stream import MSGPACK, framed
from support.dashboards.fleets import fleet_document, fleet_event

_FLEET = msgspec.to_builtins(fleet_document(nodes_total=2))
_TICK = {"type": "tick", "sequence": 4, "time": 5.0, "fleet": {**_FLEET, "more": 1}}


def _packed(**fields: object) -> bytes:
    return msgspec.msgpack.encode(fields)


def _tick(*devices: object) -> bytes:
    return _packed(**_TICK, nodes=[["n1", "up", 0.5, 0]], devices=devices)


def _slot(slot: int, **changes: object) -> DeviceSlot:
    usual = {"node": "n1", "id": f"d{slot}", "vendor": "v", "index": slot, "name": f"v{slot}"}
    usual |= {"labels": {}, "kind": "gpu", "model": None, "uuid": None, "parent_id": None}
    return DeviceSlot(slot=slot, **{**usual, **changes})  # type: ignore[arg-type]


def _decoded(body: bytes) -> FleetTick:
    found = message(body)
    assert isinstance(found, FleetTick)
    return found


def test_what_the_hub_sends_is_read() -> None:
    sent = DeviceSlot(
        slot=3, node="n1", labels={"rack": "r1"}, id="a", vendor="nvidia", index=0, name="nvidia0",
        kind="gpu", model=None, uuid=None, parent_id=None, job="4711", user="research",
    )  # fmt: skip
    body = framed(sent, MSGPACK)[4:]
    assert tag(body) == "device"
    slot = message(body)
    assert isinstance(slot, DeviceSlot)
    assert (slot.slot, slot.labels, slot.job, slot.pod) == (3, {"rack": "r1"}, "4711", None)
    hello = message(framed(FleetHello(interval_s=2.0, fields=("power_watts",)), MSGPACK)[4:])
    assert isinstance(hello, FleetHello)
    assert (hello.interval_s, hello.fields) == (2.0, ("power_watts",))


def test_a_tick_is_read_with_what_a_later_version_adds() -> None:
    tick = _decoded(_tick([0, "ok", "ok", 0.1, [0.5, None, None, 9, 30], "more"]))
    assert tick.devices[0].values == (0.5, None, None, 9, 30)
    assert tick.nodes[0].state == "up"
    assert tick.fleet.nodes_total == 2


@pytest.mark.parametrize("read_at", [None, 1.8e9, "2027-01-15T08:00:00.000Z"])
def test_the_store_is_read_from_hubs_of_both_schemas(read_at: object) -> None:
    store = {"address": "http://prometheus", "read_at": read_at, "fault": "refused"}
    fleet = {**_FLEET, "store": store}
    tick = _decoded(_packed(**{**_TICK, "fleet": fleet}, nodes=[], devices=[]))
    assert tick.fleet.troubles == ("store http://prometheus: refused",)


def test_a_message_of_an_unknown_kind_is_left_out() -> None:
    assert message(_packed(type="weather", rain=True)) is None
    assert message(b"") is None
    assert message(b"\x81\xa4type") is None


@pytest.mark.parametrize(
    "body",
    [
        _packed(type="tick"),
        _tick([0, "ok"]),
        _packed(type="device", slot="first"),
        _packed(type="hello", schema="accelwatch-fleet/2"),
        _packed(type="tick", sequence=1)[:-1],
    ],
)
def test_damage_and_another_schema_are_faults(body: bytes) -> None:
    with pytest.raises(TargetFault):
        message(body)


def test_a_view_is_not_changed_by_what_comes_after_it() -> None:
    picture = Picture()
    picture.assign_slot(_slot(0, labels={"rack": "r1"}))
    tick = _decoded(_tick([0, "ok", "ok", 0.1, [0.5, None, None, 9, 30]]))
    first = picture.view(tick, 1.0, 1.0, "")
    again = picture.view(tick, 2.0, 1.0, "")
    assert again.slots is first.slots
    picture.assign_slot(_slot(2))
    second = picture.view(tick, 3.0, 1.0, "")
    assert [slot and slot.slot for slot in first.slots] == [0]
    assert [slot and slot.slot for slot in second.slots] == [0, None, 2]
    assert first.node_labels == {"n1": {"rack": "r1"}}


def test_after_another_connection_a_device_is_the_same_object() -> None:
    picture = Picture()
    slot = _slot(0)
    picture.assign_slot(slot)
    picture.reset()
    picture.assign_slot(_slot(0))
    tick = _decoded(_tick([0, "ok", "ok", 0.1, [0.5, None, None, 9, 30]]))
    assert picture.view(tick, 1.0, 1.0, "").slots[0] is slot


@pytest.mark.parametrize("slot", [1, 7])
def test_values_of_nobody_are_a_fault(slot: int) -> None:
    picture = Picture()
    picture.assign_slot(_slot(0))
    picture.assign_slot(_slot(2))
    tick = _decoded(_tick([slot, "ok", "ok", 0.1, [0.5, None, None, 9, 30]]))
    with pytest.raises(TargetFault, match="not announced"):
        picture.view(tick, 1.0, 1.0, "")


def test_events_are_kept_once_and_only_so_many() -> None:
    picture = Picture()
    for number in range(MOST_EVENTS + 10):
        picture.event(fleet_event(sequence=number, time=float(number), node="n1"))
    newest = float(MOST_EVENTS + 9)
    for sequence in (MOST_EVENTS + 9, MOST_EVENTS + 10):
        picture.event(fleet_event(sequence=sequence, time=newest, node="n1"))
    events = picture.view(_decoded(_tick()), 1.0, 1.0, "").events
    assert (len(events), events[0].sequence) == (MOST_EVENTS, 10)
    assert events[-1].sequence == MOST_EVENTS + 9
