"""`accelwatch why`: one sentence on what is wrong, what it rests on, and what to do."""

from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from accelwatch.base.durations import deadline
from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.hub_requests import HubFlags, reached
from accelwatch.cli.options import command, shared_option
from accelwatch.cli.output import write_stdout
from accelwatch.cli.parameters import argument, option
from accelwatch.cli.replay_file import replayed

if TYPE_CHECKING:
    from accelwatch.fleet.picture.why.answer import Answer
    from accelwatch.schema.snapshot import Snapshot

_WIDTH = 100


@command
def why_command(
    hub: HubFlags,
    what: Annotated[
        str | None,
        argument(
            metavar="[WHAT]",
            help="A device, a node, a job (4718, job:4718) or a user; default: the worst problem.",
        ),
    ] = None,
    as_json: Annotated[bool, option("--json", help="As JSON.")] = False,
    replay: Annotated[str | None, shared_option("replay")] = None,
    timeout: Annotated[
        str,
        option(
            metavar="DURATION",
            help="Deadline of the reading where there is neither hub nor agent.",
        ),
    ] = "5s",
) -> None:
    """Say what is wrong with a device, node, job or user, the evidence, and what to do.

    Asks the hub of this machine, else its agent; without either, it reads the devices here.
    """
    from accelwatch.fleet.hub_client.why import fetch_explanation
    from accelwatch.fleet.picture.why.lines import lines_of

    if what is not None and not what.strip():
        raise UsageError("WHAT is empty; name a device, a node, a job or a user, or leave it out")
    what = what or ""
    if replay is not None and hub != HubFlags():
        raise UsageError("--replay asks no hub or agent; leave out --hub and --agent")
    explanation = (
        None
        if replay is not None
        else reached(hub, lambda session: fetch_explanation(session, what))
    )
    if explanation is None:
        timeout_s = deadline(timeout)
        snapshot = _read(timeout_s) if replay is None else replayed(replay, timeout_s)
        explanation = _of_machine(snapshot, what)
    text = "".join(f"{line}\n" for line in lines_of(explanation, _WIDTH)).encode()
    write_stdout(msgspec.json.encode(explanation) + b"\n" if as_json else text)
    raise click.exceptions.Exit(OK)


def _read(timeout_s: float) -> "Snapshot":
    from accelwatch.node.sampler.protocol.settings import CollectSettings
    from accelwatch.node.snapshots import read_once
    from accelwatch.schema.snapshot import NO_ACCELERATORS

    return read_once(CollectSettings(one_shot=True, timeout_s=timeout_s, without=NO_ACCELERATORS))


def _of_machine(snapshot: "Snapshot", what: str) -> "Answer":
    from accelwatch.fleet.picture.why.answer import answer
    from accelwatch.fleet.picture.why.observed_state import observed_machine
    from accelwatch.fleet.picture.why.subject import subject_of

    observed = observed_machine(snapshot)
    return answer(observed, subject_of(observed, what))
