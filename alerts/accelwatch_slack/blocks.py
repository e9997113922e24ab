"""A notice as a message of Slack's Block Kit, within its limits and without markup.

Slack counts characters; here bytes of UTF-8 are counted, of which there are never fewer.
"""

from accelwatch.alerting.delivery.formatting.text import body, fitted, headline
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice, NoticeKind

MOST_BLOCKS = 50
# Of the text of a section block.
MOST_TEXT = 3000
# An escape is five times as long as what it stands for.
_MOST_LINE = MOST_TEXT // 5
_COLOURS = {Severity.INFO: "#5b8def", Severity.WARNING: "#e0a100", Severity.CRITICAL: "#d6293e"}
_OVER = "#2e9e5b"
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def message(notice: Notice) -> dict[str, object]:
    """`text` for notifications, and the blocks in an attachment, whose edge has a colour."""
    title = _escaped(headline(notice))
    blocks = [_plain(title), *(_plain(section) for section in _sections(body(notice)))]
    colour = _OVER if notice.kind is NoticeKind.CLOSED else _COLOURS[notice.severity]
    return {
        "text": title,
        "attachments": [{"color": colour, "blocks": [*blocks[: MOST_BLOCKS - 1], *_links(notice)]}],
        "unfurl_links": False,
        "unfurl_media": False,
    }


def question(notice: Notice) -> dict[str, object]:
    """A short answer to the message, for people who have to decide; the rest stands there."""
    title = _escaped(headline(notice))
    why = notice.done[-1:] if notice.kind is NoticeKind.CALLED else ()
    sections = [section for line in why for section in _sections(line)]
    return {
        "text": title,
        "blocks": [_plain(title), *map(_plain, sections), *_links(notice)],
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _sections(text: str) -> list[str]:
    """Lines gathered to texts that fit a section."""
    sections: list[str] = []
    for line in map(_escaped, text.split("\n")):
        if sections and len(sections[-1].encode()) + 1 + len(line.encode()) <= MOST_TEXT:
            sections[-1] += f"\n{line}"
        else:
            sections.append(line)
    return sections


def _links(notice: Notice) -> list[dict[str, object]]:
    links = [
        f"<{_escaped(url).replace('|', '%7C')}|{name}>"
        for name, url in (
            *((f"Decide on {_name(approval.node)}", approval.link) for approval in notice.asks),
            ("Incident", notice.link),
            ("Runbook", notice.runbook),
        )
        if url.startswith(("https://", "http://")) and len(url.encode()) <= _MOST_LINE
    ]
    if not links:
        return []
    return [{"type": "section", "text": {"type": "mrkdwn", "text": " · ".join(links)}}]


def _name(node: str) -> str:
    """A node's name within a link, whose words end at a bar."""
    return _escaped(fitted(node, 60)).replace("|", " ")


def _plain(text: str) -> dict[str, object]:
    return {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}


def _escaped(line: str) -> str:
    """A line in which nothing is a mention or a link (docs.slack.dev, "Escaping text")."""
    return fitted(line, _MOST_LINE).translate(_ESCAPES)
