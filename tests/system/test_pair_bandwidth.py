"""Two processes on one machine measure what they move; what is changed on its way fails the test."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from accelwatch.base.errors import AccelwatchError
from accelwatch.system import pair_bandwidth
from accelwatch.system.pair_bandwidth import CorruptedError, measure_bandwidth, serve
from support.processes.waiting import GUARD_S, wait_until
from support.servers.ports import free_port


def connected(port: int) -> socket.socket:
    """As soon as somebody listens there."""

    def try_once() -> socket.socket | None:
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port))
        return None

    return wait_until(try_once)


class Served:
    """A node that serves in a thread, and how that ended."""

    def __init__(self, port: int, key: str = "k", wait_s: float = 20.0) -> None:
        self.error: AccelwatchError | None = None
        self._thread = threading.Thread(target=self._run, args=(port, key, wait_s), daemon=True)
        self._thread.start()

    def _run(self, port: int, key: str, wait_s: float) -> None:
        try:
            serve(port, key, streams=2, wait_s=wait_s)
        except AccelwatchError as error:
            self.error = error

    def end(self) -> AccelwatchError | None:
        self._thread.join(GUARD_S)
        assert not self._thread.is_alive()
        return self.error


def rates(port: int, key: str = "k") -> pair_bandwidth.PairRate:
    return measure_bandwidth("127.0.0.1", port, key, streams=2, seconds=0.2, wait_s=20.0)


def test_data_goes_both_ways_and_both_rates_are_reported() -> None:
    port = free_port()
    served = Served(port)
    rate = rates(port)
    assert served.end() is None
    assert rate.sent > 0
    assert rate.received > 0


def test_the_client_waits_for_the_node_that_serves() -> None:
    port = free_port()
    later = threading.Timer(0.5, lambda: Served(port))
    later.start()
    assert rates(port).sent > 0


def test_who_is_not_of_the_pair_is_turned_away() -> None:
    port = free_port()
    served = Served(port)
    with connected(port) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\nHost: gpu7\r\nUser-Agent: curl\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(1) == b""
    with pytest.raises(AccelwatchError):
        rates(port, key="another job's")
    assert rates(port).sent > 0
    assert served.end() is None


def test_nobody_waits_for_ever() -> None:
    assert "did not connect within 0.2 s" in str(Served(free_port(), wait_s=0.2).end())
    with pytest.raises(AccelwatchError, match="cannot be reached"):
        measure_bandwidth("127.0.0.1", free_port(), "k", streams=1, seconds=0.1, wait_s=0.3)


def test_what_is_changed_on_its_way_fails_the_test() -> None:
    """A relay between the two changes one byte of what is sent."""
    port, relay_port = free_port(), free_port()
    served = Served(port)
    with socket.create_server(("127.0.0.1", relay_port)) as relay:
        threading.Thread(target=_relay, args=(relay, port), daemon=True).start()
        with pytest.raises(CorruptedError, match="changed on its way to the other node"):
            measure_bandwidth("127.0.0.1", relay_port, "k", streams=2, seconds=0.2, wait_s=20.0)
    assert isinstance(served.end(), CorruptedError)


def _relay(listener: socket.socket, port: int) -> None:
    with contextlib.suppress(OSError):
        while True:
            near, _ = listener.accept()
            threading.Thread(target=_pass_both, args=(near, port), daemon=True).start()


def _pass_both(near: socket.socket, port: int) -> None:
    with near, socket.create_connection(("127.0.0.1", port)) as far:
        back = threading.Thread(target=_pass_on, args=(far, near, None), daemon=True)
        back.start()
        _pass_on(near, far, 5000)
        back.join()


def _pass_on(source: socket.socket, sink: socket.socket, spoiled: int | None) -> None:
    passed = 0
    with contextlib.suppress(OSError):
        while data := bytearray(source.recv(65_536)):
            if spoiled is not None and passed <= spoiled < passed + len(data):
                data[spoiled - passed] ^= 1
            passed += len(data)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def run(tmp_path: Path, node: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "accelwatch", "bandwidth", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={"SLURMD_NODENAME": node, "SLURM_JOB_ID": "17", "PATH": "/usr/bin:/bin"},
    )


def test_the_same_command_on_both_nodes_serves_and_measures(tmp_path: Path) -> None:
    port = str(free_port())
    flags = ("--server", "127.0.0.1", "--port", port, "--duration", "200ms", "--streams", "2")
    serving = run(tmp_path, "127", *flags)
    measuring = run(tmp_path, "n2", *flags)
    output, errors = measuring.communicate(timeout=60)
    assert (measuring.returncode, errors) == (0, b"")
    assert serving.communicate(timeout=60) == (b"", b"")
    assert serving.returncode == 0
    figure = json.loads(output)
    assert figure["unit"] == "bytes_per_second"
    assert figure["value"] == min(figure["sent"], figure["received"]) > 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), b"--server is missing"),
        (("--server", "n1", "--port", "0"), b"--port is 1 to 65535"),
        (("--server", "n1", "--streams", "65"), b"--streams is 1 to 64"),
        (("--server", "n1", "--duration", "11m"), b"--duration is 600s at most"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, arguments: tuple[str, ...], says: bytes) -> None:
    process = run(tmp_path, "n2", *arguments)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert says in errors
