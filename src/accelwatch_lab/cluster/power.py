"""The lab's power switch: it ends everything of one node at once, as cutting its power would.

The keeper of a job's step goes first: one that outlives the job would report its failure to Slurm.
"""

import argparse
import sys
from pathlib import Path

from accelwatch_lab.cluster.processes import Processes, lab_processes
from accelwatch_lab.cluster.slurm.controller import NODE
from accelwatch_lab.cluster.slurm.step_daemons import kill_step_daemons, step_daemons_of

# Variable of a job's processes, which have the environment of who submitted it besides.
_JOB_NODE = "SLURMD_NODENAME"


def power_off(folder: Path, node: str) -> None:
    """Leave nothing of it."""
    kill_step_daemons(folder, node)
    processes = Processes(folder)
    processes.sweep({NODE: node})
    processes.sweep({_JOB_NODE: node})


def is_off(folder: Path, node: str) -> bool:
    """Whether nothing of it runs."""
    on = (
        *step_daemons_of(folder, node),
        *lab_processes(folder, {NODE: node}),
        *lab_processes(folder, {_JOB_NODE: node}),
    )
    return not on


def main() -> None:
    """Exit code 0: it is off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("word", choices=("off", "is_off"))
    parser.add_argument("node")
    options = parser.parse_args()
    if options.word == "off":
        power_off(options.folder, options.node)
    sys.exit(0 if is_off(options.folder, options.node) else 1)


if __name__ == "__main__":
    main()
