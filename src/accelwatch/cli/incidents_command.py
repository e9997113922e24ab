"""`accelwatch incidents`: what the rules of a hub, or of one node's agent, have found."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import msgspec
import typer

from accelwatch.agent_address import DEFAULT_ADDRESS
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.errors import UnmetError, UsageError
from accelwatch.exit_codes import OK

if TYPE_CHECKING:
    from accelwatch.fleet.hub_client.place import HubPlace

DEFAULT_HUB = "127.0.0.1:9878"
DEFAULT_AGENT = DEFAULT_ADDRESS
_AGENT_PORT = int(DEFAULT_AGENT.rpartition(":")[2])
_NOT_THERE = 404


class HubFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Which hub, or which node's agent, is asked; the hub of this machine, else its agent."""

    hub: Annotated[str, typer.Option("--hub", metavar="URL", help="The hub that is asked.")] = (
        DEFAULT_HUB
    )
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="URL", help="Ask the agent of one node instead."),
    ] = None
    hub_config_file: Annotated[
        Path | None,
        typer.Option("--hub.config.file", metavar="FILE", help="Credentials and TLS for it."),
    ] = None


class IncidentFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Which incidents are wanted, and how."""

    state: Annotated[
        str | None, typer.Option("--state", metavar="WORD", help="open, closed or all.")
    ] = None
    severity: Annotated[
        str | None,
        typer.Option("--severity", metavar="WORD", help="info, warning or critical."),
    ] = None
    node: Annotated[
        str | None, typer.Option("--node", metavar="NAME", help="Only those of this node.")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False


@command
def incidents_command(
    wanted: IncidentFlags,
    hub: HubFlags,
    incident: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One incident with its history.")
    ] = None,
) -> None:
    """Show what rules have found in a hub or an agent: what goes on, or one incident by its id."""
    raise typer.Exit(show_incidents(incident, wanted, hub))


def show_incidents(id_: str | None, wanted: IncidentFlags, hub: HubFlags) -> int:
    """Print a line an incident, or all of one. Raises AccelwatchError."""
    if id_ is not None:
        document = asked(hub, f"/v1/incidents/{quote(id_, safe='')}", {})
        write_stdout(document if wanted.as_json else _whole(msgspec.json.decode(document)))
        return OK
    query = {"state": wanted.state, "severity": wanted.severity, "node": wanted.node}
    document = asked(hub, "/v1/incidents", {k: v for k, v in query.items() if v is not None})
    if wanted.as_json:
        write_stdout(document)
        return OK
    page = msgspec.json.decode(document)
    for problem in page["problems"]:
        complain(problem)
    if not page["judged"]:
        complain("there are no rules here (docs/rules.md)")
    elif not page["incidents"]:
        complain(f"nothing; {page['rules']} rules are in force")
    write_stdout(_table(page["incidents"]))
    return OK


def asked(hub: HubFlags, path: str, query: dict[str, str]) -> bytes:
    """A page of whoever judges. Raises AccelwatchError."""
    import asyncio

    from accelwatch.fleet.follow.faults import Reason, TargetFault
    from accelwatch.fleet.hub_client.once import plainly
    from accelwatch.fleet.hub_client.session import HubSession

    async def main() -> bytes:
        for place in (places := _places(hub)):
            session = HubSession(place)
            try:
                return await session.document(path, query)
            except TargetFault as fault:
                if fault.reason is Reason.CONNECT and place is not places[-1]:
                    continue
                if fault.code == _NOT_THERE and "no " in str(fault):
                    raise UnmetError(f"{place.name}: {fault}") from fault
                raise plainly(fault, " and ".join(one.name for one in places)) from fault
            finally:
                await session.close()
        raise AssertionError("there is always a place to ask")

    return asyncio.run(main())


def _places(hub: HubFlags) -> "list[HubPlace]":
    """Where to ask, one after the other. Raises UsageError, ConfigError."""
    from accelwatch.fleet.hub_client.place import hub_place

    if hub.agent is not None:
        if hub.hub != DEFAULT_HUB:
            raise UsageError("--hub and --agent: one of them")
        return [hub_place(hub.agent, hub.hub_config_file, flag="--agent", port=_AGENT_PORT)]
    places = [hub_place(hub.hub, hub.hub_config_file)]
    if hub.hub == DEFAULT_HUB and hub.hub_config_file is None:
        places.append(hub_place(DEFAULT_AGENT))
    return places


def place_of(incident: dict[str, Any]) -> str:
    """Where it is, in few words."""
    named = ", ".join(incident["nodes"][:4])
    if incident["group"]:
        return f"{incident['group']}: {named}" if named else str(incident["group"])
    if incident["node"]:
        return f"{incident['node']} {incident['device_name'] or incident['device']}".strip()
    about = f"job {incident['job']}" if incident["job"] else f"rack {incident['rack']}"
    return f"{about}: {named}" if named else about


def _table(incidents: list[dict[str, Any]]) -> bytes:
    from accelwatch.untrusted_text import printable

    rows = [
        (
            one["id"],
            one["severity"] if one["state"] == "open" else "over",
            one["since"].partition(".")[0],
            printable(place_of(one)),
            printable(one["title"] + (f"  (part of {one['part_of']})" if one["part_of"] else "")),
        )
        for one in incidents
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(4)] if rows else []
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]])
        for row in rows
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def _whole(incident: dict[str, Any]) -> bytes:
    from accelwatch.untrusted_text import printable

    lines = [
        f"{incident['id']}  {incident['severity']}  {incident['state']}  {incident['title']}",
        f"where      {place_of(incident)}",
        f"since      {incident['since']}",
    ]
    told = {
        "closed": incident["closed"],
        "device": " ".join(filter(None, (incident["model"], incident["serial"]))),
        "jobs": ", ".join(incident["jobs"]),
        "users": ", ".join(incident["users"]),
        "what to do": incident["what_to_do"],
        "advice": incident["advice"],
        "runbook": incident["runbook"],
        "rule": ", ".join(incident["rules"]),
        "source": incident["source"],
        "part of": incident["part_of"],
    }
    lines += [f"{name:11}{value}" for name, value in told.items() if value]
    lines += [f"evidence   {one['text']}" for one in incident["evidence"]]
    lines += [f"{one['time']}  {one['kind']:9} {one['text']}" for one in incident["timeline"]]
    return "".join(f"{printable(line)}\n" for line in lines).encode()
