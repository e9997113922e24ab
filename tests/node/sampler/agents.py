"""A supervisor and its store, driven by hand, for tests with real collector processes."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from accelwatch.base.clock import Clock, SystemClock
from accelwatch.node.sampler.launch import Child, spawn
from accelwatch.node.sampler.protocol.settings import CollectSettings, StartOrder
from accelwatch.node.sampler.stores import store_for
from accelwatch.node.sampler.supervisor import Limits, Supervisor
from accelwatch.node.store import Store
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import BackendStatus, DeviceView, Snapshot
from accelwatch.system.processes.child_process import reap_leftovers
from support.processes.own_children import children
from support.processes.waiting import GUARD_S

# On a machine that stands still for some seconds no child is taken for one that hangs.
PATIENT = Limits(silence_s=1000.0, first_silence_s=1000.0)


class AheadClock:
    """The machine's clock, ahead by as much as a test wants."""

    def __init__(self) -> None:
        self._ahead_s = 0.0

    def wall(self) -> float:
        """Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic() + self._ahead_s

    def advance(self, seconds: float) -> None:
        """Let so much time have passed."""
        self._ahead_s += seconds


class Agent:
    """The children it has had are in `children`."""

    def __init__(
        self,
        settings: CollectSettings,
        environ: dict[str, str] | None = None,
        limits: Limits = PATIENT,
        clock: Clock | None = None,
    ) -> None:
        """`clock` is the supervisor's: what it waits for can be brought about."""
        self.store: Store = store_for(settings, SystemClock())
        self.children: list[int] = []
        self._environ = {**os.environ, **(environ or {})}
        self.supervisor = Supervisor(
            settings, self.store.apply, clock=clock, limits=limits, launch=self._launch
        )

    def _launch(self, order: StartOrder) -> Child:
        child = spawn(order, self._environ)
        self.children.append(child.process.pid)
        return child

    def until(self, condition: Callable[[Snapshot], object]) -> Snapshot:
        """The first snapshot of which the condition is true."""
        end = time.monotonic() + GUARD_S
        while time.monotonic() < end:
            self.supervisor.pump(0.05)
            snapshot = self.store.snapshot()
            if condition(snapshot):
                return snapshot
        raise AssertionError(f"did not come true; last: {self.store.snapshot()}")

    def close(self) -> None:
        """End the child and the store."""
        self.supervisor.stop()
        self.store.close()


def has_gone(pid: int) -> bool:
    """Whether a child has ended and was reaped; one that dies slowly is reaped here."""
    reap_leftovers()
    return not Path(f"/proc/{pid}").exists()


def none_is_left(others: set[str]) -> bool:
    """Whether all children but these have ended and were reaped; slow ones are reaped here."""
    reap_leftovers()
    return not children() - others


def view(snapshot: Snapshot, device_id: str) -> DeviceView | None:
    """The row of a device; None when there is none."""
    return next((v for v in snapshot.devices if v.device.id == device_id), None)


def is_state(device_id: str, state: DeviceState) -> Callable[[Snapshot], bool]:
    """A condition: the device has a row in this state."""

    def check(snapshot: Snapshot) -> bool:
        found = view(snapshot, device_id)
        return found is not None and found.state is state

    return check


def status(snapshot: Snapshot, name: str) -> BackendStatus:
    """The status of a backend that is known."""
    return next(b for b in snapshot.backends if b.name == name)
