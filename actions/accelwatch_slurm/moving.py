"""Which step leads to a job that runs on without the bad nodes, and to its owner's wishes again. Pure.

The job's place is kept by a reservation over its good nodes and the spare before it is requeued: else
the next in the queue takes them. A job whose old copy may still run is not begun again.
"""

from collections.abc import Iterable, Mapping

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_slurm import steps
from accelwatch_slurm.job_text import SlurmJob, names_of
from accelwatch_slurm.moving_parts import is_whole, whole_of
from accelwatch_slurm.scene import SIGNALLED, Scene, begin_word, held_word, place_of

_LOOK_S = 0.1
_SOON_S = 6.0
"""A job that may start and has a place has begun by then, also with the default `batch_sched_delay`."""
_LATER_S = 2.0
"""Between looks at one that waits for longer, which may be for hours."""
_NEXT_SECOND_S = 1.05
"""A launch in the wall-clock second of the requeue is revoked by slurmd, and the job fails."""
_FAILED_LAUNCH = "launch_failed_requeued_held"
_NO_NODES = "BadConstraints"
_NO_NODES_S = 2.0
_BEGIN = "accelwatch:begin:"


def propose_move(intent: Intent, scene: Scene, *, hold_place: bool) -> Proposal:
    """Requeue it away from the bad nodes, into the place that is kept for it."""
    job = scene.job
    if intent.job is None or job is None or not job.is_of(intent.job):
        return Refusal(RefusalKind.IMPOSSIBLE, f"Slurm knows no job {intent.job} any more")
    if job.state is JobState.ENDED and not (intent.revive and job.died):
        return Refusal(RefusalKind.IMPOSSIBLE, f"job {job.id} has ended: {job.word.lower()}")
    if not job.heterogeneous:
        return _moved(intent, scene, job, hold_place)
    if not is_whole(scene.parts):
        return Wait(1.0, f"not all components of job {job.whole} are shown")
    return _moved(intent, scene, whole_of(scene.parts), hold_place)


def _moved(intent: Intent, scene: Scene, job: SlurmJob, hold_place: bool) -> Proposal:
    if job.state is JobState.ENDED:
        return _revived(intent, job)
    if job.state is JobState.RUNNING:
        return _away(intent, scene, job, hold_place)
    if job.state is JobState.ENDING:
        return _ending(intent, scene, job)
    if job.word == "CONFIGURING":
        return Wait(0.25, f"the nodes of job {job.id} are made ready")
    if job.restarts == 0:
        return Wait(2.0, f"job {job.id} has not begun")
    return _all_again(intent, scene, job)


def _all_again(intent: Intent, scene: Scene, job: SlurmJob) -> Proposal:
    """Each component has lists and a moment of its own; they begin together when all may."""
    waits: Proposal = Wait(0.25, f"job {job.id} waits")
    for part in scene.parts or (job,):
        waits = _again(intent, scene, part, job.node_count)
        if not isinstance(waits, Wait):
            break
    return waits


def _away(intent: Intent, scene: Scene, job: SlurmJob, hold_place: bool) -> Proposal:
    bad = intent.avoided
    if not set(bad) & set(job.nodes):
        return Achieved(f"job {job.id} runs on {','.join(job.nodes)}", moved_to=job.nodes)
    if not job.batch:
        return Refusal(
            RefusalKind.IMPOSSIBLE,
            f"job {job.id} is no batch job: only {job.user} can begin it again",
        )
    if silent := _silent(scene, job.nodes):
        return Refusal(
            RefusalKind.UNSAFE,
            f"{silent} does not answer: fence it first, else job {job.id} never leaves it",
        )
    if not job.requeueable:
        if not intent.force_requeue:
            return Refusal(RefusalKind.NOT_ALLOWED, f"the user of job {job.id} forbade a requeue")
        firm = next((part for part in scene.parts if not part.requeueable), job)
        return _step(steps.ALLOW_REQUEUE, firm, f"allow job {firm.id} to be requeued")
    if hold_place and (place := _place(intent, scene, job)):
        return place
    return _step(
        steps.REQUEUE,
        job,
        f"requeue job {job.id}",
        precondition={"restarts": str(job.restarts), "nodes": ",".join(job.nodes)},
    )


def _revived(intent: Intent, job: SlurmJob) -> Proposal:
    """Slurm begins a job again that has failed, as long as it remembers it (MinJobAge)."""
    if not job.requeueable and not intent.force_requeue:
        return Refusal(RefusalKind.NOT_ALLOWED, f"the user of job {job.id} forbade a requeue")
    return _step(
        steps.REQUEUE,
        job,
        f"requeue job {job.id}, which has died",
        precondition={"restarts": str(job.restarts), "died": job.word},
    )


def _ending(intent: Intent, scene: Scene, job: SlurmJob) -> Proposal:
    """One that was requeued leaves a node only when that answers, or is set down.

    It is held before: Slurm would begin it again by itself in the moment in which its node is set down.
    """
    silent = _silent(scene, tuple(scene.bad))
    parts = [part for part in scene.parts or (job,) if part.begins_again]
    if not silent or not parts or scene.proven_dead:
        return Wait(_LOOK_S, f"job {job.id} is still ending on its nodes")
    if intent.fenced_by_job:
        if scene.bad[silent].down:
            return Wait(_LOOK_S, f"job {job.id} leaves {silent}, which is down")
    elif free := [part for part in parts if part.priority != 0]:
        return _hold(intent, free[0])
    return Refusal(
        RefusalKind.UNSAFE,
        f"{silent} does not answer: fence it first, else job {job.id} never leaves it",
    )


def _silent(scene: Scene, nodes: tuple[str, ...]) -> str:
    """The first bad node whose slurmd does not answer."""
    for name in nodes:
        node = scene.bad.get(name)
        if node is not None and (node.answering is False or node.down):
            return name
    return ""


def _place(intent: Intent, scene: Scene, job: SlurmJob) -> Step | None:
    """The reservation over the good nodes and the spare; none for a job that has one of its own.

    None either where that is too few nodes for the job: inside it could never start.
    """
    if job.reservation and job.reservation != place_of(intent):
        return None
    good = [node for node in job.nodes if node not in intent.avoided]
    wanted = list(dict.fromkeys((*good, *([intent.spare] if intent.spare else []))))
    there = scene.reservations.get(place_of(intent))
    kept = there.nodes if there is not None else ()
    if set(wanted) <= set(kept):
        return None
    wanted = list(dict.fromkeys((*kept, *wanted)))
    if not _is_roomy(intent, job.node_count, wanted):
        return None
    return _step(
        steps.RESERVE,
        job,
        f"keep {','.join(wanted)} for job {job.id}",
        name=place_of(intent),
        nodes=",".join(wanted),
        user=job.user,
        exists="yes" if there is not None else "",
    )


def _is_roomy(intent: Intent, count: int, nodes: Iterable[str]) -> bool:
    """Whether a job of so many nodes fits on those that are good."""
    return len(set(nodes) - set(intent.avoided)) >= count


def _again(intent: Intent, scene: Scene, job: SlurmJob, count: int) -> Proposal:
    """A job that waits since its requeue, or a component of it; all of it has `count` nodes."""
    if refusal := _unproven(intent, scene, job):
        return refusal
    failed = job.reason.lower().replace(" ", "_") == _FAILED_LAUNCH
    ours = held_word(intent) in job.admin_comment
    if job.state is JobState.HELD and not (ours or failed or job.reason == _NO_NODES):
        return Refusal(RefusalKind.OVERRIDDEN, f"somebody holds job {job.id}: {job.reason}")
    if step := _steer(intent, scene, job, count):
        return step
    there = scene.reservations.get(place_of(intent))
    left = not any(part.reservation == place_of(intent) for part in scene.parts)
    if there is not None and left and not _is_roomy(intent, count, there.nodes):
        return _delete(intent, job.id)  # nobody may use its nodes, the job neither
    if job.state is JobState.HELD and job.reason == _NO_NODES:
        # Slurm takes the priority of what no nodes fit, and gives it back when some do: nobody holds it.
        return Wait(_NO_NODES_S, f"job {job.id} waits: no nodes fit it now")
    if job.state is JobState.HELD:
        return _step(steps.LET_GO, job, f"let job {job.id} go", word=held_word(intent))
    if job.may_start is not None and job.may_start > scene.time:
        early = job.submitted + _NEXT_SECOND_S - scene.time
        if early > 0:
            return Wait(
                min(early, _NEXT_SECOND_S), "the next second, else slurmd revokes the launch"
            )
        return _step(steps.START, job, f"let job {job.id} start now")
    begun = job.submitted if job.may_start is None else max(job.may_start, job.submitted)
    seconds = _LOOK_S if scene.time - begun < _SOON_S else _LATER_S
    return Wait(seconds, f"job {job.id} waits: {job.reason or 'for the scheduler'}")


def _unproven(intent: Intent, scene: Scene, job: SlurmJob) -> Proposal | None:
    if intent.fenced_by_job or scene.proven_dead:
        return None
    silent = _silent(scene, tuple(scene.bad))
    if not silent:
        return None
    if job.state is not JobState.HELD:
        return _hold(intent, job)
    return Refusal(
        RefusalKind.UNSAFE,
        f"the old copy of job {job.id} may still run on {silent}: fence it first",
    )


def _hold(intent: Intent, job: SlurmJob) -> Step:
    text = f"hold job {job.id}"
    return _step(steps.HOLD, job, text, word=held_word(intent), comment=job.admin_comment)


def _steer(intent: Intent, scene: Scene, job: SlurmJob, count: int) -> Step | None:
    """One update of all that has to be another way; what the user asked for stays otherwise."""
    bad = intent.avoided
    excluded, required = names_of(job.exclude), names_of(job.require)
    changes = {}
    if not set(bad) <= set(excluded):
        changes["ExcNodeList"] = ",".join(dict.fromkeys((*excluded, *bad)))
    if set(bad) & set(required):
        changes["ReqNodeList"] = ""
    place = place_of(intent)
    there = scene.reservations.get(place)
    roomy = there is not None and _is_roomy(intent, count, there.nodes)
    if roomy and job.reservation != place:
        changes["ReservationName"] = place
    elif not roomy and job.reservation == place:
        changes["ReservationName"] = ""
    word = begin_word(intent, job.restarts)
    if word and word not in job.admin_comment.split():
        others = [one for one in job.admin_comment.split() if not one.startswith(_BEGIN)]
        changes["AdminComment"] = " ".join((*others, word))
    if not changes:
        return None
    if job.state is JobState.HELD and scene.time >= job.submitted + _NEXT_SECOND_S:
        # While it is held it is not begun by that: one update less between the fence and its start.
        changes["StartTime"] = "now"
    return Step(
        kind=steps.STEER,
        arguments={"job": job.id, **changes},
        precondition={"restarts": str(job.restarts)},
        original={
            f"exclude{job.component}": job.exclude,
            f"require{job.component}": job.require,
            f"reservation{job.component}": "" if job.reservation == place else job.reservation,
        },
        text=f"keep job {job.id} off {','.join(bad)}",
    )


def propose_signal(intent: Intent, scene: Scene) -> Proposal:
    """Ask for a checkpoint."""
    job = scene.job
    if intent.job is None or job is None or not job.is_of(intent.job):
        return Refusal(RefusalKind.IMPOSSIBLE, f"Slurm knows no job {intent.job} any more")
    if scene.own.get(SIGNALLED):
        return Achieved(f"job {job.id} was sent {intent.signal}")
    if job.state is not JobState.RUNNING:
        return Refusal(RefusalKind.IMPOSSIBLE, f"job {job.id} does not run")
    if not (intent.signal.isascii() and intent.signal.isalnum()):
        return Refusal(RefusalKind.IMPOSSIBLE, f"no signal: {intent.signal!r}")
    return _step(
        steps.SIGNAL,
        job,
        f"send {intent.signal} to job {job.id}",
        precondition={"restarts": str(job.restarts)},
        signal=intent.signal,
        asked=repr(intent.asked),
    )


def propose_cancel(intent: Intent, scene: Scene) -> Proposal:
    """End it; a job that is not known any more, or is another by now, has ended."""
    job = whole_of(scene.parts) if is_whole(scene.parts) else scene.job
    if intent.job is None or job is None or not job.is_of(intent.job):
        return Achieved(f"Slurm knows no job {intent.job} any more")
    if job.state is JobState.ENDED:
        return Achieved(f"job {job.id} has ended: {job.word.lower()}")
    if job.state is JobState.ENDING:
        return Wait(1.0, f"job {job.id} is still ending on its nodes")
    if intent.node not in job.nodes:
        return Achieved(f"job {job.id} has left {intent.node}")
    return _step(
        steps.CANCEL,
        job,
        f"cancel job {job.id}",
        precondition={"restarts": str(job.restarts)},
    )


def propose_restore(intent: Intent, scene: Scene) -> Proposal:
    """Give the place back when the job is done with it, and the user's lists while it waits."""
    job = whole_of(scene.parts) if is_whole(scene.parts) else scene.job
    there = place_of(intent) in scene.reservations
    if (
        intent.job is None
        or job is None
        or not job.is_of(intent.job)
        or job.state is JobState.ENDED
    ):
        if not there:
            return Achieved(f"nothing is kept for job {intent.job}")
        return _delete(intent, f"{intent.job}")
    if job.state not in (JobState.WAITING, JobState.HELD) or job.word == "CONFIGURING":
        if not there and not any(_lists(intent, part) for part in scene.parts or (job,)):
            return Achieved(f"job {job.id} is as its user wanted it")
        seconds = 1.0 if job.state is JobState.ENDING else 30.0
        return Wait(seconds, f"job {job.id} has its place until it has ended")
    for part in scene.parts or (job,):
        if part.state is JobState.HELD and held_word(intent) in part.admin_comment:
            if silent := _silent(scene, tuple(scene.bad)):
                return Wait(5.0, f"the old copy of job {job.id} may still run on {silent}")
            return _step(steps.LET_GO, part, f"let job {part.id} go", word=held_word(intent))
        if step := _unsteered(intent, part):
            return step
    if there:
        return _delete(intent, job.id)
    return Achieved(f"job {job.id} is as its user wanted it")


def _unsteered(intent: Intent, job: SlurmJob) -> Step | None:
    changes = _lists(intent, job)
    if job.reservation == place_of(intent):
        changes["ReservationName"] = intent.original.get(f"reservation{job.component}", "")
    if not changes:
        return None
    return Step(
        kind=steps.UNSTEER,
        arguments={"job": job.id, **changes},
        precondition={"restarts": str(job.restarts)},
        text=f"give job {job.id} its user's own lists back",
    )


def _lists(intent: Intent, job: SlurmJob) -> dict[str, str]:
    """What is taken back: what another move, or the user, has changed since stays."""
    bad = intent.avoided
    changes = {}
    excluded = names_of(job.exclude)
    asked = set(names_of(intent.original.get(f"exclude{job.component}", job.exclude)))
    left = [node for node in excluded if node not in bad or node in asked]
    if len(left) < len(excluded):
        changes["ExcNodeList"] = ",".join(left)
    required = intent.original.get(f"require{job.component}", "")
    if required and not job.require and not set(names_of(required)) & set(left):
        changes["ReqNodeList"] = required
    return changes


def _delete(intent: Intent, job: str) -> Step:
    return Step(
        kind=steps.DELETE_RESERVATION,
        arguments={"name": place_of(intent)},
        text=f"give back what was kept for job {job}",
    )


def _step(
    kind: str, job: SlurmJob, text: str, precondition: Mapping[str, str] | None = None, **more: str
) -> Step:
    return Step(
        kind=kind,
        arguments={"job": job.id, **more},
        precondition=precondition or {"restarts": str(job.restarts)},
        text=text,
    )
