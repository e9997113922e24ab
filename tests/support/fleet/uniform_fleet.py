"""A fleet of four nodes that are alike, until a test has one report something else."""

import asyncio
from collections.abc import Sequence

import msgspec

from accelwatch.base.slices import LongWork
from accelwatch.fleet.odd.documents import text_of
from accelwatch.fleet.target import targets_of
from accelwatch.schema.snapshot import DeviceView
from support.fleet.two_nodes import TwoNodes, host
from support.machines import composed as machines


class AlikeFleet(TwoNodes):
    """Four polled nodes, of which each reports a device and its host."""

    nodes = ("a", "b", "c", "d")

    def __init__(self, clusters: Sequence[str] = ("", "", "", "")) -> None:
        super().__init__()
        targets = [
            target
            for node, cluster in zip(self.nodes, clusters, strict=True)
            for target in targets_of([node], {"cluster": cluster} if cluster else {})
        ]
        self.fleet.set_targets(targets)
        self.keys = {target.node: target.key for target in targets}
        for node in self.nodes:
            self.report(node, *views())

    def odd_texts(self) -> dict[str, str]:
        """By node what is said of it."""
        asyncio.run(self.fleet.odd.refresh(LongWork()))
        return {node: text for node in self.nodes if (text := text_of(self.fleet.odd.of(node)))}


def views(driver: str = "570.1", kernel: str = "6.8.0") -> tuple[DeviceView, ...]:
    """A device with this driver on a host with this kernel."""
    device, machine = machines.view(0), host()
    return (
        msgspec.structs.replace(
            device, device=msgspec.structs.replace(device.device, driver_version=driver)
        ),
        msgspec.structs.replace(
            machine, device=msgspec.structs.replace(machine.device, driver_version=kernel)
        ),
    )
