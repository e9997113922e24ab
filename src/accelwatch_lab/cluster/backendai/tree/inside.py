"""Running a program in the tree: in mounts of its own, which go when it ends.

There the lab's folder is `/mnt`, so that paths are short: sockets have 108 characters at most.
`/media` is this machine, on which sessions work as if it were the image of their container.
"""

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.backendai.tree.installed import Tree
from accelwatch_lab.cluster.processes import FOLDER_VARIABLE

# Of the lab's folder, inside.
FOLDER = "/mnt"
# Of this machine, inside.
MACHINE = "/media"
# The PATH of who entered, for what runs on the machine.
MACHINE_PATH_VARIABLE = "ACCELWATCH_LAB_MACHINE_PATH"
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# Each program replaces the one before, so that the process is the program in the end.
_ENTER = f"""\
root=$1 folder=$2; shift 2
mount --rbind / "$root{MACHINE}"
mount --bind "$folder" "$root{FOLDER}"
mount --bind /proc "$root/proc"
mount --bind /dev "$root/dev"
exec chroot "$root" "$@"
"""
# What the environment says of Python is of this machine's.
_OWN = ("-u", "PYTHONPATH", "-u", "PYTHONHOME")
_COMMAND_S = 180.0


def argv_inside(tree: Tree, folder: Path, command: Sequence[str], cwd: str = FOLDER) -> list[str]:
    """What runs a command in the tree, with a folder of this machine as `/mnt`."""
    path = f"{FOLDER}/bin:{tree.venv}/bin:{_PATH}"
    enter = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", _ENTER, "enter"]
    environ = [
        f"PATH={path}",
        f"{MACHINE_PATH_VARIABLE}={os.environ.get('PATH', _PATH)}",
        # Without the variable the manager dies; with it nobody is reached, which nothing needs.
        f"DOCKER_HOST=unix://{FOLDER}/none.sock",
        "LC_ALL=C.UTF-8",
        # Titles of processes would overwrite their environment, by which a lab finds them.
        "SPT_NOENV=1",
    ]
    return [*enter, str(tree.root), str(folder), "env", *_OWN, "-C", cwd, *environ, *command]


def as_postgres(command: Sequence[str]) -> list[str]:
    """What runs a command as the user of the database, who refuses to be root."""
    ids = ("--reuid=postgres", "--regid=postgres", "--clear-groups")
    return ["setpriv", *ids, *command]


def run_inside(
    tree: Tree, folder: Path, command: Sequence[str], cwd: str = FOLDER, text: str = ""
) -> str:
    """What a command in the tree prints, output and complaints. Raises AccelwatchError with them.

    `text` is its input. Secrets are given there: everybody can read a command.
    """
    argv = argv_inside(tree, folder, command, cwd)
    try:
        completed = subprocess.run(
            argv,
            env={**os.environ, FOLDER_VARIABLE: str(folder.parent)},
            input=text,
            capture_output=True,
            text=True,
            timeout=_COMMAND_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AccelwatchError(f"{shlex.join(command)} took more than {_COMMAND_S:g} s") from error
    if completed.returncode:
        why = (completed.stderr or completed.stdout).strip()[-500:]
        raise AccelwatchError(f"{shlex.join(command)} failed: {why}")
    return f"{completed.stdout}{completed.stderr}"
