"""Real hubs over simulated agents, for a hub over them; a process for each.

Each hub follows the nodes of a simulator of its own and one node of `hub_load.py`, whose power is the
time at which its tick was due: by this node lateness is measured at the far end.
"""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from sys import executable
from typing import Any, NamedTuple

from hub_processes import HERE, hub_words, running, wait_for_files
from several_hubs import Plan

_FIRST_PORT = 19880
# A machine whose cores are busy takes its time over thousands of connections at once.
_PATIENCE = "{scrape_timeout: 60s}"


class Below(NamedTuple):
    """The hubs below and who simulates their nodes; each has a name of its own."""

    # By the number of the hub.
    ports: dict[int, int]
    pids: dict[str, int]
    simulator_pids: dict[str, int]
    # With what each hub measures itself.
    folders: dict[str, Path]
    # The nodes whose power is the time, one of each hub.
    marks: Sequence[str]


@contextlib.contextmanager
def real_hubs(plan: Plan, folder: Path) -> Iterator[Below]:
    """Hubs of simulated nodes with 8 devices that tick every so often; they end with the block."""
    with contextlib.ExitStack() as stack:
        port = folder / "port"
        words = [executable, str(HERE / "hub_load.py"), str(port), str(plan.interval_s), "times"]
        stack.enter_context(running(words, None))
        below = Below({}, {}, {}, {}, [f"h{hub}mark" for hub in range(plan.hubs)])
        listed = [folder / f"fleet-{hub}.json" for hub in range(plan.hubs)]
        for hub, file in enumerate(listed):
            simulator = stack.enter_context(running(_simulator(plan, hub, file), None))
            below.simulator_pids[f"nodes {hub}"] = simulator.pid
        wait_for_files(port, *listed)
        for hub, file in enumerate(listed):
            name = f"hub {hub}"
            own = below.folders[name] = folder / f"hub-{hub}"
            own.mkdir()
            targets = own / "targets.json"
            mark = below.marks[hub]
            marked = f"http://127.0.0.1:{port.read_text()}/{mark}"
            groups = [*_targets(hub, file), {"targets": [marked], "labels": {"node": mark}}]
            targets.write_text(json.dumps(groups))
            below.ports[hub] = _FIRST_PORT + hub
            words = hub_words(
                own,
                targets,
                _PATIENCE,
                "arrivals",
                port=below.ports[hub],
                stream_interval_s=plan.interval_s,
            )
            below.pids[name] = stack.enter_context(running(words, None)).pid
        yield below


def _simulator(plan: Plan, seed: int, targets: Path) -> list[str]:
    return [
        *(executable, "-m", "accelwatch", "sim", "--nodes", str(plan.nodes), "--vendor", "nvidia"),
        *("--seed", str(seed), "--listen", "127.0.0.1:0", "--ports", "one"),
        *("--interval", f"{plan.interval_s:g}s", "--print-targets", str(targets)),
    ]


def _targets(hub: int, fleet: Path) -> list[dict[str, Any]]:
    """The simulated nodes; those of all hubs have names of their own."""
    groups: list[dict[str, Any]] = json.loads(fleet.read_text())
    for group in groups:
        group["labels"]["node"] = f"h{hub}{group['labels']['node']}"
    return groups
