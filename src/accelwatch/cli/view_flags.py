"""Flags of several commands: what is printed, and how the dashboard looks."""

from typing import Annotated

import typer

from accelwatch.cli.completion import completer
from accelwatch.cli.options import row

Json = Annotated[bool, row("json")]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="NAME",
        help="A row a group: by rack, partition, job, user or a label.",
        autocompletion=completer("groupings"),
    ),
]
Once = Annotated[bool, row("once")]
Color = Annotated[str, row("color")]
Theme = Annotated[
    str | None,
    typer.Option(
        help="Colours of the dashboard; T goes through them.", autocompletion=completer("themes")
    ),
]
Ascii = Annotated[bool, typer.Option("--ascii", help="Draw with ASCII only.")]
