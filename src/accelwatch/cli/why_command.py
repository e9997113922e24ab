"""`accelwatch why`: one sentence on what is wrong, what it rests on, and what to do."""

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from accelwatch.cli.hub_asking import HubFlags, reached
from accelwatch.cli.options import command
from accelwatch.cli.output import write_stdout
from accelwatch.durations import deadline
from accelwatch.exit_codes import OK

if TYPE_CHECKING:
    from accelwatch.fleet.picture.why.answer import Answer

_WIDTH = 100


@command
def why_command(
    hub: HubFlags,
    what: Annotated[
        str,
        typer.Argument(
            metavar="[WHAT]",
            help="A device, a node, a job (4718, job:4718) or a user; without it what is worst.",
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="For the reading, where nobody is asked.")
    ] = "5s",
) -> None:
    """Say in one sentence what is wrong with a device, a node or a job, on what that rests, what to do.

    The hub of this machine is asked, else its agent; without either the devices are read here.
    """
    from accelwatch.fleet.hub_client.why import ask_why
    from accelwatch.fleet.picture.why.lines import lines_of

    said = reached(hub, lambda session: ask_why(session, what))
    if said is None:
        said = _of_this_machine(what, deadline(timeout))
    text = "".join(f"{line}\n" for line in lines_of(said, _WIDTH)).encode()
    write_stdout(msgspec.json.encode(said) + b"\n" if as_json else text)
    raise typer.Exit(OK)


def _of_this_machine(what: str, timeout_s: float) -> "Answer":
    from accelwatch.fleet.picture.why.answer import answer
    from accelwatch.fleet.picture.why.scene import scene_of_machine
    from accelwatch.fleet.picture.why.subject import subject_of
    from accelwatch.sampler.settings import NO_ACCELERATORS, CollectSettings
    from accelwatch.snapshots import read_once

    settings = CollectSettings(one_shot=True, timeout_s=timeout_s, without=NO_ACCELERATORS)
    scene = scene_of_machine(read_once(settings))
    return answer(scene, subject_of(scene, what))
