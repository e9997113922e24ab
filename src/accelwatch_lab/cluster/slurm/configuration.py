"""The slurm.conf of a cluster on one machine without root: loopback, its own munge, no cgroups."""

import getpass
import socket
from collections.abc import Sequence
from pathlib import Path

_TEXT = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmUser={user}
SlurmdUser={user}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/backfill
SchedulerParameters={scheduler}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
JobRequeue=1
ReturnToService=1
KillWait=1
MinJobAge=300
InactiveLimit=0
SlurmdTimeout={slurmd_timeout_s}
MessageTimeout={message_timeout_s}
ResumeTimeout=60
RebootProgram={reboot_program}
{plugins}
{nodes}
PartitionName=main Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""
# Else newer daemons want a cgroup of their own, which needs root.
CGROUP_CONF = "CgroupPlugin=disabled\n"
# Earlier ones know no such plugin.
NEEDS_CGROUP_CONF = (23, 2)
_NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port}"
    " CPUs=1 RealMemory=100 State=UNKNOWN"
)


def slurm_conf(
    folder: Path,
    names: Sequence[str],
    ports: Sequence[int],
    *,
    scheduler: str,
    slurmd_timeout_s: int,
    message_timeout_s: int,
    reboot_program: str,
    plugins: str = "",
) -> str:
    """The text for nodes of these names; `ports` are the controller's, then one a node.

    `plugins` is the folder of Slurm's plugins, where that is not the one that it was built for.
    """
    host = socket.gethostname().partition(".")[0]
    nodes = [
        _NODE.format(name=name, host=host, port=port)
        for name, port in zip(names, ports[1:], strict=True)
    ]
    return _TEXT.format(
        folder=folder,
        host=host,
        port=ports[0],
        user=getpass.getuser(),
        scheduler=scheduler,
        slurmd_timeout_s=slurmd_timeout_s,
        message_timeout_s=message_timeout_s,
        reboot_program=reboot_program,
        plugins=f"PluginDir={plugins}" if plugins else "",
        nodes="\n".join(nodes),
        names=",".join(names),
    )
