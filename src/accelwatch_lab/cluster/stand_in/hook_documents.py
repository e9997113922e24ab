"""What a hook of the stand-in is called with, and what it answers: docs/actions/script.md."""

import msgspec


class OwnerAnnotation(msgspec.Struct, frozen=True, kw_only=True):
    """By what a hub knows its own hold again."""

    incident: str
    token: int


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """For which a hook is called."""

    id: str
    rule: str = ""
    reason: str = ""


class Entity(msgspec.Struct, frozen=True, kw_only=True):
    """Whom it is about."""

    node: str


class RequestedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it was seen when the call was made."""

    id: str
    restart_count: int | None = None


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook is given, as far as this one needs it: docs/actions/script.md."""

    hook: str
    incident: Incident
    entity: Entity
    wanted: str = ""
    operation_id: str = ""
    fence: int = 0
    dry_run: bool = False
    jobs: tuple[RequestedJob, ...] = ()
    bad_nodes: tuple[str, ...] = ()
    spare: str = ""
    run_on: tuple[str, ...] = ()


class HookReply(msgspec.Struct, frozen=True, kw_only=True):
    """A hook's answer."""

    status: str
    message: str = ""
