"""The lab's job on Backend.AI: the startup command of a batch session, which runs in its main kernel.

It queries the manager for the session's kernels, for what it is started with says nothing of nodes.
"""

import argparse
import os
from pathlib import Path

from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.backendai.access import Account, keys_of
from accelwatch_lab.cluster.backendai.api import Api
from accelwatch_lab.cluster.backendai.requests import nodes_of, sessions
from accelwatch_lab.cluster.slurm.step_counter import StepCounter
from accelwatch_lab.cluster.starts import count_start

# Of the kernel, as Backend.AI sets it.
SESSION_VARIABLE = "BACKENDAI_SESSION_ID"


def main() -> None:
    """Count until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("job")
    options = parser.parse_args()
    nodes = _nodes(options.folder, options.job, os.environ[SESSION_VARIABLE])
    restart = count_start(options.folder, options.job)
    StepCounter(options.folder, options.job, nodes, restart).run()


def _nodes(folder: Path, job: str, session: str) -> tuple[str, ...]:
    """Raises AccelwatchError."""
    api = Api(keys_of(folder / "backendai", Account.SUPERADMIN))
    for row in sessions(api, job):
        if row["session_id"] == session:
            return nodes_of(row)
    raise AccelwatchError(f"the manager has no session {session} with the name {job}")


if __name__ == "__main__":
    main()
