"""What is left out of a file that is sent away, and what stays."""

import msgspec

from accelwatch.archive.blackbox.redaction import redacted, without_argv
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.json.wire import decode, encode
from accelwatch.schema.snapshot import Owner, Snapshot
from support.machines import composed as machines


def secretive() -> Snapshot:
    view = machines.view(0)
    (first, *rest) = machines.processes(view.device.id)
    with_secrets = msgspec.structs.replace(
        first, argv=("python3", "--key=hush-argv"), job="hush-job"
    )
    reading = msgspec.structs.replace(view.reading, processes=(with_secrets, *rest))
    owner = Owner(kind="job", user="hush-owner", account="hush-account", job_id="hush-7")
    view = msgspec.structs.replace(view, reading=reading, owners=(owner,))
    mount = {("host_nfs_requests_total", "/hush-mount"): 1, ("host_uptime_seconds",): 5}
    node = machines.view(
        7,
        device=machines.device(7, id="host:0", kind="host", name="hush-host"),
    )
    node = msgspec.structs.replace(
        node, reading=msgspec.structs.replace(node.reading, values=mount)
    )
    xid = ErrorEvent(
        code="xid_31",
        category=Category.APPLICATION,
        time=machines.NOW,
        text="Xid 31, pid=4000, name=hush-name, Ch 0000",
        source="kernel_log",
        device_id=view.device.id,
        detail={"process": "hush-name", "pid": "4000"},
    )
    killed = msgspec.structs.replace(xid, code="oom_kill", device_id="", text="killed hush-tool")
    return machines.snapshot(view, node=node, events=(xid, killed), host="hush-host")


def test_nothing_personal_is_left() -> None:
    text = encode(redacted(secretive())).decode()
    assert "hush" not in text
    assert "trainer" not in text
    assert "python3" not in text


def test_what_a_vendor_needs_stays() -> None:
    before, after = secretive(), decode(encode(redacted(secretive())))
    (view,) = after.devices
    assert view.device == before.devices[0].device
    assert view.reading.values == before.devices[0].reading.values
    assert [process.pid for process in view.reading.processes or ()] == [4000, 4001]
    assert after.events[0].detail == {"pid": "4000"}
    assert after.events[0].text == "Xid 31, pid=4000, name=- Ch 0000"
    assert after.events[1].code == "oom_kill"
    assert after.node is not None
    assert after.node.reading.values == {("host_uptime_seconds",): 5}


def test_arguments_alone_are_left_out_of_what_is_kept() -> None:
    text = encode(without_argv(secretive())).decode()
    assert "hush-argv" not in text
    assert "trainer" in text


def test_a_snapshot_without_arguments_is_not_copied() -> None:
    plain = machines.snapshot(machines.view(0))
    assert without_argv(plain) is plain
