"""An answer as lines of text."""

import textwrap

from accelwatch.base.untrusted_text import printable
from accelwatch.fleet.picture.why.answer import Answer

# Columns before evidence and remedy.
_NAMES = 14


def lines_of(answer: Answer, width: int, more: str = "accelwatch incidents {}") -> list[str]:
    """The sentence, then evidence, what to do and what the hub does; each at most `width` columns.

    `more` is where more of an incident is found by its id.
    """
    rows = [("evidence", text) for text in answer.evidence]
    rows += [("what to do", answer.remedy), ("the hub", answer.step), ("differs", answer.differs)]
    rows.append(("record", answer.record))
    rows.append(("detector", answer.finding))
    rows += [("missing", text) for text in answer.missing]
    if answer.incident:
        rows.append(("more", more.format(answer.incident)))
    lines = textwrap.wrap(printable(answer.sentence), width)
    for name, text in rows:
        if text:
            head = f"  {name + ':':<{_NAMES - 2}}"
            lines += textwrap.wrap(
                f"{head}{printable(text)}", width, subsequent_indent=" " * _NAMES
            )
    return lines
