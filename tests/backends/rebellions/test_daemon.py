"""The vendor's daemon, where there is no command: a stand-in that answers by its interface."""

import re
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.backend import Context, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.grpc.failure import SourceError
from accelwatch.base.absence import Absence
from accelwatch.base.clock import SystemClock
from accelwatch.base.errors import ReadError
from accelwatch_rebellions import RebellionsBackend, daemon
from backends.rebellions.machines import lay_out_bus
from node.workloads import kubelet_wire as wire
from support.machines.samples import sample
from support.processes.waiting import GUARD_S

GIB = 1 << 30
UUID = "5ca1ab1e-0000-4000-8000-00000000000"


def info(number: int, floats: Mapping[str, float], *, failed: bool = False) -> bytes:
    """A DeviceInfo; floats by name, as the interface has them."""
    numbers = {"total_mem": 3, "used_mem": 4, "temperature": 5, "watt": 6, "utilization": 9}
    message = wire.field(1, f"rbln{number}") + wire.field(2, f"{UUID}{number}")
    for name, value in floats.items():
        message += wire.number(numbers[name] * 8 + 5) + struct.pack("<f", value)
    message += wire.field(7, "1.4.2") + wire.field(8, "1.4.50")
    return message + (wire.field(10, 1) if failed else b"")


class Daemon:
    """Answers every call with these messages."""

    def __init__(self) -> None:
        self.messages: tuple[bytes, ...] = ()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(GUARD_S)
                body = b"".join(wire.message(one) for one in self.messages)
                frames = b"".join(wire.data_frames(body)) if body else b""
                try:
                    connection.recv(65_536)
                    connection.sendall(wire.HEAD + frames + wire.TRAILERS)
                    connection.recv(65_536)
                except OSError:
                    continue

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(GUARD_S)


@pytest.fixture(scope="module")
def served() -> Iterator[Daemon]:
    server = Daemon()
    yield server
    server.close()


def lay_out(root: Path, *buses: str) -> None:
    lay_out_bus(root, list(buses))
    for number, bus in enumerate(buses):
        folder = root / f"sys/class/rebellions/rbln{number}"
        folder.mkdir(parents=True)
        (folder / "device").symlink_to(f"../../../bus/pci/devices/{bus}")


WELL = {"total_mem": 16.0, "used_mem": 4.0, "temperature": 41.5, "watt": 55.0, "utilization": 37.5}


def test_npus_without_a_command(tmp_path: Path, served: Daemon) -> None:
    lay_out(tmp_path, "0000:41:00.0", "0000:42:00.0")
    served.messages = (info(0, WELL), info(1, {}, failed=True))
    backend = RebellionsBackend(Context(root=tmp_path, options={"daemon_port": served.port}))
    opened = backend.open()
    devices = [backend.identify(device)[0] for device in backend.discover()]
    first, second = (backend.read(device, Request())[0] for device in devices)
    backend.close()
    assert (opened.source, dict(opened.versions)) == ("rbln-daemon", {"driver": "1.4.50"})
    assert [device.id for device in devices] == [f"rebellions:{UUID}0", f"rebellions:{UUID}1"]
    assert (devices[1].pci_bus_id, devices[1].firmware_version) == ("0000:42:00.0", "1.4.2")
    assert first.values == {
        ("memory_size_bytes",): 16 * GIB,
        ("memory_used_bytes",): 4 * GIB,
        ("temperature_celsius", "gpu"): 41.5,
        ("power_watts",): 55.0,
        ("utilization_ratio",): pytest.approx(0.375),
    }
    assert first.sources["*"] == "rbln-daemon"
    assert first.absent[("processes",)] is Absence.UNSUPPORTED
    assert second.values == {}
    assert second.absent[("power_watts",)] is Absence.ERROR
    assert second.absent[("utilization_ratio",)] is Absence.ERROR


def read(served: Daemon, root: Path, *messages: bytes) -> dict[str, object]:
    served.messages = messages
    document = daemon.read_document(root, served.port, timeout_s=GUARD_S, clock=SystemClock())
    return dict(document.npus[0].fields)


@pytest.mark.parametrize(
    ("floats", "celsius", "watts"),
    [
        ({"temperature": 41_500.0, "watt": 55_000_000.0}, 41.5, 55.0),
        ({"temperature": 41.5, "watt": 55.0}, 41.5, 55.0),
        ({}, None, None),
    ],
)
def test_units_of_newer_daemons(
    served: Daemon, tmp_path: Path, floats: dict[str, float], celsius: float, watts: float
) -> None:
    card = read(served, tmp_path, info(0, floats))
    assert (card["temperature"], card["card_power"]) == (celsius, watts)


def test_without_a_daemon_it_says_what_to_install(tmp_path: Path, served: Daemon) -> None:
    lay_out(tmp_path, "0000:41:00.0")
    served.messages = ()
    for port in (served.port, "x"):
        backend = RebellionsBackend(Context(root=tmp_path, options={"daemon_port": port}))
        with pytest.raises(BackendUnavailable, match="no daemon of it answers"):
            backend.open()


def test_what_is_no_answer_is_an_error(served: Daemon, tmp_path: Path) -> None:
    served.messages = (b"\xff\xff",)
    with pytest.raises(ReadError, match="the daemon of Rebellions"):
        daemon.read_document(tmp_path, served.port, timeout_s=GUARD_S, clock=SystemClock())


@given(st.binary(max_size=60))
def test_no_damaged_message_escapes(noise: bytes) -> None:
    for octets in (noise, info(0, WELL)[: len(noise)], info(0, WELL) + noise):
        try:
            fields = daemon.fields_of(octets)
        except SourceError:
            continue
        assert set(fields) >= {"device", "temperature", "memory"}


@pytest.mark.oracle
def test_the_published_interface() -> None:
    text = sample("rebellions/grpc/rbln_services.proto").read_text()
    assert "package rblnservices;" in text
    assert "rpc getTotalInfo(Empty) returns (stream DeviceInfo) {}" in text
    body = re.sub(r"//[^\n]*", "", text).partition("message DeviceInfo {")[2].partition("}")[0]
    fields = {name: (kind, int(at)) for kind, name, at in re.findall(r"(\w+) (\w+) = (\d+);", body)}
    assert fields == {
        "name": ("string", 1),
        "uuid": ("string", 2),
        "total_mem": ("float", 3),
        "used_mem": ("float", 4),
        "temperature": ("float", 5),
        "watt": ("float", 6),
        "fw_version": ("string", 7),
        "drv_version": ("string", 8),
        "utilization": ("float", 9),
        "err_status": ("Status", 10),
    }
