"""Targets by name, from a name server on loopback over UDP and TCP."""

import asyncio
import contextlib
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.resolver
import dns.rrset
import pytest

from accelwatch.base.errors import UsageError
from accelwatch.fleet.targets.dns import DnsTargets, check_servers, split_name
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import DnsSd
from accelwatch.fleet.targets.watch import in_thread
from support.fleet.target_discovery import finding

# A guard against a test that never ends: no machine is so busy.
PATIENCE_S = 300.0


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question is not asked again while a busy machine still writes the answer."""
    reset = dns.resolver.BaseResolver.reset

    def patiently(resolver: dns.resolver.BaseResolver) -> None:
        reset(resolver)
        resolver.timeout = PATIENCE_S

    monkeypatch.setattr(dns.resolver.BaseResolver, "reset", patiently)


class Zone:
    """Records by name and type, and how the server misbehaves."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], list[str]] = {}
        self.rcode = dns.rcode.NOERROR
        self.silent = False
        self.babbles = False
        self.queries: list[str] = []

    def set(self, name: str, kind: str, *values: str) -> None:
        self.records[name, kind] = list(values)

    def answer(self, data: bytes, most: int, how: str) -> bytes | None:
        """The answer to a query, cut with the flag TC when it is longer than `most` bytes."""
        query = dns.message.from_wire(data)
        name, kind = query.question[0].name, dns.rdatatype.to_text(query.question[0].rdtype)
        self.queries.append(f"{how} {kind}")
        if self.silent:
            return None
        if self.babbles:
            return data[:2] + b"\xff" * 40
        response = dns.message.make_response(query)
        response.set_rcode(self.rcode)
        short = name.to_text(True)
        values = self.records.get((short, kind), [])
        if values:
            response.answer.append(dns.rrset.from_text_list(name, 60, "IN", kind, values))
        elif not any(one == short for one, _ in self.records):
            response.set_rcode(dns.rcode.NXDOMAIN)
        wire = response.to_wire(max_size=65535)
        if len(wire) > most:
            response = dns.message.make_response(query)
            response.flags |= dns.flags.TC
            wire = response.to_wire()
        return wire


def _on_one_port(
    tcp: type[socketserver.BaseRequestHandler], udp: type[socketserver.BaseRequestHandler]
) -> tuple[socketserver.TCPServer, socketserver.UDPServer]:
    """Servers of both; what is free by TCP may be somebody's by UDP."""
    while True:
        by_tcp = socketserver.TCPServer(("127.0.0.1", 0), tcp)
        try:
            address = cast("tuple[str, int]", by_tcp.server_address)
            return by_tcp, socketserver.UDPServer(address, udp)
        except OSError:
            by_tcp.server_close()


@contextlib.contextmanager
def name_server(zone: Zone) -> Iterator[str]:
    class Udp(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            data, sock = self.request
            wire = zone.answer(data, 512, "udp")
            if wire is not None:
                sock.sendto(wire, self.client_address)

    class Tcp(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            size = int.from_bytes(self.rfile.read(2), "big")
            wire = zone.answer(self.rfile.read(size), 65535, "tcp")
            if wire is not None:
                self.wfile.write(len(wire).to_bytes(2, "big") + wire)

    tcp, udp = _on_one_port(Tcp, Udp)
    threads = [threading.Thread(target=one.serve_forever, args=(0.01,)) for one in (tcp, udp)]
    for thread in threads:
        thread.start()
    try:
        yield f"127.0.0.1:{tcp.server_address[1]}"
    finally:
        for one in (tcp, udp):
            one.shutdown()
            one.server_close()
        for thread in threads:
            thread.join()


def targets(server: str, *names: str, rules: Rules | None = None, **given: Any) -> DnsTargets:
    settings = {"names": names, "nameservers": (server,), "timeout_s": PATIENCE_S, **given}
    return DnsTargets(DnsSd(**settings), rules or Rules())


def test_every_address_of_a_name_is_a_target() -> None:
    zone = Zone()
    zone.set("agents.monitoring.svc", "A", "10.0.0.2", "10.0.0.1")
    with name_server(zone) as server:
        way = targets(server, "agents.monitoring.svc", labels={"pool": "a"})
        assert [(one.address, one.labels) for one in way.poll()] == [
            ("10.0.0.1:9877", {"pool": "a"}),
            ("10.0.0.2:9877", {"pool": "a"}),
        ]
        (one, _) = targets(server, "agents.monitoring.svc:9400").poll()
        assert one.address == "10.0.0.1:9400"


def test_ipv6_addresses_stand_in_brackets() -> None:
    zone = Zone()
    zone.set("n.example", "AAAA", "fd00::1")
    with name_server(zone) as server:
        (one,) = targets(server, "n.example", type="AAAA", port=9400).poll()
        assert (one.address, one.node) == ("[fd00::1]:9400", "fd00::1")


def test_a_service_brings_hosts_and_ports() -> None:
    zone = Zone()
    zone.set("_accel._tcp.example", "SRV", "0 5 9877 n2.example.", "0 5 9400 n1.example.")
    with name_server(zone) as server:
        way = targets(server, "_accel._tcp.example", type="SRV")
        assert [(one.node, one.address) for one in way.poll()] == [
            ("n1.example", "n1.example:9400"),
            ("n2.example", "n2.example:9877"),
        ]


def test_an_answer_too_long_for_a_datagram_is_requested_again() -> None:
    zone = Zone()
    zone.set("many.example", "A", *(f"10.0.{n // 250}.{n % 250 + 1}" for n in range(1000)))
    with name_server(zone) as server:
        assert len(targets(server, "many.example").poll()) == 1000
    assert "tcp A" in zone.queries


def _refuse(zone: Zone) -> None:
    zone.rcode = dns.rcode.SERVFAIL


def _vanish(zone: Zone) -> None:
    zone.records.clear()


def _empty(zone: Zone) -> None:
    zone.records = {("agents.example", "TXT"): ["x"]}


def _fall_silent(zone: Zone) -> None:
    zone.silent = True


def _babble(zone: Zone) -> None:
    zone.babbles = True


@pytest.mark.parametrize(
    ("fail", "timeout_s"),
    [
        (_refuse, PATIENCE_S),
        (_vanish, PATIENCE_S),
        (_empty, PATIENCE_S),
        (_fall_silent, 0.1),
        (_babble, 0.1),
    ],
)
def test_a_name_that_fails_keeps_its_addresses(
    fail: Callable[[Zone], None], timeout_s: float
) -> None:
    zone = Zone()
    zone.set("agents.example", "A", "10.0.0.1")
    with name_server(zone) as server:
        way = targets(server, "agents.example")
        assert len(way.poll()) == 1
        fail(zone)
        hasty = targets(server, "agents.example", timeout_s=timeout_s)
        hasty.kept = way.kept
        assert [one.address for one in hasty.poll()] == ["10.0.0.1:9877"]
        assert list(way.kept.complaints) == ["agents.example"]
        zone.silent, zone.babbles, zone.rcode = False, False, dns.rcode.NOERROR
        zone.set("agents.example", "A", "10.0.0.9")
        assert [one.address for one in way.poll()] == ["10.0.0.9:9877"]
        assert not way.kept.complaints


def test_one_name_that_fails_costs_no_other() -> None:
    zone = Zone()
    zone.set("good.example", "A", "10.0.0.1")
    with name_server(zone) as server:
        way = targets(server, "bad.example", "good.example")
        assert [one.address for one in way.poll()] == ["10.0.0.1:9877"]
        assert list(way.kept.complaints) == ["bad.example"]


def test_without_a_name_server_nothing_is_found() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        way = targets(f"127.0.0.1:{deaf.getsockname()[1]}", "n.example", timeout_s=0.1)
        assert way.poll() == []
        assert "in time" in way.kept.complaints["n.example"]


def test_a_name_is_looked_up_again_and_again() -> None:
    zone = Zone()
    zone.set("agents.example", "A", "10.0.0.1")

    async def main() -> None:
        with name_server(zone) as server:
            way = in_thread(targets(server, "agents.example"), 0.02)
            async with finding(way) as one:
                await one.until(lambda: one.addresses == ["10.0.0.1:9877"])
                zone.set("agents.example", "A", "10.0.0.1", "10.0.0.2")
                await one.until(lambda: len(one.targets) == 2)

    asyncio.run(main())


@pytest.mark.parametrize("text", ["", ":1", "n:0", "n:99999", "a b", "[::1]:1", "n" * 64, "né"])
def test_a_name_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        split_name(text, DnsSd())


def test_a_name_server_is_an_address() -> None:
    check_servers(["127.0.0.1:53", "[::1]:53"])
    with pytest.raises(UsageError, match="dns.example"):
        check_servers(["dns.example:53"])
