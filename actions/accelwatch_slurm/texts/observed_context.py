"""What was read for an intent, as lines in an observation's `own`, and read again from them. Pure.

An observation carries what Slurm printed, so that the same one always leads to the same proposal, in
this process or in the next.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState, Observed
from accelwatch_slurm.texts.annotations import NodeAnnotation, annotation_in, field_of
from accelwatch_slurm.texts.hold_state import hold_state_of
from accelwatch_slurm.texts.job_text import SlurmJob, job_of
from accelwatch_slurm.texts.node_text import SlurmNode, node_of
from accelwatch_slurm.texts.reservation_text import OF_JOB, OWN, SlurmReservation, reservations_of

NODE, BAD, JOB, JOBS, RESERVATIONS = "node", "bad", "job", "jobs", "reservations"
COMPONENTS = "parts"
SIGNALLED, PROOF, OFF, TRIAL, BUSY = "signalled", "proof", "off", "trial", "busy"
# Keys of `own`: what was sent, why no old copy can run any more, the bad nodes without power, the job
# that tests the node, those of the nodes which that needs idle that have a job, the newest two
# checkpoints of the job, that it has been ending for long, that a RebootProgram is defined, the text
# of the job's newest cycle file.
CHECKPOINT, LINGERING, REBOOTS, CYCLE = "checkpoint", "lingering", "reboots", "cycle"

# An observation is parsed several times: to propose, to decide and to report.
_node_of = lru_cache(maxsize=1024)(node_of)


class ObservedContext(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed of a node, its jobs and reservations, as proposals and effects read it."""

    time: float
    # Of a node, that keeps our key.
    field: str
    node: SlurmNode | None
    # The nodes where a job may not start.
    bad: Mapping[str, SlurmNode]
    job: SlurmJob | None
    # All components of it, if it is heterogeneous: they begin together.
    components: tuple[SlurmJob, ...]
    # Those on the node.
    jobs: tuple[SlurmJob, ...]
    reservations: Mapping[str, SlurmReservation]
    own: Mapping[str, str]
    proven_dead: bool

    @property
    def trial(self) -> SlurmJob | None:
        """The job that tests the node."""
        return job_of(self.own.get(TRIAL, ""))

    @property
    def busy(self) -> tuple[str, ...]:
        """The nodes that a test needs idle and that have got jobs."""
        return tuple(filter(None, self.own.get(BUSY, "").split(",")))

    @property
    def off(self) -> frozenset[str]:
        """The bad nodes that are known to have no power."""
        return frozenset(self.own.get(OFF, "").split(",")) - {""}

    @property
    def hold_state(self) -> HoldState:
        """To whom the node belongs."""
        if self.node is None:
            return HoldState.MISSING
        return hold_state_of(self.node, self.reservations, self.field)

    @property
    def annotation(self) -> NodeAnnotation | None:
        """What stands under our key."""
        return None if self.node is None else annotation_in(field_of(self.node, self.field))


def observed_context_of(observed: Observed, field: str) -> ObservedContext:
    """What the lines say."""
    own = observed.own
    bad = [node for node in map(_node_of, own.get(BAD, "").splitlines()) if node is not None]
    jobs = [job for job in map(job_of, own.get(JOBS, "").splitlines()) if job is not None]
    components = [
        job for job in map(job_of, own.get(COMPONENTS, "").splitlines()) if job is not None
    ]
    return ObservedContext(
        time=observed.time,
        field=field,
        node=_node_of(own.get(NODE, "")),
        bad={node.name: node for node in bad},
        job=job_of(own.get(JOB, "")),
        components=tuple(components),
        jobs=tuple(jobs),
        reservations=reservations_of(own.get(RESERVATIONS, "")),
        own=own,
        proven_dead=observed.proven_dead,
    )


def reservation_of(intent: Intent) -> str:
    """Name of the reservation that keeps a job's nodes: one a job, however many of its nodes go bad."""
    return f"{OF_JOB}{re.sub('[^0-9]', '-', str(intent.job))}"


def trial_name(intent: Intent) -> str:
    """Name of the job that tests the node: another one for each requested test."""
    return f"{OWN}test-{intent.node}-{intent.asked:.3f}"


def checkpoint_token(intent: Intent, restarts: int) -> str:
    """What stands there when the job is to begin from an earlier checkpoint, in that run only."""
    return f"accelwatch:begin:{restarts}:{intent.checkpoint}" if intent.checkpoint else ""


def hold_token(intent: Intent) -> str:
    """What stands in a job's administrator's comment while we hold it."""
    return f"accelwatch:{intent.mark.incident}:held"
