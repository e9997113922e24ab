"""The dashboard's own hub, begun before the command line is read, so that both load at once.

What both processes need is imported before they part: once, and in memory that they share. The child
imports the rest of a hub while its parent imports a screen, and waits for the order to follow somebody.
One whose parent turns out to want no hub of its own ends with it.
"""

import contextlib
import gc
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.hub_client.child import Child
from accelwatch.fleet.hub_client.child import fork_child as begin_child
from accelwatch.fleet.hub_client.lifetime import Lifetime

if TYPE_CHECKING:
    from accelwatch.fleet.follow.prefetch import Prefetch


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """Whom the command line names, as `fleet.hub.flags.with_targets` takes it."""

    targets: tuple[str, ...] = ()
    targets_files: tuple[str, ...] = ()
    http: tuple[str, ...] = ()
    dns: tuple[str, ...] = ()
    kubernetes: str | None = None
    slurm: bool = False
    ssh: tuple[str, ...] = ()
    ssh_config: str | None = None


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a hub is begun for."""

    named: Named
    config_file: str | None = None
    prometheus: str | None = None
    state_dir: str | None = None
    keep: bool = True
    printed: bool = False


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Order).decode
_started_child: Child | None = None


def fork_hub(*, printed: bool) -> None:
    """Fork a hub that loads its modules and waits. Call it with one thread only.

    `printed` where no screen is wanted, which needs more. Garbage is not collected until everything is
    loaded: that would write to all the memory that is shared, and so part it after all.
    """
    global _started_child  # noqa: PLW0603 - one process, one child before its time
    gc.disable()
    # Whatever prevents it is told by `ordered`, which tries again.
    with contextlib.suppress(AccelwatchError):
        _started_child = _forked(printed=printed)


def ordered(order: Order) -> Child:
    """A hub for these targets: the one that was begun, else a new one. Raises AccelwatchError."""
    global _started_child
    child, _started_child = _started_child or _forked(printed=order.printed), None
    child.order(_encode(order))
    return child


def _forked(*, printed: bool) -> Child:
    shared = "session" if printed else "source"
    importlib.import_module(f"accelwatch.fleet.hub_client.{shared}")
    gc.freeze()
    hub = _HubProcess()
    return begin_child(hub.be, hub.prepare)


class _HubProcess:
    """The child, which asks for the first pages of a large fleet by one of its own."""

    def __init__(self) -> None:
        self._prefetch: Prefetch | None = None

    def prepare(self) -> None:
        """Fork that one, before there is a second thread and much to share."""
        import ctypes  # noqa: F401 - both need it

        from accelwatch.fleet.follow.prefetch import fork_prefetch

        gc.freeze()
        self._prefetch = fork_prefetch()

    def be(self, folder: Path, life: Lifetime) -> None:
        """Load everything that a hub needs, take the order, be the hub."""
        from accelwatch.fleet.table.single_thread import load_numpy

        load_numpy()
        from accelwatch.fleet.hub.flags import with_targets
        from accelwatch.fleet.hub.model import HubSettings, load_settings
        from accelwatch.fleet.hub_client.embedded import Embedding, run_embedded

        gc.freeze()
        gc.enable()
        order = _decode(life.order())

        def read() -> HubSettings:
            file = None if order.config_file is None else Path(order.config_file)
            settings = load_settings(file, {"prometheus.url": order.prometheus})
            return with_targets(settings, **msgspec.structs.asdict(order.named))

        embedding = Embedding(keep=order.keep, state_dir=order.state_dir, printed=order.printed)
        run_embedded(read, embedding, folder, life, self._prefetch)
