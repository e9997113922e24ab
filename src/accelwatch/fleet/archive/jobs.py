"""Which job had which device from when to when, from who owns devices at each look."""

from collections.abc import Iterable

from accelwatch.archive.history.rows import JobRow
from accelwatch.schema.snapshot import Owner

# Beyond them those that ended first are forgotten.
MAX_JOBS = 200_000
# Job, node, device.
_Key = tuple[str, str, str]


class JobBook:
    """Jobs that go on and jobs that ended; times in Unix milliseconds."""

    def __init__(self, existing: Iterable[JobRow] = ()) -> None:
        """`existing` are those of an archive that is gone on with."""
        self._running: dict[_Key, JobRow] = {}
        self._finished: list[JobRow] = []
        # When each node was last checked.
        self._observed_at: dict[str, int] = {}
        self.changed = False
        for row in existing:
            if row.end is None:
                self._running[row.job, row.node, row.device or ""] = row
            else:
                self._finished.append(row)

    def observe(self, time: int, node: str, owners: Iterable[tuple[str, Owner]]) -> None:
        """Whose the devices of a node are now, by id of the device."""
        now = {
            (owner.job_id, node, device): owner.user
            for device, owner in owners
            if owner.kind == "job" and owner.job_id
        }
        before = [key for key in self._running if key[1] == node] if self._running else []
        for key in before:
            if key not in now:
                self._finish(key, self._observed_at.get(node, time))
        for key, user in now.items():
            if key not in self._running:
                job, _, device = key
                self._running[key] = JobRow(
                    job=job, user=user, node=node, device=device, start=time
                )
                self.changed = True
        self._observed_at[node] = time

    def _finish(self, key: _Key, time: int) -> None:
        row = self._running.pop(key)
        self._finished.append(
            JobRow(
                job=row.job,
                user=row.user,
                node=row.node,
                device=row.device,
                start=row.start,
                end=max(row.start, time),
                stage=row.stage,
                nodes_wanted=row.nodes_wanted,
            )
        )
        self.changed = True
        if len(self._finished) > MAX_JOBS:
            del self._finished[: MAX_JOBS // 10]

    def forget(self, before: int) -> None:
        """Forget the jobs that ended before a moment."""
        self._finished = [row for row in self._finished if (row.end or 0) >= before]

    def pop_rows(self) -> list[JobRow] | None:
        """All jobs where they have changed since the last call."""
        if not self.changed:
            return None
        self.changed = False
        return [*self._finished, *self._running.values()]
