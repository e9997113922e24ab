"""The kubelet's answer, from the socket to allocations, and everything that can go wrong on the way."""

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded
from hypothesis import given, settings
from hypothesis import strategies as st

from accelwatch.backend.kit.grpc import http2
from accelwatch.backend.kit.grpc.failure import SourceError
from accelwatch.base.clock import SystemClock
from accelwatch.node.workloads.sources import podresources
from accelwatch.node.workloads.sources.podresources import Allocation
from node.workloads import kubelet_wire as wire
from node.workloads.fake_kubelet import FakeKubelet
from support.processes.waiting import GUARD_S

FIXTURES = Path(__file__).parents[3] / "fixtures/workloads/kubelet"
UUID = "GPU-0a1b2c3d-1111-2222-3333-444455556666"


def fetch(kubelet: FakeKubelet | Path, timeout_s: float = GUARD_S) -> tuple[Allocation, ...]:
    path = kubelet if isinstance(kubelet, Path) else kubelet.path
    return podresources.fetch(path, timeout_s=timeout_s, clock=SystemClock())


ONE = wire.pod("ml", "train-0", wire.container("main", wire.devices("nvidia.com/gpu", [UUID])))
TRAIN = Allocation(
    namespace="ml", pod="train-0", container="main", resource="nvidia.com/gpu", names=(UUID,)
)


def octets(name: str) -> bytes:
    return bytes.fromhex("".join((FIXTURES / name).read_text().split()))


def test_reads_what_the_kubelets_own_libraries_write(kubelet: FakeKubelet) -> None:
    """Header compression included; the fixture says how it was made."""
    kubelet.answers(octets("list.hex"))
    found = fetch(kubelet)
    assert len(found) == 6
    assert found[2] == Allocation(
        namespace="ml",
        pod="train-1",
        container="main",
        resource="nvidia.com/gpu",
        names=("GPU-11111111-2222-3333-4444-000000000001",),
    )
    assert found[3].names == ("k8s.gpu.nvidia.com/device=gpu-0", "gpu-0")
    assert found[3].resource == "gpu.nvidia.com"


def test_an_error_of_the_kubelet_is_reported_in_its_words(kubelet: FakeKubelet) -> None:
    kubelet.answers(octets("unavailable.hex"))
    with pytest.raises(SourceError, match="UNAVAILABLE: go away, please") as caught:
        fetch(kubelet)
    assert caught.value.reason == "refused"


def test_the_request_is_one_unary_grpc_call(kubelet: FakeKubelet) -> None:
    kubelet.answers(wire.reply(b""))
    assert fetch(kubelet) == ()
    (request,) = kubelet.requests
    reader = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
    reader.initiate_connection()
    events = reader.receive_data(request)
    (received,) = [event for event in events if isinstance(event, RequestReceived)]
    headers = {str(name): str(value) for name, value in received.headers or ()}
    assert headers[":path"] == "/v1.PodResourcesLister/List"
    assert (headers["content-type"], headers["te"]) == ("application/grpc", "trailers")
    assert headers["grpc-timeout"].endswith("m")
    assert b"".join(one.data or b"" for one in events if isinstance(one, DataReceived)) == bytes(5)
    assert any(isinstance(event, StreamEnded) for event in events)


def test_decodes_hand_written_octets() -> None:
    """A pod "p" of "n" with a container "c", which has the device "d" of the resource "r"."""
    message = bytes.fromhex(
        "0a15 0a0170 12016e 1a0d 0a0163 1208 0a0172 120164 1a00".replace(" ", "")
    )
    assert podresources.decode(message) == (
        Allocation(namespace="n", pod="p", container="c", resource="r", names=("d",)),
    )


def test_several_devices_containers_and_claims() -> None:
    body = wire.pod(
        "ml",
        "p",
        wire.container("init"),
        wire.container(
            "a",
            wire.devices("amd.com/gpu", ["0000:83:00.0", "0000:85:00.0"]),
            wire.devices("x/y", []),
        ),
        wire.container(
            "b", wire.claim("gpu.amd.com", ["amd.com/gpu=3", "amd.com/gpu=4"], "gpu-3-131")
        ),
    ) + wire.pod("kube-system", "idle")
    found = [(one.container, one.resource, one.names) for one in podresources.decode(body)]
    assert found == [
        ("a", "amd.com/gpu", ("0000:83:00.0",)),
        ("a", "amd.com/gpu", ("0000:85:00.0",)),
        ("b", "gpu.amd.com", ("amd.com/gpu=3", "amd.com/gpu=4", "gpu-3-131")),
    ]


def test_unknown_fields_and_undecodable_names_do_no_harm() -> None:
    body = wire.field(9, 7) + wire.pod("ml", "p", wire.field(12, b"new"), wire.container("c"))
    strange = wire.field(1, wire.field(1, b"\xff") + wire.container("c", wire.devices("r", ["d"])))
    assert podresources.decode(body) == ()
    assert podresources.decode(strange)[0].pod == "�"


def test_the_number_of_allocations_is_bounded() -> None:
    ids = [str(number) for number in range(70_000)]
    body = wire.pod("ml", "p", wire.container("c", wire.devices("hami.io/slots", ids)))
    assert len(podresources.decode(body)) == podresources.MAX_ALLOCATIONS


def awkward(*parts: bytes) -> bytes:
    return b"".join(parts)


BODY = wire.message(ONE)
HALF = len(BODY) // 2
UNUSUAL = {
    "one octet a frame": awkward(wire.HEAD, *wire.data_frames(BODY, 1), wire.TRAILERS),
    "empty data frames": awkward(
        wire.HEAD, wire.frame(0, b"", 0, 1), *wire.data_frames(BODY), wire.TRAILERS
    ),
    "padding": awkward(
        wire.HEAD,
        wire.frame(wire.DATA, bytes([9]) + BODY + bytes(9), wire.PADDED, 1),
        wire.TRAILERS,
    ),
    "padded and prioritised headers": awkward(
        wire.frame(wire.SETTINGS),
        wire.frame(wire.HEADERS, bytes([2, *bytes(4), 16]) + b"\x88" + bytes(2), 4 | 8 | 0x20, 1),
        *wire.data_frames(BODY),
        wire.TRAILERS,
    ),
    "continuations": awkward(
        wire.HEAD,
        *wire.data_frames(BODY),
        wire.frame(wire.HEADERS, wire.literal("grpc-status", "0")[:3], wire.END_STREAM, 1),
        wire.frame(wire.CONTINUATION, wire.literal("grpc-status", "0")[3:7], 0, 1),
        wire.frame(wire.CONTINUATION, wire.literal("grpc-status", "0")[7:], wire.END_HEADERS, 1),
    ),
    "pings, windows, priorities, unknown kinds": awkward(
        wire.HEAD,
        wire.frame(wire.PING, b"12345678"),
        wire.frame(wire.PING, b"12345678", 1),
        wire.frame(wire.SETTINGS, b"", 1),
        wire.frame(wire.WINDOW, bytes([0, 0, 1, 0])),
        wire.frame(2, bytes(5), 0, 1),
        wire.frame(0xBE, b"grease", 0xFF, 77),
        *wire.data_frames(BODY),
        wire.TRAILERS,
    ),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_but_right_answers(kubelet: FakeKubelet, name: str) -> None:
    kubelet.answers(UNUSUAL[name])
    assert fetch(kubelet) == (TRAIN,)


def test_an_answer_in_dribs_and_drabs(kubelet: FakeKubelet) -> None:
    answer = wire.reply(ONE)

    def drip(connection: socket.socket) -> None:
        for at in range(0, len(answer), 3):
            connection.sendall(answer[at : at + 3])

    kubelet.script = drip
    assert fetch(kubelet) == (TRAIN,)


def test_a_large_answer_needs_no_window_update(kubelet: FakeKubelet) -> None:
    pods = b"".join(
        wire.pod("ml", f"p{number}", wire.container("c", wire.devices("nvidia.com/gpu", [UUID])))
        for number in range(4_000)
    )
    kubelet.answers(wire.reply(pods))
    assert len(fetch(kubelet)) == 4_000


def bad(*after: bytes) -> bytes:
    return awkward(wire.HEAD, *after)


WRONG = {
    "garbage": (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "closed early|http2"),
    "no settings": (wire.frame(wire.PING, bytes(8)), "closed early|Connection reset"),
    "reset": (bad(wire.frame(wire.RST, bytes([0, 0, 0, 7]), 0, 1)), "REFUSED_STREAM"),
    "goaway": (bad(wire.frame(wire.GOAWAY, bytes([0, 0, 0, 0, 0, 0, 0, 11]))), "ENHANCE_YOUR_CALM"),
    "cut goaway": (bad(wire.frame(wire.GOAWAY, b"\0")), "invalid"),
    "closed": (bad(), "closed early|Connection reset"),
    "closed in a frame": (wire.HEAD[:-3], "closed early|Connection reset"),
    "too large a frame": (bad(b"\xff\xff\xff" + bytes(6)), "http2"),
    "padding only": (bad(wire.frame(wire.DATA, b"", wire.PADDED, 1)), "invalid"),
    "more padding than data": (bad(wire.frame(wire.DATA, b"\x09abc", wire.PADDED, 1)), "padding"),
    "another stream": (bad(wire.frame(wire.DATA, b"abc", 0, 3)), "http2: 3"),
    "push": (bad(wire.frame(wire.PUSH, bytes(4), 4, 1)), "http2"),
    "interrupted block": (
        bad(wire.frame(wire.HEADERS, b"\x88", 0, 1), wire.frame(wire.PING, bytes(8))),
        "during header block",
    ),
    "continuation of nothing": (bad(wire.frame(wire.CONTINUATION, b"", 4, 1)), "http2"),
    "endless block": (
        bad(
            wire.frame(wire.HEADERS, bytes(16_000), 0, 1),
            *[wire.frame(wire.CONTINUATION, bytes(16_000), 0, 1)] * 5,
        ),
        "closed early|Connection reset|http2",
    ),
    "no table entry": (bad(wire.frame(wire.HEADERS, b"\xff\xff\x01", 5, 1)), "Invalid table index"),
    "not grpc": (
        wire.frame(wire.SETTINGS) + wire.frame(wire.HEADERS, b"\x8d", 5, 1),
        "404 status",
    ),
    "no message": (bad(wire.TRAILERS), "without a message"),
    "compressed": (bad(*wire.data_frames(b"\1" + BODY[1:]), wire.TRAILERS), "compressed"),
    "cut message": (bad(*wire.data_frames(BODY[:-1]), wire.TRAILERS), "cut off"),
    "two messages": (bad(*wire.data_frames(BODY * 2), wire.TRAILERS), "followed by another"),
    "damaged protobuf": (wire.reply(b"\x0a\xff\x01"), "protobuf"),
    "unimplemented": (
        wire.frame(wire.SETTINGS)
        + wire.frame(wire.HEADERS, b"\x88" + wire.literal("grpc-status", "12"), 5, 1),
        "UNIMPLEMENTED",
    ),
    "odd status": (
        wire.frame(wire.SETTINGS)
        + wire.frame(wire.HEADERS, b"\x88" + wire.literal("grpc-status", "-1"), 5, 1),
        "status -1",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_distinguished(kubelet: FakeKubelet, name: str) -> None:
    answer, words = WRONG[name]
    kubelet.answers(answer)
    with pytest.raises(SourceError, match=words):
        fetch(kubelet)


def test_an_answer_past_the_limit_is_given_up(
    kubelet: FakeKubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http2, "MAX_BODY_BYTES", 70_000)
    kubelet.answers(bad(*wire.data_frames(bytes(80_000))))
    with pytest.raises(SourceError, match="larger than 70000|Flow control"):
        fetch(kubelet)


def test_a_flood_of_frames_is_given_up(
    kubelet: FakeKubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http2, "_MAX_EVENTS", 100)
    kubelet.answers(wire.HEAD, wire.frame(wire.WINDOW, bytes([0, 0, 0, 1])) * 200)
    with pytest.raises(SourceError, match="too many frames"):
        fetch(kubelet)


def test_silence_ends_with_the_deadline(kubelet: FakeKubelet) -> None:
    done = threading.Event()
    kubelet.script = lambda connection: (done.wait(GUARD_S), None)[1]
    with pytest.raises(SourceError, match="in time") as caught:
        fetch(kubelet, timeout_s=0.1)
    assert caught.value.reason == "timeout"
    done.set()


def test_a_slow_drip_ends_with_the_same_deadline(kubelet: FakeKubelet) -> None:
    """Each octet comes in time, the answer does not."""
    done = threading.Event()

    def drip(connection: socket.socket) -> None:
        for octet in wire.reply(ONE):
            if done.is_set():
                return
            connection.sendall(bytes([octet]))
            time.sleep(0.01)

    kubelet.script = drip
    with pytest.raises(SourceError) as caught:
        fetch(kubelet, timeout_s=0.15)
    assert caught.value.reason == "timeout"
    done.set()


def test_no_socket_no_listener_no_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceError) as absent:
        fetch(tmp_path / "none.sock")
    assert absent.value.reason == "absent"
    with socket.socket(socket.AF_UNIX) as unused:
        unused.bind(str(tmp_path / "u.sock"))
        with pytest.raises(SourceError) as refused:
            fetch(tmp_path / "u.sock")
    assert refused.value.reason == "refused"

    class Refusing(socket.socket):
        def connect(self, _address: object) -> None:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket, "socket", Refusing)
    with pytest.raises(SourceError) as forbidden:
        fetch(tmp_path / "u.sock")
    assert forbidden.value.reason == "permission"
    assert "group root" in forbidden.value.remedy


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_any_octets_are_allocations_or_an_error(octets: bytes) -> None:
    with suppress(SourceError):
        podresources.decode(octets)


@settings(deadline=None)
@given(st.integers(0, 400), st.binary(max_size=6))
def test_a_damaged_message_never_breaks_the_reader(at: int, noise: bytes) -> None:
    body = ONE * 2
    try:
        found = podresources.decode(body[:at] + noise + body[at + len(noise) :])
    except SourceError:
        return
    assert len(found) <= len(body)


@settings(deadline=None)
@given(st.integers(0, 800), st.binary(max_size=6), st.integers(0, 30))
def test_a_damaged_connection_never_breaks_the_client(at: int, noise: bytes, lost: int) -> None:
    good = octets("list.hex")
    stream = good[:at] + noise + good[at + lost :]
    chunks = [stream]

    def receive() -> bytes:
        if not chunks:
            raise SourceError("closed", reason="io")
        return chunks.pop()

    headers = [(":method", "POST"), (":scheme", "http"), (":path", "/a"), (":authority", "b")]
    with suppress(SourceError):
        http2.exchange(lambda sent: None, receive, headers, b"")
