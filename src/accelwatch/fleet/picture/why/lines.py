"""An answer as lines of text."""

import textwrap

from accelwatch.base.untrusted_text import printable
from accelwatch.fleet.picture.why.answer import Answer

_NAMES = 14
"""Columns before evidence and remedy."""


def lines_of(said: Answer, width: int, more: str = "accelwatch incidents {}") -> list[str]:
    """The sentence, then evidence, what to do and what the hub does; each at most `width` columns.

    `more` is where more of an incident is found by its id.
    """
    told = [("evidence", text) for text in said.evidence]
    told += [("what to do", said.remedy), ("the hub", said.step), ("differs", said.differs)]
    if said.incident:
        told.append(("more", more.format(said.incident)))
    lines = textwrap.wrap(printable(said.sentence), width)
    for name, text in told:
        if text:
            head = f"  {name + ':':<{_NAMES - 2}}"
            lines += textwrap.wrap(
                f"{head}{printable(text)}", width, subsequent_indent=" " * _NAMES
            )
    return lines
