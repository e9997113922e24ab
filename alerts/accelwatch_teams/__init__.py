"""Microsoft Teams by a webhook of Power Automate Workflows, with an Adaptive Card.

Limits: learn.microsoft.com, "Create incoming webhooks with Workflows": 28 KB a message, four requests a
second. A workflow's message cannot be edited, so each notice is a card of its own with the same key.
"""

import msgspec

from accelwatch.alerting.delivery.formatting.text import body, fitted, headline
from accelwatch.alerting.delivery.transport.post import Poster, PostError, failed, outcome_of
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome, SinkContext
from accelwatch.plugins.options import check_url, checked

# Of the whole body in UTF-8; 28 KB is read as the smaller of its two meanings.
MOST_BYTES = 28_000
_MOST_LINE = 1500
_COLOURS = {Severity.INFO: "Accent", Severity.WARNING: "Warning", Severity.CRITICAL: "Attention"}
_MARKUP = "\\`*_[]()~#>!|-"


class TeamsOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the sink."""

    url: str


class TeamsSink:
    """Posts a card for each notice."""

    edits = False
    pace_s = 0.25
    repeat_s = None

    def __init__(self, context: SinkContext) -> None:
        """Raises ConfigError."""
        self._url = check_url(checked(context.options, TeamsOptions).url)
        self._poster = Poster(context.timeout_s)

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        """Send a notice; the workflow answers 202."""
        headers = {"Content-Type": "application/json"}
        try:
            return outcome_of(await self._poster.post(self._url, card(notice), headers), reference)
        except PostError as error:
            return failed(error, reference)

    async def close(self) -> None:
        """Give the connections back."""
        await self._poster.close()


def card(notice: Notice) -> bytes:
    """The body of a request; the least useful lines go until it is small enough."""
    lines = body(notice).split("\n")
    while True:
        encoded = msgspec.json.encode(_message(notice, lines))
        if len(encoded) <= MOST_BYTES or not lines:
            return encoded
        lines.pop()


def _message(notice: Notice, lines: list[str]) -> dict[str, object]:
    colour = "Good" if notice.kind is NoticeKind.CLOSED else _COLOURS[notice.severity]
    title = _block(fitted(headline(notice), _MOST_LINE), weight="Bolder", color=colour)
    content: dict[str, object] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": [title, *(_block(fitted(line, _MOST_LINE), spacing="Small") for line in lines)],
    }
    decide = [(f"Decide on {fitted(approval.node, 60)}", approval.link) for approval in notice.asks]
    links = [*decide, ("Runbook", notice.runbook), ("Incident", notice.link)]
    actions = [
        {"type": "Action.OpenUrl", "title": name, "url": url}
        for name, url in links
        if url.startswith(("https://", "http://")) and len(url) <= _MOST_LINE
    ]
    if actions:
        content["actions"] = actions
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": content,
    }
    return {"type": "message", "attachments": [attachment]}


def _block(text: str, **how: str) -> dict[str, object]:
    return {"type": "TextBlock", "text": _plain(text), "wrap": True, **how}


def _plain(text: str) -> str:
    """Text of which nothing is Markdown, of which cards know a part, nor an HTML entity."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{char}" if char in _MARKUP else char for char in safe)
