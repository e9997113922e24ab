"""A collector process forked before its owner parses its own command line, so that both load at once.

What both need is imported before the fork, and so once instead of twice; what only one of them needs it
imports after it. A child whose owner turns out to want no reading ends when the pipe for its orders
closes.
"""

import gc
import os
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing itself is not imported here
    from collections.abc import Callable
    from typing import NoReturn

    from accelwatch.node.sampler.protocol.settings import StartOrder

# (process id, descriptor to read reports from, descriptor to write orders to, crash file, and the file
# of what libraries print where the child goes on reading; None for a single reading).
EarlyChild = tuple[int, int, int, int, int | None]

_MORE = (
    *("ctypes", "logging", "queue", "subprocess", "traceback", "zlib"),
    *(
        "accelwatch.system.files.atomic_file",
        "accelwatch.backend",
        "accelwatch.system.files.damaged",
        "accelwatch.system.files.kept_file",
        "accelwatch.system.kernel.proc",
        "accelwatch.backend.kit",
        "accelwatch.base.untrusted_text",
    ),
    *(
        "accelwatch.node.sampler.protocol.load",
        "accelwatch.node.sampler.protocol.printed",
        "accelwatch.node.sampler.turns.schedule",
    ),
)
_child: EarlyChild | None = None
# The order that the child received before it was handed over.
_order: "StartOrder | None" = None


def load_shared() -> None:
    """Import what owner and collector both need (tests/node/sampler/test_early.py compares)."""
    import accelwatch.base.backoff
    import accelwatch.base.clock
    import accelwatch.node.sampler.protocol.call_registry
    import accelwatch.node.sampler.protocol.commands
    import accelwatch.node.sampler.protocol.frames
    import accelwatch.node.store.usage
    import accelwatch.plugins.entry_points
    import accelwatch.schema.values.plausible
    import accelwatch.system.kernel
    import accelwatch.system.processes
    from accelwatch.schema.catalogue.lookup import by_key

    by_key()
    accelwatch.plugins.entry_points.names(accelwatch.plugins.entry_points.BACKENDS)


def load_more_shared() -> None:
    """Import what an agent and its collector need besides, for a process of months that is in no hurry.

    Half of what is loaded before the fork goes on being shared; what is loaded after it is there twice.
    """
    for name in _MORE:
        import_module(name)


def start(*, lasting: bool = False) -> None:
    """Fork a collector that loads its modules and waits for the order. Call it with one thread only.

    Garbage is collected in neither process from here on: imports make none and would cost several
    rounds. A single reading is too short-lived to have any; who goes on (`lasting`) begins to collect
    it once everything is loaded.
    """
    global _child, _order
    if _child is not None or not hasattr(os, "memfd_create"):
        return
    gc.disable()
    load_shared()
    reports, out = os.pipe()
    control, orders = os.pipe()
    crash = os.memfd_create("accelwatch-crash")
    printed = _printed() if lasting else None
    gc.freeze()  # a collection would write to what is shared, and so part it
    pid = os.fork()
    if pid == 0:
        os.close(reports)
        os.close(orders)
        obeyed = control if lasting else None
        be_child(out, crash, lambda: _awaited(control), control=obeyed, printed=printed)
    os.close(out)
    os.close(control)
    _child, _order = (pid, reports, orders, crash, printed), None


def hand_over(*, lasting: bool = False) -> EarlyChild | None:
    """The early child, for its owner to order; None when there is none of this kind."""
    global _child
    if _child is None or (_child[-1] is not None) != lasting:
        return None
    child, _child = _child, None
    return child


def give_order(order: "StartOrder") -> None:
    """Send the early child its order while the module that will own it is still loading."""
    global _order  # noqa: PLW0603 - as above
    if _child is None:
        return
    from accelwatch.node.sampler.protocol.frames import encode, write_all

    try:
        write_all(_child[2], encode(order))
    except OSError:  # it has died: its owner will notice
        return
    _order = order


def received_order() -> "StartOrder | None":
    """The order that the child has received; None: none yet."""
    return _order


def _printed() -> int:
    from accelwatch.node.sampler.protocol.printed import bounded_file

    return bounded_file()


def _awaited(control: int) -> "StartOrder | None":
    from accelwatch.node.sampler.child import first_order

    return first_order(control)


def _copy_of(descriptor: int) -> int | None:
    try:
        return os.dup(descriptor)
    except OSError:  # it is closed
        return None


def be_child(
    out: int,
    crash: int,
    order_of: "Callable[[], StartOrder | None]",
    *,
    control: int | None = None,
    printed: int | None = None,
) -> "NoReturn":
    """Run as a forked collector; never returns. Its output is closed, or a file: libraries print there.

    `control` is where further orders come from; with it, the child ends with its owner for certain.
    """
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        errors = _copy_of(2) or nowhere
        os.dup2(nowhere, 0)
        for standard in (1, 2):
            os.dup2(nowhere if printed is None else printed, standard)
        if control is not None:
            from accelwatch.system.processes.parent_death import die_with_parent

            die_with_parent()
        from accelwatch.node.sampler.child import collect, speak_apart

        speak_apart(errors)
        order = order_of()
        if order is not None:
            collect(order, out, control, crash)
    except BaseException as error:  # noqa: BLE001 - nothing may pass into the code that forked
        try:
            os.write(crash, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))
        finally:
            os._exit(1)
    os._exit(0)
