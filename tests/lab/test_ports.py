"""Ports for servers that are begun later."""

import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from accelwatch_lab.cluster import ports
from accelwatch_lab.cluster.ports import free_ports

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


@pytest.mark.skipif(sys.platform != "linux", reason="ip(7)")
def test_no_connection_is_given_a_port_before_its_server_listens() -> None:
    first = int(RANGE.read_text().split()[0])
    if first < 20_000:
        pytest.skip("the kernel's own range leaves too few")
    found = free_ports(50)
    assert len(set(found)) == 50
    assert max(found) < first


@pytest.mark.parametrize("text", [None, "", "what", "16000 60999"])
def test_where_the_range_is_not_known_or_leaves_few_the_kernel_chooses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    file = tmp_path / "range"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(ports, "_KERNEL_RANGE", file)
    assert len(set(free_ports(3))) == 3


def test_a_port_that_somebody_listens_on_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        used = int(server.getsockname()[1])
        tried = iter([used, used, 0])
        next_port: Callable[[], int] = lambda: next(tried)  # noqa: E731
        monkeypatch.setattr(ports, "_candidate", next_port)
        (found,) = free_ports(1)
    assert found != used


def test_an_error_of_another_kind_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_socket: object, _address: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("accelwatch_lab.cluster.ports.socket.socket.bind", refuse)
    with pytest.raises(PermissionError):
        free_ports(1)
