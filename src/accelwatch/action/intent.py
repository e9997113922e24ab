"""What is wanted of a node or a job, in words that no scheduler owns."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

# Characters of a reason, in ASCII, so that every scheduler keeps it whole.
MOST_REASON = 200


class IntentKind(StrEnum):
    """What can be wanted."""

    # No new work comes to the node.
    QUARANTINE = "quarantine"
    # Our own mark is gone from the node, and it accepts work unless somebody else holds it.
    RELEASE = "release"
    # Nothing of what ran on the node runs any more, and that is proven.
    FENCE = "fence"
    # The job was sent a signal to write a checkpoint.
    SIGNAL_JOB = "signal_job"
    # The job runs on, from its checkpoint, without the bad nodes.
    MOVE_JOB = "move_job"
    # What a move changed of the user's own settings is restored; the reservation is released.
    RESTORE_JOB = "restore_job"
    # The job's own launcher goes on without the node, from its next cycle on.
    SWAP_IN_JOB = "swap_in_job"
    # Nothing of the job runs any more, and it is not restarted.
    CANCEL_JOB = "cancel_job"
    # A restarted job has run on for `run_s`, or has ended as it should.
    FOLLOW_JOB = "follow_job"
    # The scheduler has found out whether its daemon on the node is silent; nothing else has changed.
    PROBE = "probe"
    DRAW_SPARE = "draw_spare"
    RETURN_SPARE = "return_spare"
    RESET_DEVICE = "reset_device"
    REBOOT = "reboot"
    POWER_CYCLE = "power_cycle"
    # A named test has passed on the node while nobody else can use it.
    TEST = "test"
    # Somebody was notified to repair it.
    SERVICE = "service"


class JobKey(msgspec.Struct, frozen=True, order=True):
    """One job for ever: ids are given again, so the moment of submission belongs to it."""

    cluster: str
    id: str
    # Unix seconds; 0 where the scheduler does not say. Slurm resets it when a job is requeued: an
    # action knows the job by the key it was given, and reports it under that key.
    submitted: float
    # Index of an array's task (`7`) or of a heterogeneous job's component (`+1`).
    part: str = ""

    def __str__(self) -> str:
        joint = "" if not self.part or self.part.startswith("+") else "_"
        return f"{self.id}{joint}{self.part}"


class DeviceKey(msgspec.Struct, frozen=True, order=True):
    """One device of a node, by all that is known of it."""

    # As its incident names it: uuid, serial or PCI address.
    id: str
    serial: str = ""
    # PCI address, as `0000:65:00.0`.
    slot: str = ""


class OwnerAnnotation(msgspec.Struct, frozen=True):
    """By what we know our own hold on a node again."""

    incident: str
    # Grows with each engine that holds the lease; a mark with a greater one is never changed.
    token: int
    by: str = "accelwatch"


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of one node, and for which incident."""

    kind: IntentKind
    mark: OwnerAnnotation
    # The scheduler's name of a machine whose identity is proven.
    node: str
    # For people, in ASCII, at most MOST_REASON characters.
    reason: str = ""
    rule: str = ""
    severity: str = ""
    # Uuid, serial or PCI address.
    device: str = ""
    # Only these are removed from the node, besides those removed already; for QUARANTINE. Empty: the
    # whole node is.
    devices: tuple[DeviceKey, ...] = ()
    # The boot that the evidence is of: a step that ends it is not done in another one.
    boot_id: str = ""
    job: JobKey | None = None
    # Where the job may not start.
    bad_nodes: tuple[str, ...] = ()
    # Where an old copy of the job may run, by the scheduler's names; for MOVE_JOB. Empty: anywhere.
    ran_on: tuple[str, ...] = ()
    # Whether the job may start on `node`, too, where that is none of the bad nodes; for MOVE_JOB.
    may_return: bool = False
    # For TEST the same as `node`: an idle node that is not quarantined, and accepts work afterwards.
    spare: str = ""
    # `USR1`; for SIGNAL_JOB.
    signal: str = ""
    # Whether the job itself keeps a second copy from writing.
    fenced_by_job: bool = False
    # Whether a job that its user forbade to be requeued is requeued all the same.
    force_requeue: bool = False
    # Whether a job that has died is restarted; for MOVE_JOB.
    revive: bool = False
    # From which the job begins, where that is an earlier one than the newest; for MOVE_JOB.
    checkpoint: str = ""
    # How often the job had restarted when last observed; for FOLLOW_JOB, and what is revived.
    restarts: int | None = None
    # Seconds for which a job that is followed has to run.
    run_s: float = 0.0
    test: str = ""
    # The node that the test needs beside `node`, known to be well and idle: its scheduler's name; for
    # TEST. Empty: the test is of `node` alone.
    peer: str = ""
    # What an earlier step noted as the state before it; for RESTORE_JOB, RETURN_SPARE
    # and RELEASE.
    original: Mapping[str, str] = {}
    # Unix seconds of the decision: distinguishes the second reboot of an incident from the first.
    asked: float = 0.0
    # Unix seconds after which it makes no sense any more.
    deadline: float

    @property
    def avoided(self) -> tuple[str, ...]:
        """Where the job may not start; a job that has died may restart where it was."""
        anywhere = self.revive or self.may_return
        return tuple(dict.fromkeys(self.bad_nodes if anywhere else (self.node, *self.bad_nodes)))

    @property
    def may_run_on(self) -> tuple[str, ...]:
        """The nodes among those on which an old copy of the job may run."""
        return tuple(node for node in self.avoided if not self.ran_on or node in self.ran_on)
