"""Options of the action."""

import math
import os
import pwd
from pathlib import PurePosixPath
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from accelwatch.action import checkpoint_options
from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.action.power_switch import check_power
from accelwatch.base.errors import ConfigError

_Seconds = Annotated[float, Meta(gt=0.0, le=600.0)]
_Argv = Annotated[list[str], Meta(max_length=64)]


def own_user() -> str:
    """Name of the user whose rights we have, or its number where it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


class SlurmOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One cluster, and what may be done to it."""

    # Path; empty for the one that Slurm's commands find by themselves.
    slurm_conf: str = ""
    # Folder of Slurm's commands; empty for /usr/bin, /usr/local/bin and /opt/slurm/bin.
    commands: str = ""
    # For one command. Slurm's own give up after 10 s when the controller hangs.
    timeout_s: _Seconds = 15.0
    # Field of a node that keeps what we know it by again, beside the reason. Without it no node is
    # rebooted or tested.
    mark: Literal["extra", "comment", "none"] = "extra"
    # Whether a job that is moved keeps its nodes by a reservation; needs the rights of an operator.
    hold_place: bool = True
    # Whether Slurm is made to ask the slurmd of a node whose agent falls silent under a job, by a
    # signal that processes ignore.
    probe_silent: bool = False
    # Name of the standing reservation over the spare nodes.
    spares: str = ""
    # For whom that reservation is made again when its last node was drawn.
    spare_users: str = msgspec.field(default_factory=own_user)
    # Commands by name, run as a job on a node that nobody else can use.
    tests: dict[str, _Argv] = {}
    # For whom a node is reserved while it is tested: who runs this.
    test_users: str = msgspec.field(default_factory=own_user)
    test_timeout_s: Annotated[float, Meta(gt=0.0, le=86400.0)] = 600.0
    # Where the newest checkpoint of a job is looked for: by it two deaths are known to be the same.
    checkpoints: CheckpointOptions | None = None
    # Folder of the cycle files of nvidia-resiliency-ext, as this machine sees it; `{job}` stands for
    # the job's id. By them is seen that a job's own launcher has gone on without a node.
    cycle_info: str = ""
    # Exit code by which a job's own launcher asks not to be restarted; 0: none does.
    no_restart_exit_code: Annotated[int, Meta(ge=0, le=255)] = 0
    # Command that cuts a node's power; `{node}` stands for its name.
    power_off: _Argv = []
    # Command that ends with 0 when a node has no power, and with 1 when it has.
    power_state: _Argv = []
    power_timeout_s: _Seconds = 60.0

    @property
    def test_minutes(self) -> int:
        """For how long a node is reserved for its test at most, the wait for its start included."""
        return 90 + math.ceil(self.test_timeout_s / 60.0)

    def __post_init__(self) -> None:
        checkpoint_options.check(self.checkpoints)
        for key, argv in (
            ("power_off", self.power_off),
            ("power_state", self.power_state),
            *((f"tests.{name}", argv) for name, argv in self.tests.items()),
        ):
            if (argv or key.startswith("tests.")) and not is_absolute(argv):
                raise ConfigError(f"{key}: expected a list that starts with an absolute path")
        check_power(self.power_off, self.power_state)
        for key, path in (
            ("commands", self.commands),
            ("slurm_conf", self.slurm_conf),
            ("cycle_info", self.cycle_info),
        ):
            if path and not PurePosixPath(path).is_absolute():
                raise ConfigError(f"{key}: expected an absolute path")


def is_absolute(argv: list[str]) -> bool:
    """Whether a command is named by its whole path."""
    return bool(argv) and PurePosixPath(argv[0]).is_absolute()
