"""The newest checkpoint of a job, where its path is reachable from here."""

import msgspec

from accelwatch.action.observed import JobObservation
from accelwatch_backendai.api.sessions import Session
from accelwatch_backendai.checkpoint_patterns import of_project
from accelwatch_backendai.rows import Access

# Of a project: no part of a path that leads elsewhere.
_NO_FOLDER = ("", ".", "..")


async def with_checkpoint(
    access: Access, job: JobObservation, head: Session | None
) -> JobObservation:
    """A job with what a search for its checkpoints finds, by the name of its newest session."""
    options = access.options.checkpoints
    if options is None or head is None or "/" in head.project or head.project in _NO_FOLDER:
        return job
    searched = of_project(options, head.project)
    output = await access.checkpoints.output(searched.search(head.name))
    if not output:
        return job
    checkpoint, _ = searched.read(output)
    step = searched.step_of(head.name, checkpoint)
    return msgspec.structs.replace(job, checkpoint=checkpoint, step=step)
