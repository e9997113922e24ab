"""One request to a hub or an agent, for commands that query it or change something in it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from accelwatch.base.default_addresses import AGENT_ADDRESS, AGENT_PORT, HUB_ADDRESS
from accelwatch.base.errors import AccelwatchError, UncertainError, UnmetError, UsageError
from accelwatch.cli.parameters import option

if TYPE_CHECKING:
    from accelwatch.fleet.hub_client.connection.session import HubSession
    from accelwatch.fleet.hub_client.several.requests.session import SeveralSession
    from accelwatch.fleet.targets.hub_endpoint import HubEndpoint

    Session = HubSession | SeveralSession
    # A hub or an agent, or several hubs queried as one.
    Address = tuple[HubEndpoint, ...]

DEFAULT_HUB = HUB_ADDRESS
DEFAULT_AGENT = AGENT_ADDRESS
_NOT_THERE = 404
T = TypeVar("T")


class HubOnlyFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Which hub is queried, for what agents do not do."""

    hub: Annotated[
        list[str] | None,
        option(
            "--hub",
            metavar="[NAME=]URL",
            help=f"The hub to ask, {DEFAULT_HUB} unless given; repeated, several as one.",
        ),
    ] = None
    hub_config_file: Annotated[
        list[Path] | None,
        option(
            "--hub.config.file",
            metavar="FILE",
            help="Credentials and TLS for the connection; repeated, one for each hub.",
        ),
    ] = None


class HubFlags(HubOnlyFlags, frozen=True, kw_only=True):
    """Which hub, or which node's agent, is queried."""

    agent: Annotated[
        str | None,
        option("--agent", metavar="URL", help="Ask the agent of one node instead."),
    ] = None


def fetch_page(hub: HubOnlyFlags, path: str, query: Mapping[str, str]) -> bytes:
    """A page of the hub of this machine, else of its agent, where neither is named.

    Raises AccelwatchError.
    """
    return fetch(hub, lambda session: session.document(path, query))


def fetch(hub: HubOnlyFlags, request: "Callable[[Session], Awaitable[T]]") -> "T":
    """Several pages of that hub or agent, over one session. Raises AccelwatchError."""
    try:
        return _over(_resolve_addresses(hub), request)
    except NobodyAnswersError as error:
        if hub.hub or (isinstance(hub, HubFlags) and hub.agent is not None):
            raise
        text = f"{error}; if the hub is on another machine, add --hub http://host:9878"
        raise NobodyAnswersError(text) from error


def changed(
    hub: HubOnlyFlags,
    method: str,
    path: str,
    *,
    document: Mapping[str, Any] | None = None,
    query: Mapping[str, str] | None = None,
) -> bytes:
    """The answer to a change; only the named hub or agent gets it.

    Raises AccelwatchError, UncertainError when it is unknown whether it was made.
    """
    body = None if document is None else msgspec.json.encode(document)
    addresses = _resolve_addresses(hub)[:1]
    try:
        return _over(
            addresses, lambda session: session.change(method, path, query, body), changes=True
        )
    except NobodyAnswersError as error:
        if hub != HubFlags():
            raise
        # What is only read comes from the agent then; a change is for whom it was meant.
        text = f"{error}; to ask this machine's agent use --agent {DEFAULT_AGENT}"
        raise NobodyAnswersError(text) from error


def reached(hub: HubFlags, request: "Callable[[Session], Awaitable[T]]") -> "T | None":
    """An answer of this machine's hub, else its agent; None where neither is named and neither is there.

    Raises AccelwatchError.
    """
    try:
        return _over(_resolve_addresses(hub), request)
    except NobodyAnswersError:
        if hub == HubFlags():
            return None
        raise


class NobodyAnswersError(AccelwatchError):
    """No hub and no agent listens there."""


def _over(
    addresses: "Sequence[Address]",
    request: "Callable[[Session], Awaitable[T]]",
    *,
    changes: bool = False,
) -> "T":
    import asyncio

    from accelwatch.fleet.follow.failures.faults import Reason, TargetFault, leaves_doubt
    from accelwatch.fleet.hub_client.once import plainly

    async def main() -> T:
        for address in addresses:
            session, name = _session(address), _name(address)
            try:
                return await request(session)
            except TargetFault as fault:
                if fault.reason is Reason.CONNECT and address is not addresses[-1]:
                    continue
                if changes and leaves_doubt(fault):
                    text = f"{name}: unknown whether it was done: {fault}"
                    raise UncertainError(f"{text}; check before you repeat it") from fault
                if fault.code == _NOT_THERE and "no " in str(fault):
                    # Of several hubs the fault names the one that has answered.
                    text = str(fault) if len(address) > 1 else f"{name}: {fault}"
                    raise UnmetError(text) from fault
                error = plainly(fault, " and ".join(map(_name, addresses)))
                if fault.reason is Reason.CONNECT:
                    raise NobodyAnswersError(str(error)) from fault
                raise error from fault
            finally:
                await session.close()
        raise AssertionError("there is always an address")

    return asyncio.run(main())


def _resolve_addresses(hub: HubOnlyFlags) -> "list[Address]":
    """The servers to try, one after the other. Raises UsageError, ConfigError."""
    from accelwatch.fleet.hub_client.several.named_hubs import hub_endpoints
    from accelwatch.fleet.targets.hub_endpoint import hub_endpoint

    files = hub.hub_config_file or []
    if isinstance(hub, HubFlags) and hub.agent is not None:
        if hub.hub:
            raise UsageError("--hub and --agent: one of them")
        if len(files) > 1:
            raise UsageError("--hub.config.file: one file for --agent")
        file = files[0] if files else None
        return [(hub_endpoint(hub.agent, file, flag="--agent", port=AGENT_PORT),)]
    addresses = [hub_endpoints(hub.hub or (DEFAULT_HUB,), files)]
    if isinstance(hub, HubFlags) and not hub.hub and not files:
        addresses.append((hub_endpoint(DEFAULT_AGENT),))
    return addresses


def _name(address: "Address") -> str:
    return ", ".join(endpoint.name for endpoint in address)


def _session(address: "Address") -> "Session":
    """Requests to one hub, or to several as one."""
    if len(address) > 1:
        from accelwatch.fleet.hub_client.several.requests.session import SeveralSession

        return SeveralSession(address)
    from accelwatch.fleet.hub_client.connection.session import HubSession

    return HubSession(address[0])


def who(name: str | None) -> str:
    """The name that is given, else that of the user of this process; empty when he has none."""
    if name is not None:
        return name
    from accelwatch.fleet.hub_client.incident_changes import user_name

    return user_name()


def iso_time(option: str, text: str) -> str:
    """A time in the API's form; one without a zone is this machine's. Raises UsageError."""
    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"{option}: {text[:40]!r} is not a valid time; "
            "write 2030-01-31T18:00 or 2030-01-31T17:00:00Z"
        ) from None
