"""The collector process by itself: how it is prepared, whom it obeys, how it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from accelwatch.node.sampler.child import first_order
from accelwatch.node.sampler.protocol.call_registry import calls_out, threads_inside
from accelwatch.node.sampler.protocol.frames import (
    ChecksumSplitter,
    Stream,
    decode,
    encode,
    with_checksum,
)
from accelwatch.node.sampler.protocol.settings import CollectSettings, LetIn, StartOrder
from accelwatch.node.store.reports import Component, Cycle, Done, Heartbeat
from node.sampler.fakes import FAKE, TELLING
from support.processes.waiting import wait_until

# As `python -m`, but under the name of the module that the mutation tests change.
COMMAND = [sys.executable, "-c", "from accelwatch.node.sampler.child import main; main()"]
PART = Component("nvidia", "nvidia:0")
PREPARED = """
import os, resource, signal, sys
from accelwatch.node.sampler import child
reading, writing = os.pipe()
os.set_blocking(writing, False)
signal.set_wakeup_fd(writing)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child._prepare(int(sys.argv[1]))
print(
    signal.set_wakeup_fd(-1),
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
    signal.getsignal(signal.SIGTERM) is signal.SIG_DFL,
    resource.getrlimit(resource.RLIMIT_CORE),
    flush=True,
)
import threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
os.kill(os.getpid(), signal.SIGSEGV)
"""
CERTAIN = """
import signal, time
from accelwatch.node.sampler import child
signal.signal(signal.SIGALRM, signal.SIG_IGN)
child._arm_kill_timer(0.01)
time.sleep(60)
"""
TIED = """
import ctypes
from accelwatch.node.sampler import child
child._prefer_oom_kill()
child.die_with_parent()
number = ctypes.c_int()
ctypes.CDLL(None).prctl(2, ctypes.byref(number), 0, 0, 0)
print(number.value, open("/proc/self/oom_score_adj").read().strip())
"""
OBEYED = """
import os, sys, time
from accelwatch.node.sampler import child
class Inbox:
    def put(self, message):
        os.write(1, repr(message).encode() + b"\\n")
child._obey(0, Inbox())
time.sleep(60)
"""
REPORTED = """
import os
from accelwatch.node.sampler import child
from accelwatch.node.sampler.protocol.frames import MAX_FRAME_BYTES
from accelwatch.node.store.reports import Cycle, Heartbeat
reading, writing = os.pipe()
os.set_blocking(reading, False)
reports = child._Reports(writing)
alive = Heartbeat(cpu_s=1.0, resident_bytes=1)
reports(alive)
reports(Cycle(backend="x" * MAX_FRAME_BYTES, result="ok", duration_s=1.0, wall=1.0))
try:
    os.read(reading, 4096)
except BlockingIOError:
    print("nothing yet")
reports.flush()
print(len(os.read(reading, 4096)))
os.close(reading)
for _ in range(2):
    reports(alive)
    try:
        reports.flush()
    except BrokenPipeError:
        print("nobody reads")
"""


def run(program: str, *words: str, **more: object) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, capture_output=True, check=False, timeout=60, **more)  # type: ignore[call-overload, no-any-return]


def test_it_owns_its_signals_and_leaves_a_report_instead_of_a_core_file() -> None:
    crash = os.memfd_create("crash")
    done = run(PREPARED, str(crash), pass_fds=(crash,))
    assert done.stdout == b"-1 True True (0, 0)\n"
    assert done.returncode == -signal.SIGSEGV
    report = os.pread(crash, 65536, 0)
    os.close(crash)
    assert report.startswith(b"Fatal Python error: Segmentation fault")
    assert report.count(b"hread 0x") == 2


def test_a_single_reading_is_ended_by_the_kernel() -> None:
    assert run(CERTAIN).returncode == -signal.SIGALRM


def test_it_goes_before_its_server_and_with_its_parent() -> None:
    assert run(TIED).stdout == b"9 1000\n"


def test_orders_are_followed_and_their_end_is_the_order_to_stop() -> None:
    orders = encode(StartOrder(settings=CollectSettings())) + encode(LetIn(component=PART))
    done = run(OBEYED, input=orders)
    assert done.returncode == 0
    assert done.stdout.split(b"\n") == [f"Admit(component={PART!r})".encode(), b"Stop()", b""]


def test_what_cannot_be_reported_is_left_out_and_a_missing_reader_is_logged_once() -> None:
    length = len(with_checksum(encode(Heartbeat(cpu_s=1.0, resident_bytes=1))))
    assert run(REPORTED).stdout == b"nothing yet\n%d\nnobody reads\n" % length


def test_nothing_behind_the_first_order_is_read() -> None:
    reading, writing = os.pipe()
    order = StartOrder(settings=CollectSettings(interval_s=3.0))
    os.write(writing, encode(LetIn(component=PART)) + encode(order) + encode(LetIn(component=PART)))
    assert first_order(reading) == order
    assert os.read(reading, 4096) == encode(LetIn(component=PART))
    os.close(writing)
    assert first_order(reading) is None
    os.close(reading)


@pytest.mark.parametrize(
    ("order", "code", "words"),
    [
        (b"\0\0\0\1\xc1", 1, b"WireError: damaged order of 1 bytes: "),
        (b"", 0, b""),
    ],
)
def test_a_failure_of_its_own_is_left_in_the_crash_file(
    order: bytes, code: int, words: bytes
) -> None:
    crash = os.memfd_create("crash")
    done = subprocess.run(
        [*COMMAND, str(crash)],
        input=order,
        capture_output=True,
        pass_fds=(crash,),
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")
    assert os.pread(crash, 4096, 0)[: len(words)] == words
    assert bool(os.pread(crash, 4096, 0)) == bool(words)
    os.close(crash)


def test_its_own_output_goes_where_the_order_says() -> None:
    crash, (reading, errors) = os.memfd_create("crash"), os.pipe()
    options: dict[str, dict[str, object]] = {
        TELLING: {"events": "raise", "open": "print=by a library"}
    }
    settings = CollectSettings(backends=(TELLING,), options=options, root="/nonexistent")
    with subprocess.Popen(
        [*COMMAND, str(crash), str(errors)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(crash, errors),
    ) as child:
        assert child.stdin is not None
        os.close(errors)
        child.stdin.write(encode(StartOrder(settings=settings)))
        child.stdin.flush()
        output = os.read(reading, 4096)
        adjusted = Path(f"/proc/{child.pid}/oom_score_adj").read_text()
        _, printed = child.communicate()
    os.close(reading)
    os.close(crash)
    assert output.startswith(b"event source fails error=ValueError('a bug in the backend')")
    assert printed == b"by a library"
    assert adjusted == "1000\n"
    assert child.returncode == 0


def test_a_collector_that_nobody_reads_ends_without_a_word(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    options: dict[str, dict[str, object]] = {FAKE: {"close_file": str(closed)}}
    settings = CollectSettings(
        backends=(FAKE,), options=options, interval_s=0.2, root="/nonexistent"
    )
    crash = os.memfd_create("crash")
    with subprocess.Popen(
        [*COMMAND, str(crash)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(crash,),
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdin.write(encode(StartOrder(settings=settings)))
        child.stdin.flush()
        reports = Stream(child.stdout.fileno())
        while not any(isinstance(report, Cycle) for report in reports.read()):
            continue
        child.stdout.close()
        assert child.stderr.read() == b""
    os.close(crash)
    assert child.returncode == 0
    assert closed.exists()


def test_who_is_inside_a_driver_is_written_behind_the_crash_report() -> None:
    options: dict[str, dict[str, object]] = {FAKE: {"devices": [{"id": "0", "do": "hang"}]}}
    settings = CollectSettings(backends=(FAKE,), options=options, root="/nonexistent")
    crash = os.memfd_create("crash")
    with subprocess.Popen(
        [*COMMAND, str(crash)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=(crash,),
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(encode(StartOrder(settings=settings)))
        child.stdin.flush()

        def reading() -> frozenset[int]:
            return frozenset(call.thread for call in calls_out(crash) if call.action == "read")

        wait_until(lambda: bool(reading()) and threads_inside(crash) == reading())
    os.close(crash)


def test_the_time_of_a_single_reading_runs_since_its_request() -> None:
    options: dict[str, dict[str, object]] = {FAKE: {"devices": [{"id": "0", "do": "hang"}]}}
    settings = CollectSettings(
        backends=(FAKE,), options=options, root="/nonexistent", one_shot=True, timeout_s=600.0
    )
    crash = os.memfd_create("crash")
    with subprocess.Popen(
        [*COMMAND, str(crash)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=(crash,),
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(
            encode(StartOrder(settings=settings, started_at=time.monotonic() - 3600.0))
        )
        child.stdin.flush()
        output = child.stdout.read()
    os.close(crash)
    reports = [*map(decode, ChecksumSplitter().feed(output))]
    assert reports[-1] == Done()


SPEAKING = """
import os, sys
from accelwatch.node.sampler import child
child.speak_apart(os.dup(1))
sys.stderr.write("caf\\u00e9 \\udc80\\n")
os._exit(0)
"""


def test_its_own_words_are_utf8_in_any_locale_and_never_fail() -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run(SPEAKING, env={**os.environ, **plain})
    assert done.stdout == "caf\u00e9 \\udc80\n".encode()
