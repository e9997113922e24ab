"""Flags of several commands: what is printed, and how the dashboard looks."""

from typing import Annotated

from accelwatch.cli.flag import Flag
from accelwatch.cli.options import flag

Json = Annotated[bool, flag("json")]
By = Annotated[
    str | None,
    Flag(
        ("--by",),
        metavar="NAME",
        help="One row per group: rack, partition, job, user or a label.",
        completion="groupings",
    ),
]
Once = Annotated[bool, flag("once")]
Color = Annotated[str, flag("color")]
Theme = Annotated[
    str | None,
    Flag(("--theme",), help="Colours of the dashboard; T goes through them.", completion="themes"),
]
Ascii = Annotated[bool, Flag(("--ascii",), help="Draw with ASCII only.")]
