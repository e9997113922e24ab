"""The files from which manager and agents start; paths in them are those inside the tree."""

from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

from accelwatch_lab.cluster.backendai.tree.inside import FOLDER
from accelwatch_lab.cluster.backendai.tree.installed import Tree

_PACKAGE = "accelwatch_lab.cluster.backendai.servers"
# From this release on; either name is refused by the releases of the other.
_NEW_GROUP_KEY = (26, 8)
# The usual 20 s are too seldom beside a timeout of a few seconds.
_HEARTBEAT_S = 3.0
_DEVICE = (
    '  {{ mother_uuid = "GPU-{agent:08d}-0000-4000-8000-{index:012d}", model_name = "CUDA GPU",'
    ' numa_node = {numa}, subproc_count = 132, memory_size = "80G", is_mig_device = false }},\n'
)
_NUMA_GPUS = 4


class ManagerPorts(NamedTuple):
    """All of 127.0.0.1."""

    postgres: int
    redis: int
    etcd: int
    etcd_peers: int
    # The API, and what only machines of the cluster are to reach: metrics and targets.
    service: int
    internal: int
    terminal: int
    web: int


class AgentPorts(NamedTuple):
    """All of the agent's address."""

    rpc: int
    # Metrics.
    service: int
    socket: int
    metadata: int
    terminal: int
    web: int


class AgentSettings(NamedTuple):
    """An agent as it is started first."""

    agent: str
    # Counts from 1; the ids of its devices have it.
    number: int
    host: str
    group: str
    gpus: int


def template(name: str, **values: object) -> str:
    """A file of ours with its values; KeyError where one is missing."""
    text = files(_PACKAGE).joinpath("templates", name).read_text("utf-8")
    return Template(text).substitute(values)


def program(name: str) -> bytes:
    """A file of ours that runs inside the tree."""
    return files(_PACKAGE).joinpath("programs", name).read_bytes()


def write_manager(folder: Path, ports: ManagerPorts, heartbeat_timeout_s: float) -> None:
    """The manager's folder, with all that it is started from and its commands read."""
    own = folder / "manager"
    for path in (own, folder / "ipc", folder / "keys", folder / "bin", folder / "programs"):
        path.mkdir(exist_ok=True)
    values = {**ports._asdict(), "heartbeat_timeout": heartbeat_timeout_s}
    text = template("manager.toml", **values) + template("logging.toml")
    (own / "manager.toml").write_text(text)
    (own / "alembic.ini").write_text(template("alembic.ini", postgres=ports.postgres))
    (own / "volumes.json").write_text(template("volumes.json"))
    for name in ("agent_start.py", "manager_start.py"):
        (folder / "programs" / name).write_bytes(program(name))
    docker = folder / "bin" / "docker"
    docker.write_bytes(program("docker"))
    docker.chmod(0o755)


def write_agent(
    folder: Path, tree: Tree, etcd: int, settings: AgentSettings, ports: AgentPorts
) -> None:
    """An agent's folder, with all that it is started from."""
    own = folder / "agents" / settings.agent
    for name in ("var", "ipc", "mnt", "scratch", "commit"):
        (own / name).mkdir(parents=True, exist_ok=True)
    is_new = tree.number >= _NEW_GROUP_KEY
    text = template(
        "agent.toml",
        **ports._asdict(),
        etcd=etcd,
        agent=settings.agent,
        host=settings.host,
        group=settings.group,
        group_key="initial-resource-group-name" if is_new else "scaling-group",
        folder=f"{FOLDER}/agents/{settings.agent}",
    )
    heartbeat = f"heartbeat-interval = {_HEARTBEAT_S}\n"
    (own / "agent.toml").write_text(text + template("logging.toml") + heartbeat)
    (own / "agent.dummy.toml").write_text(template("agent.dummy.toml"))
    devices = "".join(
        _DEVICE.format(agent=settings.number, index=index, numa=index // _NUMA_GPUS)
        for index in range(settings.gpus)
    )
    (own / "mock-accelerator.toml").write_text(template("mock-accelerator.toml", devices=devices))
