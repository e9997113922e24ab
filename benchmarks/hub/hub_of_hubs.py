"""What a hub over hubs costs: CPU, memory, and how late its stream is, with a dashboard on it.

`hub_of_hubs.py [--real] [--hubs N] [--nodes N] [--interval S] [--stream-interval S] [--seconds S]`: hubs
of so many nodes with 8 devices each, and one real hub over them, a process each. The hubs below are the
stand-ins of `several_hubs.py`: they serve the stream of a real hub with other numbers in every tick, and
no other page. With --real they are real hubs of simulated agents that tick every so often
(`real_hubs.py`). Lateness is the time from a tick at a stand-in, or at an agent, to the first tick of
the hub over them at its client that has it.
"""

import argparse
import asyncio
import contextlib
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from hub_processes import running, share, window
from hub_watch import USE_EVERY_S, Marks, Measured, watch
from real_hubs import Below, real_hubs
from several_hubs import DEVICES, Plan, parser_of, serving

PORT = 19879
UPPER = "upper"
_BASE = f"http://127.0.0.1:{PORT}"


def options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--stream-interval", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--real", action="store_true", help="real hubs of simulated agents below")
    return parser.parse_args()


@contextlib.contextmanager
def upper_hub(places: Mapping[int, int], stream_interval_s: float) -> Iterator[int]:
    """The pid of a hub over the hubs at these ports."""
    with tempfile.TemporaryDirectory() as folder:
        hubs = "".join(
            f"  - {{url: 'http://127.0.0.1:{port}', name: pod-{hub}}}\n"
            for hub, port in sorted(places.items())
        )
        file = Path(folder) / "over.yaml"
        file.write_text(
            f"targets:\n  hubs:\n{hubs}web: {{listen_address: '127.0.0.1:{PORT}'}}\n"
            f"stream_interval: {stream_interval_s}s\nlog: {{level: error}}\n"
        )
        words = [sys.executable, "-m", "accelwatch", "hub", "-c", str(file)]
        with running(words, None) as process:
            yield process.pid


def most_mib(pid: int) -> float:
    """The most memory that a process has had resident; VmHWM of proc(5)."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def print_found(found: Measured, pid: int) -> None:
    uses = found.uses[UPPER]
    first, last = uses[0], uses[-1]
    shares = [share(*pair) for pair in itertools.pairwise(uses)]
    late, answers = sorted(found.lateness_s), sorted(found.answers_s)
    print(
        f"load      {statistics.mean(found.loads):.1f} in the mean, {max(found.loads):.1f} at most"
    )
    print(f"CPU       {share(first, last):.1f} % of a core over {last.at - first.at:.0f} s")
    print(f"          {max(shares):.1f} % in the busiest {USE_EVERY_S:g} s")
    print(
        f"memory    {last.pss_mib:.0f} MiB PSS at the end, {most_mib(pid):.0f} MiB resident at most"
    )
    print(f"          {first.pss_mib:.0f} MiB PSS at the beginning")
    print(f"ticks     {len(found.oldest_s)} at the client, {len(late)} of the hubs below in them")
    print(f"/v1/fleet median {statistics.median(answers) * 1000:.0f} ms, worst {answers[-1]:.2f} s")
    print(
        f"lateness  median {statistics.median(late):.2f} s, p99 {late[int(len(late) * 0.99)]:.2f} s, "
        f"worst {late[-1]:.2f} s"
    )


def print_below(found: Measured, below: Below) -> None:
    """The real hubs below, and whether their nodes were shown as they are."""
    for name in (*below.pids, *below.simulator_pids):
        uses = found.uses[name]
        print(
            f"{name:<9} {share(uses[0], uses[-1]):.1f} % of a core, {uses[-1].pss_mib:.0f} MiB PSS"
        )
    begin, end = found.uses[UPPER][0].at, found.uses[UPPER][-1].at
    for name, folder in below.folders.items():
        seen = window(folder, begin, end)
        print(
            f"{name:<9} {seen.arrivals} ticks of its nodes, {seen.over_a_second} more than a second "
            f"late, worst {max(seen.late_s, seen.overdue_s):.2f} s"
        )
    oldest = sorted(found.oldest_s)
    print(
        f"nodes     the oldest in a tick was {statistics.median(oldest):.1f} s old in the median, "
        f"{oldest[-1]:.1f} s in the worst; at most {max(found.not_up)} were not up, "
        f"in {sum(map(bool, found.not_up))} of {len(found.not_up)} ticks"
    )


def main() -> None:
    given = options()
    plan = Plan(given.hubs, given.nodes, given.interval, given.seconds, False)
    devices = plan.hubs * plan.nodes * DEVICES
    with contextlib.ExitStack() as stack:
        below: Below | None = None
        if given.real:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            below = stack.enter_context(real_hubs(plan, folder))
            ports, marks, devices = below.ports, below.marks, devices + len(below.marks) * DEVICES
        else:
            ports = stack.enter_context(serving(plan))
            marks = [f"h{hub}n{0:05d}" for hub in range(plan.hubs)]
        pid = stack.enter_context(upper_hub(ports, given.stream_interval))
        pids = {UPPER: pid} if below is None else {UPPER: pid, **below.pids, **below.simulator_pids}
        time.sleep(3)
        found = asyncio.run(watch(_BASE, plan.seconds, pids, Marks(marks), devices))
        print(
            f"{plan.hubs} hubs, {devices} devices, a tick of each {'node' if below else 'hub'} every "
            f"{plan.interval_s:g} s; the hub over them streams every {given.stream_interval:g} s"
        )
        print_found(found, pid)
        if below is not None:
            print_below(found, below)


if __name__ == "__main__":
    main()
