"""The hub that answers `accelwatch fleet`: a given one, or one of its own."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from accelwatch.cli.fleet.fleet_plan import Targeting, check_targeting

if TYPE_CHECKING:
    from accelwatch.fleet.hub_client.local_hub.child import Child
    from accelwatch.fleet.targets.hub_endpoint import HubEndpoint


class Hub(msgspec.Struct, frozen=True, kw_only=True):
    """A hub that answers queries."""

    address: "HubEndpoint"
    # Those besides it, where several are one fleet.
    more: "tuple[HubEndpoint, ...]" = ()
    # How its process ended, if it is ours and has.
    exit_reason: Callable[[], str | None]
    # What it had to say when it was ready.
    remark: Callable[[], str]
    # Returns when it is ready. Raises AccelwatchError when it cannot be.
    wait: Callable[[], None]
    embedded: bool
    # Whether nodes that do not answer are part of what is shown.
    simulated: bool = False
    # Nodes that hang on purpose: nobody waits for their answer.
    hung_nodes: frozenset[str] = frozenset()

    @property
    def addresses(self) -> "tuple[HubEndpoint, ...]":
        """All of them."""
        return self.address, *self.more

    @property
    def name(self) -> str:
        """What is followed, in a few words."""
        return ", ".join(address.name for address in self.addresses)

    @property
    def answers_for_all(self) -> bool:
        """Whether it is the command's own, so that a node without an answer makes it a partial one."""
        return self.embedded and not self.simulated


@contextlib.contextmanager
def opened(targeting: Targeting) -> Iterator[Hub]:
    """The hub of the options; a private hub starts at once and ends with this context.

    Raises AccelwatchError.
    """
    from accelwatch.fleet.hub_client.several.named_hubs import hub_endpoints

    check_targeting(targeting)
    if targeting.hub:
        address, *more = hub_endpoints(targeting.hub, targeting.hub_config_file or ())
        yield Hub(
            address=address,
            more=tuple(more),
            exit_reason=lambda: None,
            remark=lambda: "",
            wait=lambda: None,
            embedded=False,
        )
        return
    with contextlib.closing(_start_child(targeting)) as child:
        yield own_hub(child, _called(targeting))


def own_hub(child: "Child", name: str) -> Hub:
    """A child's hub."""
    from accelwatch.fleet.targets.hub_endpoint import socket_endpoint

    return Hub(
        address=socket_endpoint(child.socket, name),
        exit_reason=child.death,
        remark=lambda: child.remark,
        wait=child.wait_ready,
        embedded=True,
    )


def _called(targeting: Targeting) -> str:
    """What is followed, in a few words."""
    followed = targeting.followed
    names: list[str] = [
        *(followed.targets or ()),
        *(Path(name).name for name in followed.targets_file or ()),
        *(followed.targets_http or ()),
        *(followed.targets_dns or ()),
        *([f"pods {followed.targets_kubernetes}"] if followed.targets_kubernetes else []),
        *(["Slurm"] if followed.targets_slurm else []),
        *(followed.ssh or ()),
        *([targeting.prometheus] if targeting.prometheus else []),
        *([targeting.config_file.name] if targeting.config_file else []),
    ]
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _start_child(targeting: Targeting) -> "Child":
    from accelwatch.fleet.hub_client.local_hub.own_hub import Order, start_hub

    file = targeting.config_file
    return start_hub(
        Order(
            named=targeting.followed.named(),
            config_file=None if file is None else str(file),
            prometheus=targeting.prometheus,
            state_dir=targeting.state_dir,
            keep=not targeting.no_state,
            printed=targeting.printed,
        )
    )
