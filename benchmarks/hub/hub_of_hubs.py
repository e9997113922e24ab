"""What a hub over hubs costs: CPU, memory, and how late its stream is, with a dashboard on it.

`hub_of_hubs.py [--hubs N] [--nodes N] [--interval S] [--stream-interval S] [--seconds S]`: hubs of so
many nodes with 8 devices each, and one real hub over them, a process each. The hubs below are the
stand-ins of `several_hubs.py`: they serve the stream of a real hub with other numbers in every tick, and
no other page. Lateness is the time from a tick at a stand-in to the first tick of the hub over them at
its client that has it.
"""

import asyncio
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.source import HubSource
from accelwatch.fleet.picture.model import POWER
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from hub_processes import Use, share, use
from several_hubs import DEVICES, Plan, parser_of, serving

PORT = 19879
_BASE = f"http://127.0.0.1:{PORT}"
_USE_EVERY_S = 10.0


class Options(NamedTuple):
    plan: Plan
    stream_interval_s: float


def options() -> Options:
    parser = parser_of(__doc__)
    parser.add_argument("--stream-interval", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args()
    plan = Plan(given.hubs, given.nodes, given.interval, given.seconds, False)
    return Options(plan, given.stream_interval)


@contextlib.contextmanager
def upper_hub(places: dict[int, int], stream_interval_s: float) -> Iterator[int]:
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
        process = subprocess.Popen(words)
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait(30)


class Measured(NamedTuple):
    uses: list[Use]
    answers_s: list[float]
    lateness_s: list[float]
    ticks: int


async def watch(plan: Plan, pid: int) -> Measured:
    """Follow the hub as a dashboard does, once it has all devices, and note what it uses."""
    source = HubSource(HubEndpoint(name="upper", base=_BASE))
    complete = asyncio.Event()
    lateness: list[float] = []
    newest: dict[str, float] = {}
    ticks = [0]

    def changed() -> None:
        view = source.fleet()
        if view is None or len(view.devices) < plan.hubs * plan.nodes * DEVICES:
            return
        ticks[0] += 1
        now = time.time()
        for device in view.devices[:: plan.nodes * DEVICES]:
            slot, made_at = view.slots[device.slot], device.values[POWER]
            assert slot is not None
            assert made_at is not None
            hub = slot.labels["hub"]
            if complete.is_set() and made_at > newest.get(hub, 0.0):
                lateness.append(now - made_at)
            newest[hub] = max(newest.get(hub, 0.0), made_at)
        complete.set()

    answers: list[float] = []

    async def ask() -> None:
        """The numbers of the fleet, once a second."""
        session = HubSession(HubEndpoint(name="upper", base=_BASE))
        while True:
            began = time.monotonic()
            await session.document("/v1/fleet")
            answers.append(time.monotonic() - began)
            await asyncio.sleep(1.0)

    task = asyncio.ensure_future(source.run(changed))
    await asyncio.wait_for(complete.wait(), 120)
    asking = asyncio.ensure_future(ask())
    ticks[0] = 0
    uses = [use(pid)]
    for _ in range(max(round(plan.seconds / _USE_EVERY_S), 1)):
        await asyncio.sleep(_USE_EVERY_S)
        uses.append(use(pid))
    task.cancel()
    asking.cancel()
    await asyncio.gather(task, asking, return_exceptions=True)
    return Measured(uses, answers, lateness, ticks[0])


def most_mib(pid: int) -> float:
    """The most memory that a process has had resident; VmHWM of proc(5)."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    plan, stream_interval_s = options()
    with serving(plan) as places, upper_hub(places, stream_interval_s) as pid:
        time.sleep(3)
        found = asyncio.run(watch(plan, pid))
        most = most_mib(pid)
    late, last = sorted(found.lateness_s), found.uses[-1]
    devices = plan.hubs * plan.nodes * DEVICES
    shares = [share(*pair) for pair in zip(found.uses, found.uses[1:], strict=False)]
    print(
        f"{plan.hubs} hubs, {devices} devices, a tick of each every {plan.interval_s:g} s; "
        f"the hub over them streams every {stream_interval_s:g} s to a dashboard"
    )
    wall_s = last.at - found.uses[0].at
    print(f"CPU       {share(found.uses[0], last):.1f} % of a core over {wall_s:.0f} s")
    print(f"          {max(shares):.1f} % in the busiest {_USE_EVERY_S:g} s")
    print(f"memory    {last.pss_mib:.0f} MiB PSS at the end, {most:.0f} MiB resident at most")
    print(f"          {found.uses[0].pss_mib:.0f} MiB PSS at the beginning")
    print(f"ticks     {found.ticks} at the client, {len(late)} of the hubs below in them")
    answers = sorted(found.answers_s)
    print(f"/v1/fleet median {statistics.median(answers) * 1000:.0f} ms, worst {answers[-1]:.2f} s")
    print(f"lateness  median {statistics.median(late):.2f} s, worst {late[-1]:.2f} s")


if __name__ == "__main__":
    main()
