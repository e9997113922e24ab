"""`accelwatch why`: one sentence on what is wrong, what it rests on, and what to do."""

import textwrap
from typing import Annotated

import msgspec
import typer

from accelwatch.cli.hub_asking import HubFlags, reached
from accelwatch.cli.options import command
from accelwatch.cli.output import write_stdout
from accelwatch.durations import deadline
from accelwatch.exit_codes import OK
from accelwatch.fleet.picture.why.answer import Answer, answer
from accelwatch.fleet.picture.why.scene import scene_of_machine
from accelwatch.fleet.picture.why.subject import subject_of
from accelwatch.untrusted_text import printable

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

    said = reached(hub, lambda session: ask_why(session, what))
    if said is None:
        said = _of_this_machine(what, deadline(timeout))
    write_stdout(msgspec.json.encode(said) + b"\n" if as_json else lines_of(said).encode())
    raise typer.Exit(OK)


def _of_this_machine(what: str, timeout_s: float) -> Answer:
    from accelwatch.sampler.settings import NO_ACCELERATORS, CollectSettings
    from accelwatch.snapshots import read_once

    settings = CollectSettings(one_shot=True, timeout_s=timeout_s, without=NO_ACCELERATORS)
    scene = scene_of_machine(read_once(settings))
    return answer(scene, subject_of(scene, what))


def lines_of(said: Answer) -> str:
    """The sentence, then what it rests on and what to do, a line each."""
    told = [("evidence", text) for text in said.evidence]
    told += [("what to do", said.remedy), ("the hub", said.step)]
    if said.incident:
        told.append(("more", f"accelwatch incidents {said.incident}"))
    body = [
        _wrapped(f"  {name + ':':<12} {printable(text)}", indent=15) for name, text in told if text
    ]
    return "".join(f"{line}\n" for line in [_wrapped(printable(said.sentence)), *body])


def _wrapped(text: str, indent: int = 0) -> str:
    lines = textwrap.wrap(
        text, _WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines)
