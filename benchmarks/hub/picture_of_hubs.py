"""How long a hub over hubs holds its event loop for one picture of all of them.

`picture_of_hubs.py [--hubs 8] [--nodes 750]`: made at once, as a dashboard of several hubs makes it, and
in slices, as a hub over hubs does. Prints one JSON document, in milliseconds.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import msgspec

from accelwatch.base.slices import LongWork, at_once, in_slices
from accelwatch.fleet.hub_client.several.hub_picture import HubPicture
from accelwatch.fleet.hub_client.several.picture import SeveralPicture
from accelwatch.fleet.picture.model import FleetView
from support.dashboards.fleets import fleet_view

ROUNDS = 20


async def longest_hold(work: Callable[[], Awaitable[object]]) -> float:
    """The longest time for which nothing else could run, while some work was done."""
    longest, last = 0.0, time.monotonic()

    async def watch() -> None:
        nonlocal longest, last
        while True:
            now = time.monotonic()
            longest, last = max(longest, now - last), now
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    last = time.monotonic()
    await work()
    await asyncio.sleep(0)
    watching.cancel()
    return longest


def view_of(hub: int, nodes: int) -> FleetView:
    """What one of the hubs has said, of machines that no other has."""
    view, replace = fleet_view(nodes), msgspec.structs.replace
    return replace(
        view,
        nodes=[replace(node, node=f"h{hub}{node.node}") for node in view.nodes],
        node_labels={f"h{hub}{name}": labels for name, labels in view.node_labels.items()},
        slots=[
            slot and replace(slot, node=f"h{hub}{slot.node}", uuid=f"{hub}-{slot.uuid}")
            for slot in view.slots
        ],
    )


async def main() -> None:
    """One JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hubs", type=int, default=8)
    parser.add_argument("--nodes", type=int, default=750)
    given = parser.parse_args()
    names = [f"pod-{hub}" for hub in range(given.hubs)]
    pictures = {
        hub: HubPicture(view=view_of(hub, given.nodes), age_s=0.1 * hub)
        for hub in range(given.hubs)
    }
    picture = SeveralPicture(names)
    found: dict[str, list[float]] = {"at once": [], "in slices": []}

    async def whole() -> None:
        at_once(picture.steps(pictures, "", {}, ages_of_now=True))

    async def sliced() -> None:
        await in_slices(picture.steps(pictures, "", {}, ages_of_now=True), LongWork())

    for _ in range(ROUNDS):
        found["at once"].append(await longest_hold(whole))
        found["in slices"].append(await longest_hold(sliced))
    document = {
        how: {
            "median": round(sorted(held)[ROUNDS // 2] * 1e3, 1),
            "worst": round(max(held) * 1e3, 1),
        }
        for how, held in found.items()
    }
    devices = sum(len(one.view.devices) for one in pictures.values())
    print(json.dumps({"devices": devices, "held_ms": document}, indent=1))


if __name__ == "__main__":
    asyncio.run(main())
