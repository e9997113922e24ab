"""The dashboard's own hub: a fork, which loads a hub while its parent loads a screen."""

import gc
import importlib
from pathlib import Path

import msgspec

from accelwatch.fleet.hub_client.local_hub.child import Child, fork_child
from accelwatch.fleet.hub_client.local_hub.lifetime import Lifetime


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """The targets of the command line, as arguments of `fleet.hub.flags.with_targets`."""

    targets: tuple[str, ...] = ()
    targets_files: tuple[str, ...] = ()
    http: tuple[str, ...] = ()
    dns: tuple[str, ...] = ()
    kubernetes: str | None = None
    slurm: bool = False
    ssh: tuple[str, ...] = ()
    ssh_config: str | None = None


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a hub is started with."""

    named: Named
    config_file: str | None = None
    prometheus: str | None = None
    state_dir: str | None = None
    keep: bool = True
    printed: bool = False


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Order).decode


def start_hub(order: Order) -> Child:
    """Fork a hub for these targets; for a process with one thread. Raises AccelwatchError."""
    # Imported before the fork: once, and in memory that both processes share.
    shared = "connection.session" if order.printed else "source"
    importlib.import_module(f"accelwatch.fleet.hub_client.{shared}")
    gc.freeze()
    child = fork_child(_be_hub)
    child.order(_encode(order))
    return child


def _be_hub(folder: Path, life: Lifetime) -> None:
    """Load everything that a hub needs while the parent loads a screen; read the order, be the hub."""
    from accelwatch.base.single_thread import load_numpy

    load_numpy()
    from accelwatch.fleet.hub.flags import with_targets
    from accelwatch.fleet.hub.model import HubSettings, load_settings
    from accelwatch.fleet.hub_client.local_hub.embedded import Embedding, run_embedded

    gc.freeze()
    order = _decode(life.order())

    def read() -> HubSettings:
        file = None if order.config_file is None else Path(order.config_file)
        settings = load_settings(file, {"prometheus.url": order.prometheus})
        return with_targets(settings, **msgspec.structs.asdict(order.named))

    embedding = Embedding(keep=order.keep, state_dir=order.state_dir, printed=order.printed)
    run_embedded(read, embedding, folder, life)
