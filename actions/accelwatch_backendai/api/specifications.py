"""How a session is created anew: by its row, by what an operator wrote, and by REST v2 from 26.4 on.

What is read here stays in memory: an environment has keys of other services, and a command may.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from accelwatch.api_client.backendai.client import BackendAiClient
from accelwatch.api_client.backendai.releases import ManagerRelease
from accelwatch.base.errors import ConfigError
from accelwatch_backendai.api.session_templates import template_specification
from accelwatch_backendai.api.sessions import Session, session_by_id
from accelwatch_backendai.api.specification_files import (
    WrittenSpecification,
    encoded_script,
    read_specification,
)
from accelwatch_backendai.api.specification_rows import (
    Runtime,
    SessionDetail,
    SessionRow,
    are_alike,
    kernel_resources,
    resource_opts,
    session_detail,
    session_row,
)
from accelwatch_backendai.api.tags import first_of
from accelwatch_backendai.settings.specification_rules import SpecificationRule

# Of a session without one: 26.1 ends a batch session at once for which none is given.
_NO_TIMEOUT = "365d"
_BATCH = "batch"
# Networks that a user made for a session, which POST /session cannot name.
_OWN_NETWORK = "persistent"


class Specification(msgspec.Struct, frozen=True):
    """What becomes the body of `POST /session`, in the one spelling that all releases read."""

    fields: Mapping[str, object]
    config: Mapping[str, object]

    def body(self, *, tag: str, owner_access_key: str) -> dict[str, object]:
        """The body. An existing session of the name is refused, whatever it is like."""
        return {
            **self.fields,
            "tag": tag,
            "owner_access_key": owner_access_key,
            "enqueueOnly": True,
            "reuseIfExists": False,
            "config": dict(self.config),
        }

    def __repr__(self) -> str:
        """Without what a user keeps secret."""
        return "Specification()"


class Specifications:
    """Of one manager's sessions; for one event loop."""

    def __init__(
        self,
        client: BackendAiClient,
        release: ManagerRelease,
        rules: Sequence[SpecificationRule] = (),
    ) -> None:
        """Raises ConfigError for a file that is wrong: in time, not when a session has ended."""
        self._client = client
        self._release = release
        self._rules = rules
        for rule in rules:
            if rule.file:
                read_specification(Path(rule.file))

    async def missing(self, session: Session) -> str:
        """Why a session could not be created anew; empty where it could.

        Raises BackendAiError.
        """
        specification = await self._read(session)
        return specification if isinstance(specification, str) else ""

    async def read(self, session: Session) -> Specification | None:
        """How it is created anew; None where that is not known. Raises as `missing`."""
        specification = await self._read(session)
        return None if isinstance(specification, str) else specification

    async def _read(self, session: Session) -> Specification | str:
        """The specification, or why there is none."""
        release = await self._release.current()
        rule = await self._rule(session)
        row, detail = await asyncio.gather(
            session_row(self._client, release, session.id),
            session_detail(self._client, release, session.id),
        )
        if row is None:
            return "the manager no longer has it"
        try:
            written = await self._written(rule)
        except ConfigError as error:
            return str(error)
        if detail is None and written is None:
            return (
                f"release {release} of the manager does not show the environment of a session "
                "(26.4 and newer do), and no file of `specifications` has it"
            )
        if rule is not None and rule.template and detail is not None and written is not None:
            # What a session was made with counts before what its template has by now.
            written = WrittenSpecification(mounts=written.mounts, mount_map=written.mount_map)
        default_paths = rule is not None and rule.default_mount_paths
        if problem := _problem(row, detail, written, default_paths):
            return problem
        specification = _specification(session, row, detail, written or WrittenSpecification())
        if session.type == _BATCH and "startupCommand" not in specification.fields:
            return "the manager does not show which command it runs"
        return specification

    async def _rule(self, session: Session) -> SpecificationRule | None:
        tag = session.tag
        origin = first_of(session)
        if origin != session.id and any(rule.tags for rule in self._rules):
            first = await session_by_id(self._client, origin)
            tag = "" if first is None else first.session.tag
        return next(
            (
                rule
                for rule in self._rules
                if rule.fits(name=session.name, tag=tag, project=session.project)
            ),
            None,
        )

    async def _written(self, rule: SpecificationRule | None) -> WrittenSpecification | None:
        if rule is None:
            return None
        if rule.template:
            return await template_specification(self._client, rule.template)
        if rule.file:
            return await asyncio.to_thread(read_specification, Path(rule.file))
        return None


def _problem(
    row: SessionRow,
    detail: SessionDetail | None,
    written: WrittenSpecification | None,
    default_paths: bool,
) -> str:
    """Why what is known makes no session like it; empty where it does."""
    if not are_alike(row):
        return "its kernels differ from each other, which one request cannot create"
    network = None if detail is None else detail.network
    if network is not None and network.network_type == _OWN_NETWORK:
        return "it is on a network that its user made for it, which one request cannot create"
    paths_written = written is not None and written.mounts is not None
    if row.mounts and not paths_written and not default_paths:
        return (
            f"it has {len(row.mounts)} folders mounted, and the manager does not say where; name "
            "them in a file of `specifications`, or set default_mount_paths there"
        )
    if written is not None and _other_folders(row, written):
        return (
            "its folders are not those of its file or template of `specifications`; give it a rule of "
            "its own"
        )
    if not kernel_resources(row) and (written is None or written.resources is None):
        return "the manager does not show which resources it requested"
    return ""


def _other_folders(row: SessionRow, written: WrittenSpecification) -> bool:
    """A pattern may fit a session that was made otherwise; a name may have a path within the folder."""
    if written.mounts is None:
        return False
    names = {mount.split("/")[0] for mount in written.mounts}
    return names != set(row.mounts or ())


def _specification(
    session: Session,
    row: SessionRow,
    detail: SessionDetail | None,
    written: WrittenSpecification,
) -> Specification:
    """What was written counts first."""
    runtime = Runtime() if detail is None else detail.runtime
    script = written.bootstrap_script
    fields = {
        "name": row.name,
        "type": session.type,
        "image": written.image or row.image,
        "arch": written.architecture or row.architecture,
        "group": row.group_name,
        "domain": row.domain_name,
        "cluster_size": written.cluster_size or row.cluster_size or 1,
        "cluster_mode": written.cluster_mode or session.cluster_mode or "single-node",
        "startupCommand": _first(
            written.startup_command, runtime.startup_command, row.startup_command
        ),
        "bootstrap_script": runtime.bootstrap_script if script is None else encoded_script(script),
        # The manager refuses one for any other type.
        "batch_timeout": _timeout(detail, written) if session.type == _BATCH else None,
        "callback_url": _first(written.callback_url, runtime.callback_url),
        "priority": _first(written.priority, row.priority),
        **_preemption(detail),
    }
    config = {
        "scaling_group": written.resource_group or row.scaling_group,
        "resources": _first(written.resources, kernel_resources(row)),
        "resource_opts": _first(written.resource_opts, resource_opts(row)),
        "environ": _first(written.environ, runtime.variables),
        "mounts": _first(written.mounts, list(row.mounts or ())),
        "mount_map": written.mount_map,
        "mount_options": msgspec.to_builtins(written.mount_options),
        "preopen_ports": _first(written.preopen_ports, _ports(row)),
    }
    return Specification(_without_empty(fields), _without_empty(config))


def _timeout(detail: SessionDetail | None, written: WrittenSpecification) -> str:
    if written.batch_timeout is not None:
        return str(written.batch_timeout)
    seconds = None if detail is None else detail.lifecycle.batch_timeout
    return str(seconds) if seconds else _NO_TIMEOUT


def _preemption(detail: SessionDetail | None) -> dict[str, object]:
    """What differs from the default; releases that do not know it do not show it."""
    if detail is None:
        return {}
    shown: dict[str, object] = {}
    if detail.metadata.job_priority:
        shown["job_priority"] = detail.metadata.job_priority
    if detail.metadata.is_preemptible is False:
        shown["is_preemptible"] = False
    return shown


def _ports(row: SessionRow) -> list[int]:
    return list(next((kernel.preopen_ports or () for kernel in row.containers or ()), ()))


def _first(*values: object) -> object:
    return next((value for value in values if value is not None), None)


def _without_empty(values: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if value not in (None, "", [], {})}
