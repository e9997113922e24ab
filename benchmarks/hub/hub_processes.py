"""Processes of the hub's benchmarks: a core each, what they use, what the hub measures itself."""

import contextlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.processes.terminated import end_children_when_terminated

HERE = Path(__file__).resolve().parent
LOAD_CORE, HUB_CORE = 0, 1
PORT = 19878
_STARTING_S = 120
_MIB = 1 << 20


class Use(NamedTuple):
    """What a process used until a moment: processor seconds and memory in MiB."""

    at: float
    cpu_s: float
    rss_mib: float
    pss_mib: float


def use(pid: int) -> Use:
    """Fields 14 and 15 of /proc/PID/stat and sums of /proc/PID/smaps_rollup, proc(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()

    def mib(name: str) -> float:
        return int(rollup.split(f"{name}:")[1].split()[0]) * 1024 / _MIB

    ticks = os.sysconf("SC_CLK_TCK")
    cpu_s = (int(fields[11]) + int(fields[12])) / ticks
    return Use(time.monotonic(), cpu_s, mib("\nRss"), mib("\nPss"))


def share(before: Use, after: Use) -> float:
    """Percent of one core between two moments."""
    return 100 * (after.cpu_s - before.cpu_s) / (after.at - before.at)


@contextlib.contextmanager
def running(words: Sequence[str], core: int | None) -> Iterator[subprocess.Popen[bytes]]:
    """A process on one core, or on any; it ends with the block, whatever happens.

    Its session is its own, as a service's is: Linux shares processor time out by session first
    (autogroups, sched(7)), and those of one terminal are one.
    """
    end_children_when_terminated()
    pinned = [] if core is None else ["taskset", "-c", str(core)]
    process = subprocess.Popen([*pinned, *words], stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def hub_words(
    folder: Path,
    targets: Path,
    scrape: str,
    instruments: str = "all",
    *,
    history_s: float = 0.0,
    port: int = PORT,
    stream_interval_s: float = 1.0,
) -> list[str]:
    """A hub with instruments (`hub_probe.py`); `scrape` is its configuration of that name.

    `history_s`: seconds between two samples that its archive keeps; 0 for none. `stream_interval_s`:
    those between two ticks of its own stream.
    """
    config = folder / "hub.yaml"
    archive = f"history: {{folder: {folder}/archive, interval: {history_s}}}\n" if history_s else ""
    stream = f"stream_interval: {stream_interval_s:g}s\n"
    config.write_text(f"scrape: {scrape}\nlog: {{level: error}}\n{stream}{archive}")
    return [
        *(sys.executable, str(HERE / "hub_probe.py"), instruments, str(folder / "probe")),
        *("-c", str(config), "--targets-file", str(targets)),
        *("--web.listen-address", f"127.0.0.1:{port}", "--state-dir", str(folder)),
    ]


class Window(NamedTuple):
    """What the hub measured itself over a time."""

    arrivals: int
    # Greatest delay of a tick's arrival after it was due at its node; -inf without streams.
    late_s: float
    # Greatest time between two arrivals of one target beyond the interval.
    overdue_s: float
    # Arrivals for which one of the two was above a second.
    over_a_second: int
    # Greatest time for which the loop could not take up a due timer.
    lag_ms: float
    # Longest turn of the loop in processor time.
    turn_ms: float
    # Longest garbage collection in processor time.
    collecting_ms: float


def window(folder: Path, begin: float, end: float) -> Window:
    """The probe's lines between two moments of CLOCK_MONOTONIC."""
    lines = [json.loads(line) for line in (folder / "probe").read_text().splitlines()]
    held = [line for line in lines if begin <= line["at"] <= end]
    if not held:
        raise RuntimeError("the hub has not written what it measures")
    return Window(
        arrivals=sum(line["arrivals"] for line in held),
        late_s=max(line["late_s"] for line in held),
        overdue_s=max(line["overdue_s"] for line in held),
        over_a_second=sum(line["over_a_second"] for line in held),
        lag_ms=1e3 * max(line["lag_s"] for line in held),
        turn_ms=1e3 * max(line["turn_s"] for line in held),
        collecting_ms=1e3 * max(line["collecting_s"] for line in held),
    )


def ask(path: str, port: int = PORT) -> tuple[float, bytes]:
    """Milliseconds and body of a request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    began = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    taken = (time.perf_counter() - began) * 1e3
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{path} answered {answer.status}: {body[:200]!r}")
    return taken, body


def wait_for_files(*files: Path) -> None:
    """Until all are written, as who serves does last. Raises RuntimeError."""
    deadline = time.monotonic() + _STARTING_S
    while not all(file.exists() and file.read_text() for file in files):
        if time.monotonic() > deadline:
            raise RuntimeError(f"nobody serves yet: {', '.join(map(str, files))}")
        time.sleep(0.1)


def wait_for_nodes(count: int, hub: subprocess.Popen[bytes]) -> None:
    """Until every node is up. Raises RuntimeError."""
    # A core that follows and answers at once takes up some hundred nodes a second.
    deadline = time.monotonic() + max(_STARTING_S, count / 50)
    seen: object = None
    while time.monotonic() < deadline and hub.poll() is None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            seen = json.loads(ask("/v1/fleet")[1])["nodes"]
            if seen["up"] >= count:  # type: ignore[index]  # a mapping
                return
        time.sleep(0.5)
    raise RuntimeError(f"the hub does not see every node: {seen}")


def latencies(path: str, count: int) -> tuple[float, float, float]:
    """Median, p99 and worst of requests, milliseconds."""
    taken = sorted(ask(path)[0] for _ in range(count))
    return statistics.median(taken), taken[min(int(count * 0.99), count - 1)], taken[-1]


def table(title: str, rows: Sequence[tuple[str, str, str]]) -> str:
    """Three columns: what, measured, must reach."""
    lines = [("", "measured", "must reach"), *rows]
    wide = [max(len(line[column]) for line in lines) for column in range(3)]
    body = [
        "  ".join(cell.ljust(size) for cell, size in zip(line, wide, strict=True)) for line in lines
    ]
    return "\n".join([title, *(line.rstrip() for line in body)])
