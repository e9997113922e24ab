"""POST /session: a session from its parameters, with each release's spelling of them."""

import re
import uuid
from collections.abc import Mapping
from typing import Any

from accelwatch_lab.cluster.backendai.api_server import problems
from accelwatch_lab.cluster.backendai.api_server.accounts import Keypair
from accelwatch_lab.cluster.backendai.api_server.manager import ARCHITECTURE, PROJECT, Manager
from accelwatch_lab.cluster.backendai.api_server.state.sessions import CLOSED, Kernel, Session

Body = dict[str, Any]
# Units of sizes and durations as users write them: `16g`, `7d`.
_BYTES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
# Other names of a key, as far as all releases read them.
_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "name": ("name", "session_name", "clientSessionToken"),
    "image": ("image", "lang"),
    "architecture": ("arch", "architecture"),
    "type": ("type", "sessionType", "session_type"),
    "project": ("group", "groupName", "group_name"),
    "domain": ("domain", "domainName", "domain_name"),
    "cluster_size": ("cluster_size", "clusterSize"),
    "cluster_mode": ("cluster_mode", "clusterMode"),
    "bootstrap_script": ("bootstrap_script", "bootstrapScript"),
    "callback_url": ("callback_url", "callbackUrl", "callbackURL"),
    "batch_timeout": ("batch_timeout", "batchTimeout"),
}
# Camel case before 26.8: there the other spelling shadows the default.
_CAMEL = {
    "reuse": ("reuseIfExists", "reuse_if_exists"),
    "enqueue_only": ("enqueueOnly", "enqueue_only"),
    "startup_command": ("startupCommand", "startup_command"),
}
_OLD_NAME = re.compile(r"(?=.{4,64}$)\w[\w.-]*\w")
# Of the column: a longer tag is an error of the database.
_LONGEST_TAG = 64


def created(manager: Manager, caller: Keypair, body: Any) -> dict[str, Any]:
    """What the manager answers with 201. Raises RequestError."""
    if not isinstance(body, dict):
        raise problems.invalid("malformed body")
    values = _canonical_keys(manager, body)
    owner = manager.accounts.acting_for(caller, body.get("owner_access_key"))
    name = _name(manager, values)
    if manager.release.has_project_roles and not caller.is_superadmin:
        # The fixtures' project was not made by the API, so that its members have no rights in it.
        raise problems.not_permitted(f"User {caller.user_id} lacks permission on session")
    there = [
        session for session in manager.sessions.named(name, owner) if session.status not in CLOSED
    ]
    if there:
        if not values.get("reuse", True):
            raise problems.exists(there[0].id)
        return _answer(there[0], created=False) | {"service_ports": []}
    session = _session(manager, owner, name, values, body)
    manager.sessions.add(session)
    return _answer(session, created=True)


def _answer(session: Session, *, created: bool) -> dict[str, Any]:
    return {
        "sessionId": session.id,
        "sessionName": session.name,
        "status": session.status,
        "servicePorts": [],
        "created": created,
    }


def _canonical_keys(manager: Manager, body: Body) -> Body:
    values = {}
    for key, names in _SPELLINGS.items():
        spellings = [name for name in names if body.get(name) is not None]
        if spellings:
            values[key] = body[spellings[0]]
    for key, (camel, snake) in _CAMEL.items():
        if snake in body and not manager.release.reads_snake_case:
            raise problems.invalid_parameters(f"{snake}: key was shadowed by {camel}")
        if body.get(camel, body.get(snake)) is not None:
            values[key] = body.get(camel, body.get(snake))
    return values


def _name(manager: Manager, values: Body) -> str:
    name = values.get("name")
    if not isinstance(name, str):
        raise problems.invalid("session_name: Field required")
    if not manager.release.has_v2 and not _OLD_NAME.fullmatch(name):
        pattern = f"does not match pattern ^{_OLD_NAME.pattern}$"
        raise problems.invalid_parameters("Input validation error", data={"name": pattern})
    return name


def _session(manager: Manager, owner: Keypair, name: str, values: Body, body: Body) -> Session:
    config = body.get("config") or {}
    kind = str(values.get("type", "interactive")).lower()
    image, architecture = values.get("image"), values.get("architecture", ARCHITECTURE)
    if image not in manager.images:
        raise problems.no_image(str(image), architecture)
    group = _group(manager, config)
    timeout = values.get("batch_timeout")
    if timeout is not None and kind != "batch":
        raise problems.invalid_parameters(
            "Parameter batch_timeout should be used only for batch sessions"
        )
    tag = body.get("tag")
    if len(tag or "") > _LONGEST_TAG:
        raise problems.failed()
    size = values.get("cluster_size", 1)
    if not isinstance(size, int):
        raise problems.invalid("cluster_size: Input should be a valid integer")
    now = manager.clock.wall()
    default_s = manager.release.default_batch_timeout_s
    return Session(
        id=str(uuid.uuid4()),
        creation_id=uuid.uuid4().hex[:22],
        name=name,
        owner=owner,
        kind=kind,
        image=image,
        architecture=architecture,
        tag=tag or "",
        project=values.get("project", PROJECT),
        domain=values.get("domain", "default"),
        group=group,
        cluster_mode=values.get("cluster_mode", "single-node"),
        cluster_size=size,
        priority=int(body.get("priority") or 10),
        startup_command=values.get("startup_command"),
        bootstrap_script=values.get("bootstrap_script"),
        callback_url=values.get("callback_url"),
        batch_timeout_s=default_s if timeout is None else seconds_of(timeout),
        environ=config.get("environ") or {},
        slots=slots_of(config.get("resources") or {}),
        resource_opts=config.get("resource_opts") or {},
        agent_list=tuple(config.get("agent_list") or ()),
        dependencies=tuple(body.get("dependencies") or ()),
        mounts=tuple(config.get("mounts") or ()),
        created_at=now,
        status_changed=now,
        kernels=[_kernel(number, now) for number in range(size)],
        due=now + manager.pace.schedule_s,
    )


def _group(manager: Manager, config: Body) -> str:
    name: str = config.get("scaling_group") or config.get("scalingGroup") or "default"
    if name not in manager.groups:
        raise problems.no_group(name)
    if manager.release.has_v2 and not manager.agents.of_group(name):
        raise problems.invalid_parameters(
            f"resource group '{name}' has no agents serving any resource slot."
        )
    return name


def _kernel(number: int, now: float) -> Kernel:
    return Kernel(
        id=str(uuid.uuid4()),
        role="main" if number == 0 else "sub",
        index=max(number, 1),
        local_rank=number,
        status_changed=now,
    )


def slots_of(resources: Mapping[str, Any]) -> dict[str, int]:
    """Counts by slot, memory in bytes. Raises RequestError."""
    return {slot: _scaled(value, _BYTES) for slot, value in resources.items()}


def seconds_of(value: Any) -> float:
    """A duration. Raises RequestError."""
    return float(_scaled(value, _SECONDS))


def _scaled(value: Any, units: Mapping[str, int]) -> int:
    text = str(value).lower()
    unit = units.get(text[-1:], 0)
    try:
        return int(float(text[:-1] if unit else text) * (unit or 1))
    except ValueError:
        raise problems.invalid(f"{value!r} is no quantity") from None
