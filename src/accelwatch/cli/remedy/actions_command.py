"""`accelwatch remedy actions`: look over what a hub would act by, and try one step without doing it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option

if TYPE_CHECKING:
    from accelwatch.action.contract import Action
    from accelwatch.action.intent import Intent, IntentKind
    from accelwatch.remediation.settings import RemedySettings

actions = Group("actions", help="Check the configured actions; nothing is changed.")

_File = Annotated[
    Path, option("-c", "--config.file", metavar="FILE", help="The hub's configuration.")
]
# A token that no engine has: marks of engines are not held to be newer than this look.
_NEWEST = 1 << 53
_WITHIN_S = 600.0


@subcommand(actions, "check")
def _check(file: _File) -> None:
    """Load the configured actions and report what would prevent them from acting."""
    import asyncio

    from accelwatch.action import contract
    from accelwatch.base.clock import SystemClock
    from accelwatch.base.untrusted_text import printable
    from accelwatch.remediation.actions import actions_of, complaints_of

    failed = False
    for name, action in actions_of(_settings(file), SystemClock()).items():
        complaints = complaints_of(action)
        for text in complaints:
            complain(f"{file}: {name}: {printable(text)}")
        if not complaints:
            refused = asyncio.run(_refused(name, action))
            supported = ", ".join(sorted(action.intents - refused.keys()))
            write_stdout(f"{name}: ok; supports {supported}\n".encode())
            if isinstance(action, contract.ShowsRights) and action.rights:
                write_stdout(f"{name}: {printable(action.rights)}\n".encode())
            for kind, why in refused.items():
                write_stdout(f"{name}: does not support {kind}: {printable(why)}\n".encode())
        failed = failed or bool(complaints)
    raise click.exceptions.Exit(FAILED if failed else OK)


async def _refused(name: str, action: "Action") -> "dict[IntentKind, str]":
    """What an action lacks an option for, or its scheduler would refuse, and why."""
    from accelwatch.action.contract import (
        ActionUnavailableError,
        FindsLimits,
        HasComplaints,
        NeedsOptions,
    )
    from accelwatch.base.untrusted_text import printable

    lacking: dict[IntentKind, str] = {}
    if isinstance(action, NeedsOptions):
        lacking = {kind: why for kind in sorted(action.intents) if (why := action.needs(kind))}
    if not isinstance(action, FindsLimits):
        return lacking
    try:
        await action.observe_all()
    except ActionUnavailableError as error:
        # A scheduler may answer, and refuse to show anything to us.
        if not action.impossible:
            complain(f"{name}: its scheduler does not answer, so its limits are unknown: {error}")
            return lacking
    finally:
        await action.close()
    # Some are known after a look only, such as that the second of a pair does not answer.
    for text in action.complaints() if isinstance(action, HasComplaints) else ():
        complain(f"{name}: {printable(text)}")
    return {**action.impossible, **lacking}


@subcommand(actions, "try")
def _try(
    name: Annotated[str, argument(metavar="ACTION", help="Its name in the configuration.")],
    kind: Annotated[str, argument(metavar="INTENT", help="Intent, such as quarantine.")],
    node: Annotated[str, argument(metavar="NODE", help="The scheduler's name of the node.")],
    file: _File,
    job: Annotated[str, option("--job", metavar="ID", help="The job, for move_job.")] = "",
    spare: Annotated[
        str, option("--spare", metavar="NODE", help="The spare node, for move_job.")
    ] = "",
) -> None:
    """Show the node's state for an intent, the next step, and that step in a dry run."""
    import asyncio
    import time

    from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
    from accelwatch.base.clock import SystemClock
    from accelwatch.remediation.actions import actions_of

    available = actions_of(_settings(file), SystemClock())
    if name not in available:
        raise UsageError(
            f"no action {name!r} in {file}; configured: {', '.join(available) or 'none'}"
        )
    if kind not in list(IntentKind):
        raise UsageError(f"{kind!r} is not an operation; write one of {', '.join(IntentKind)}")
    intent = Intent(
        kind=IntentKind(kind),
        mark=OwnerAnnotation("try", _NEWEST),
        node=node,
        reason="a try by hand",
        job=JobKey(cluster="", id=job, submitted=0.0) if job else None,
        bad_nodes=(node,),
        spare=spare,
        deadline=time.time() + _WITHIN_S,
    )
    raise click.exceptions.Exit(asyncio.run(_tried(available[name], intent)))


async def _tried(action: "Action", intent: "Intent") -> int:
    import msgspec

    from accelwatch.action.contract import ActionUnavailableError
    from accelwatch.action.step import ReportStatus, Step
    from accelwatch.remediation.execution.operations.ledger import rehearsal

    try:
        observed = await action.observe(intent)
        proposal = action.propose(intent, observed)
        _show("observed", observed)
        _show(type(proposal).__name__.lower(), proposal)
        if not isinstance(proposal, Step):
            return OK
        report = await action.perform(proposal, rehearsal(intent))
        _show("report", report)
        return OK if report.status is ReportStatus.DONE else FAILED
    except ActionUnavailableError as error:
        complain(f"the action cannot read the node: {error}")
        return FAILED
    except msgspec.MsgspecError as error:
        complain(f"the action's answer cannot be shown: {error}")
        return FAILED
    finally:
        await action.close()


def _show(what: str, value: object) -> None:
    import msgspec

    from accelwatch.base.untrusted_text import escaped

    text = msgspec.json.encode(value).decode()
    write_stdout(f"{what}: {escaped(text)}\n".encode())


def _settings(file: Path) -> "RemedySettings":
    """The section of a hub's configuration. Raises ConfigError."""
    from accelwatch.fleet.hub.model import load_settings

    return load_settings(file).remedy
