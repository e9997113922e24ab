"""Flags of several commands: what is printed, and how the dashboard looks."""

from typing import Annotated

from accelwatch.cli.options import shared_option
from accelwatch.cli.parameters import option

Json = Annotated[bool, shared_option("json")]
By = Annotated[
    str | None,
    option(
        "--by",
        metavar="NAME",
        help="One row per group: rack, partition, job, user or a label.",
        completion="groupings",
    ),
]
Once = Annotated[bool, shared_option("once")]
Color = Annotated[str, shared_option("color")]
Theme = Annotated[
    str | None,
    option(
        "--theme",
        metavar="NAME",
        help="Colours of the dashboard; the key T switches them.",
        completion="themes",
    ),
]
Ascii = Annotated[bool, option("--ascii", help="Draw with ASCII only.")]
