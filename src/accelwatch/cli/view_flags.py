"""Flags that `fleet` and `demo` share: what is printed, and how the dashboard looks."""

from typing import Annotated

import typer

from accelwatch.cli.completion import completer

Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="NAME",
        help="A row a group: by rack, partition, job, user or a label.",
        autocompletion=completer("groupings"),
    ),
]
Once = Annotated[bool, typer.Option("--once", "-1", help="One table, also on a terminal.")]
Color = Annotated[
    str,
    typer.Option(metavar="WHEN", help="auto, always or never.", autocompletion=completer("colors")),
]
Theme = Annotated[
    str | None,
    typer.Option(
        help="Colours of the dashboard; T goes through them.", autocompletion=completer("themes")
    ),
]
Ascii = Annotated[bool, typer.Option("--ascii", help="Draw with ASCII only.")]
