"""What a hub does about incidents, and what people order: plan, quarantine, approve, stop ...

An accepted command is in the journal when the process ends. What it led to is shown by
`accelwatch remedy list`; a scheduler needs its time.
"""

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

import click
import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.base.untrusted_text import printable
from accelwatch.cli.hub_requests import HubOnlyFlags, who
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option
from accelwatch.cli.remedy.remedy_outcome import code_of, fetch_remedies, post_command
from accelwatch.fleet.documents.remedies import (
    Commanded,
    PlanPage,
    RemediesPage,
    RemedyDocument,
)
from accelwatch.fleet.hub_client.documents import decoded
from accelwatch.fleet.picture.remedies import result_text
from accelwatch.remediation.policy.plan.model import Plan

NodeName = Annotated[str, argument(metavar="NODE", help="The hub's name of the node.")]
AsJson = Annotated[bool, option("--json", help="As JSON.")]
_NO_ACTIONS = "no actions configured; see remedy.actions in hub.yaml"
Lasts = Annotated[
    str | None, option("--for", metavar="DURATION", help="How long, such as 4h or 1d.")
]


class WhyFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Why, and who says so."""

    reason: Annotated[
        str | None,
        option("--reason", metavar="TEXT", help="Reason, kept in the audit log; required."),
    ] = None
    by: Annotated[
        str | None,
        option("--by", metavar="NAME", help="Your name, if the hub has no logins; default: $USER."),
    ] = None


@command
def remedies_command(hub: HubOnlyFlags, as_json: AsJson = False) -> None:
    """List nodes under remediation, one per line: stage, since when, rule, incident."""
    document = fetch_remedies(hub, "/v1/remedies", {})
    if as_json:
        write_stdout(document)
        raise click.exceptions.Exit(OK)
    page = decoded(document, RemediesPage)
    for line in _fleet_status(page):
        complain(line)
    if not page.remedies:
        complain("no remedies in progress")
    write_stdout("".join(f"{_line(row)}\n" for row in page.remedies).encode())
    raise click.exceptions.Exit(OK)


@command
def plan_command(hub: HubOnlyFlags, node: NodeName, as_json: AsJson = False) -> None:
    """Show the plan for a node: its next steps, and what blocks each of them."""
    document = fetch_remedies(hub, "/v1/plan", {"node": node})
    if as_json:
        write_stdout(document)
        raise click.exceptions.Exit(OK)
    plan = decoded(document, PlanPage).plan
    write_stdout("".join(f"{printable(line)}\n" for line in _plan(plan)).encode())
    raise click.exceptions.Exit(OK)


@command
def quarantine_command(
    hub: HubOnlyFlags, why: WhyFlags, node: NodeName, as_json: AsJson = False
) -> None:
    """Drain a node; it returns only by `release`."""
    raise click.exceptions.Exit(_send_command(hub, _of(node, "quarantine"), why, as_json))


@command
def release_command(
    hub: HubOnlyFlags,
    why: WhyFlags,
    node: NodeName,
    force: Annotated[
        bool, option("--force", help="Return the node without any verification.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Return a node to service if fresh data shows it healthy.

    --force also works while the hub cannot write its journal; its log then says who did it.
    """
    verb = "force_release" if force else "release"
    raise click.exceptions.Exit(_send_command(hub, _of(node, verb), why, as_json))


@command
def approve_command(
    hub: HubOnlyFlags,
    why: WhyFlags,
    node: NodeName,
    plan: Annotated[
        str | None,
        option(
            "--plan",
            metavar="DIGEST",
            help="Digest of the plan, as `accelwatch remedy plan NODE` shows it; required.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Approve the plan for a node, as `plan` showed it."""
    if plan is None:
        raise UsageError(f"--plan DIGEST is required: accelwatch remedy plan {node} shows it")
    raise click.exceptions.Exit(_send_command(hub, _of(node, "approve"), why, as_json, plan=plan))


@command
def deny_command(
    hub: HubOnlyFlags, why: WhyFlags, node: NodeName, lasts: Lasts = None, as_json: AsJson = False
) -> None:
    """Reject the plan for a node, for a while."""
    more = {} if lasts is None else {"for": lasts}
    raise click.exceptions.Exit(_send_command(hub, _of(node, "deny"), why, as_json, **more))


@command
def hold_command(
    hub: HubOnlyFlags,
    why: WhyFlags,
    node: NodeName,
    lasts: Lasts = None,
    end: Annotated[bool, option("--end", help="Remove the hold.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put a hold on a node: no automatic action."""
    if end and lasts is not None:
        raise UsageError("use either --end or --for, not both")
    more = {} if lasts is None else {"for": lasts}
    raise click.exceptions.Exit(
        _send_command(hub, _of(node, "unhold" if end else "hold"), why, as_json, **more)
    )


@command
def recovered_command(
    hub: HubOnlyFlags, why: WhyFlags, node: NodeName, as_json: AsJson = False
) -> None:
    """Mark a node as repaired: earlier evidence no longer counts."""
    raise click.exceptions.Exit(_send_command(hub, _of(node, "recovered"), why, as_json))


@command
def retry_command(
    hub: HubOnlyFlags, why: WhyFlags, node: NodeName, as_json: AsJson = False
) -> None:
    """Retry a step that failed or whose result is unknown; check the node first."""
    raise click.exceptions.Exit(_send_command(hub, _of(node, "retry"), why, as_json))


@command
def forget_command(
    hub: HubOnlyFlags, why: WhyFlags, node: NodeName, as_json: AsJson = False
) -> None:
    """Forget a node here; the scheduler keeps its state of the node."""
    raise click.exceptions.Exit(_send_command(hub, _of(node, "forget"), why, as_json))


@command
def stop_command(hub: HubOnlyFlags, why: WhyFlags, as_json: AsJson = False) -> None:
    """Emergency stop: start no new remedies, also after a restart of the hub."""
    raise click.exceptions.Exit(_send_command(hub, "/v1/stop", why, as_json))


@command
def start_command(hub: HubOnlyFlags, why: WhyFlags, as_json: AsJson = False) -> None:
    """Resume remedies after `stop`."""
    raise click.exceptions.Exit(_send_command(hub, "/v1/start", why, as_json))


@command
def breaker_command(
    hub: HubOnlyFlags,
    why: WhyFlags,
    verb: Annotated[
        str | None,
        argument(metavar="[reset]", help="Close the breaker; without it, show the state."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show or reset the breaker, which opens on too many faults at once."""
    if verb == "reset":
        raise click.exceptions.Exit(_send_command(hub, "/v1/breaker/reset", why, as_json))
    if verb is not None:
        raise UsageError(f"write `remedy breaker` or `remedy breaker reset`, not {verb!r}")
    page = decoded(fetch_remedies(hub, "/v1/remedies", {}), RemediesPage)
    if not page.acts:
        complain(_NO_ACTIONS)
    shown = {"breaker": page.breaker, "why": page.breaker_why}
    text = f"{shown['breaker']}{shown['why'] and ': '}{printable(shown['why'])}\n".encode()
    write_stdout(msgspec.json.encode(shown) if as_json else text)
    raise click.exceptions.Exit(OK)


def _of(node: str, verb: str) -> str:
    return f"/v1/remedies/{quote(node, safe='')}/{verb}"


def _send_command(hub: HubOnlyFlags, path: str, why: WhyFlags, as_json: bool, **more: str) -> int:
    """Say it to the hub, and print what has come of it. Raises AccelwatchError."""
    if not why.reason:
        raise UsageError("--reason TEXT is required; it is kept in the audit log")
    document = {"reason": why.reason, "by": who(why.by), **more}
    answer = post_command(hub, path, document)
    reply = decoded(answer, Commanded)
    if as_json:
        write_stdout(answer)
    else:
        for note in reply.notes:
            complain(printable(note.text))
        write_stdout(b"" if reply.remedy is None else f"{_line(reply.remedy)}\n".encode())
    return code_of(path.rpartition("/")[2], reply)


def _fleet_status(page: RemediesPage) -> list[str]:
    """What holds for all nodes, and is not as it should be."""
    if not page.acts:
        return [_NO_ACTIONS]
    lines = [*page.problems]
    if page.stopped_by:
        lines.append(f"remedies are stopped by {page.stopped_by}: {page.stopped_why}")
    if page.breaker != "closed":
        lines.append(f"the breaker is {page.breaker.replace('_', ' ')}: {page.breaker_why}")
    if page.frozen:
        lines.append(f"no new remedies are started: {page.frozen}")
    if page.approval_needed:
        lines.append(f"rules act only with a person's approval: {page.approval_needed}")
    lines += [f"{veto.node} is on hold: {veto.by}: {veto.reason}" for veto in page.vetoes]
    return [printable(line) for line in lines]


def _line(row: RemedyDocument) -> str:
    cells = [row.node, row.stage.replace("_", " "), f"since {row.since.partition('.')[0]}"]
    cells += filter(None, (row.rule, row.incident))
    waits = row.trouble or row.doing or row.blocked_by
    if waits:
        cells.append(f"({waits})")
    return printable("  ".join(cells))


def _plan(plan: Plan) -> list[str]:
    from accelwatch.alerting.rules.document import how_sure

    head = f"{plan.node} is {plan.stage.replace('_', ' ')}"
    lines = [f"{head}: {plan.text}" if plan.text else head]
    if plan.digest:
        lines.append(f"plan {plan.digest} of rule {plan.rule} for {plan.incident}")
        if plan.confidence:
            lines.append(f"mode {plan.mode}, {how_sure(plan.confidence, plan.act_on)}")
    for number, step in enumerate(plan.steps, 1):
        lines.append(f"{number}. {step.text}")
        lines += [f"   held back: {denial.text}" for denial in step.in_the_way]
    lines += [f"tested: {result_text(result)}" for result in plan.results]
    lines += [f"scheduler: {text}" for text in plan.preview]
    if plan.price is not None:
        lines.append(
            f"expected: saves {plan.price.saved:.1f} GPU-hours, costs {plan.price.lost:.1f}"
        )
    if plan.record:
        lines.append(f"record: {plan.record}")
    if plan.as_of is not None:
        lines.append(f"as of {datetime.fromtimestamp(plan.as_of, UTC):%Y-%m-%d %H:%M:%S} UTC")
    return lines
