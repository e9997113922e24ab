"""Starts the real manager of Backend.AI without docker swarm.

Runs in the tree. The overlay network of sessions over several nodes has names and nothing else.
"""

import sys
import uuid
from typing import Any

from ai.backend.manager.network.overlay import OverlayNetworkPlugin
from ai.backend.manager.plugin.network import NetworkInfo


async def _nothing(*_: Any, **__: Any) -> None:
    """There is no network to make or to remove."""


async def _network(*_: Any, identifier: Any = None, **__: Any) -> Any:
    name = f"bai-multinode-{identifier or uuid.uuid4()}"
    options = {"mode": "overlay", "network_name": name, "network_id": name}
    return NetworkInfo(network_id=name, options=options)


if __name__ == "__main__":
    from ai.backend.manager.server import main

    for method in ("init", "cleanup", "destroy_network"):
        setattr(OverlayNetworkPlugin, method, _nothing)
    OverlayNetworkPlugin.create_network = _network
    sys.exit(main())
