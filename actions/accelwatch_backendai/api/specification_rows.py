"""What the manager says of how a session was made: its row, and from 26.4 on what only REST v2 shows.

A session's row stays when it has ended. Users keep secrets in an environment and in commands: errors
about them are private, and representations are empty.
"""

from decimal import Decimal

import msgspec

from accelwatch.api_client.backendai.client import BackendAiClient, decoded
from accelwatch.api_client.backendai.errors import BackendAiRefusedError
from accelwatch.api_client.backendai.paging import quoted
from accelwatch.api_client.backendai.releases import Ability, Release
from accelwatch.base.decode_errors import DECODE_ERRORS

_NOT_FOUND = 404
_FIELDS = """name type image architecture domain_name group_name scaling_group cluster_size
cluster_mode startup_command mounts containers { image architecture occupied_slots resource_opts
preopen_ports }"""


class KernelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel, as far as its session's specification is seen by it."""

    image: str | None = None
    architecture: str | None = None
    # JSON in strings.
    occupied_slots: str | None = None
    resource_opts: str | None = None
    preopen_ports: tuple[int, ...] | None = None


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """What every release shows of a session."""

    name: str
    image: str | None = None
    architecture: str | None = None
    domain_name: str | None = None
    group_name: str | None = None
    scaling_group: str | None = None
    cluster_size: int | None = None
    cluster_mode: str | None = None
    startup_command: str | None = None
    priority: int | None = None
    # JSON in a string, of all kernels together.
    requested_slots: str | None = None
    # Names of folders.
    mounts: tuple[str, ...] | None = None
    containers: tuple[KernelRow, ...] | None = None

    def __repr__(self) -> str:
        """Without what a user keeps secret."""
        return "SessionRow()"


class _List(msgspec.Struct, frozen=True):
    items: tuple[SessionRow, ...]


class _Data(msgspec.Struct, frozen=True):
    compute_session_list: _List


async def session_row(
    client: BackendAiClient, release: Release, session_id: str
) -> SessionRow | None:
    """The row; None without one. Raises BackendAiError."""
    fields = _FIELDS
    if release.can(Ability.REQUESTED_SLOTS):
        fields += " requested_slots"
    if release.can(Ability.AGENT_IDS):
        fields += " priority"
    query = (
        "query($filter: String) { compute_session_list(limit: 1, offset: 0, filter: $filter)"
        " { items { " + fields + " } } }"
    )
    variables = {"filter": f"id == {quoted(session_id)}"}
    body = await client.graphql(query, variables, private=True)
    return next(iter(decoded(body, _Data).compute_session_list.items), None)


def kernel_resources(row: SessionRow) -> dict[str, str]:
    """What each kernel requests, by slot; empty where the row does not say it.

    The row has the sum of kernels that are all alike. Releases without it keep at a kernel what it has
    been given, also when it has ended.
    """
    size = row.cluster_size or 1
    if row.requested_slots is not None:
        return {slot: _text(amount / size) for slot, amount in _amounts(row.requested_slots)}
    main = next(iter(row.containers or ()), KernelRow())
    return {slot: _text(amount) for slot, amount in _amounts(main.occupied_slots)}


def are_alike(row: SessionRow) -> bool:
    """Whether all kernels have one image and the same options; only then one request makes them all."""
    kernels = row.containers or ()
    kinds = {(kernel.image, kernel.architecture, kernel.resource_opts) for kernel in kernels}
    return len(kinds) <= 1


def resource_opts(row: SessionRow) -> dict[str, str | int | bool]:
    """Shared memory in bytes, and whatever else was set."""
    text = next((kernel.resource_opts for kernel in row.containers or ()), None)
    try:
        options = msgspec.json.decode(text or "{}", type=dict[str, str | int | bool | None])
    except DECODE_ERRORS:
        return {}
    return {key: value for key, value in options.items() if value is not None}


def _amounts(text: str | None) -> list[tuple[str, Decimal]]:
    try:
        amounts = msgspec.json.decode(text or "{}", type=dict[str, Decimal], strict=False)
    except DECODE_ERRORS:
        return []
    return [(slot, amount) for slot, amount in amounts.items() if amount.is_finite() and amount]


def _text(amount: Decimal) -> str:
    """As short as it is: `8.000000` of 26.9 is 8."""
    return f"{amount.normalize():f}"


class _Entry(msgspec.Struct, frozen=True):
    name: str
    value: str


class _Entries(msgspec.Struct, frozen=True):
    entries: tuple[_Entry, ...] = ()


class Runtime(msgspec.Struct, frozen=True, kw_only=True):
    """What is run, and in which environment."""

    # A list of names and values in 26.9, a plain mapping before.
    environ: msgspec.Raw = msgspec.Raw(b"null")
    # Base64, as it was created.
    bootstrap_script: str | None = None
    startup_command: str | None = None
    callback_url: str | None = None

    def __repr__(self) -> str:
        """Without what a user keeps secret."""
        return "Runtime()"

    @property
    def variables(self) -> dict[str, str]:
        """The environment. Raises BackendAiUnavailableError for one in yet another shape."""
        if bytes(self.environ) == b"null":
            return {}
        try:
            listed = msgspec.json.decode(self.environ, type=_Entries)
        except DECODE_ERRORS:
            listed = _Entries()
        if listed.entries:
            return {entry.name: entry.value for entry in listed.entries}
        plain = decoded(bytes(self.environ), dict[str, object])
        if plain.keys() <= {"entries"} and not plain.get("entries"):
            return {}
        return decoded(bytes(self.environ), dict[str, str])


class _Lifecycle(msgspec.Struct, frozen=True, kw_only=True):
    # Seconds.
    batch_timeout: int | None = None


class _Metadata(msgspec.Struct, frozen=True, kw_only=True):
    job_priority: int | None = None
    is_preemptible: bool | None = None


class _Network(msgspec.Struct, frozen=True, kw_only=True):
    network_type: str | None = None


class SessionDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What only `GET /v2/sessions/{id}` shows."""

    runtime: Runtime
    lifecycle: _Lifecycle = _Lifecycle()
    metadata: _Metadata = _Metadata()
    network: _Network | None = None

    def __repr__(self) -> str:
        """Without what a user keeps secret."""
        return "SessionDetail()"


async def session_detail(
    client: BackendAiClient, release: Release, session_id: str
) -> SessionDetail | None:
    """The detail; None before 26.4. Raises BackendAiError."""
    if not release.can(Ability.V2):
        return None
    try:
        body = await client.get(f"/v2/sessions/{session_id}")
    except BackendAiRefusedError as error:
        if error.status == _NOT_FOUND:
            return None
        raise
    return decoded(body, SessionDetail)
