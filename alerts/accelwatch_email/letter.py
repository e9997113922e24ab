"""A notice as a letter (RFC 5322); no text of a node or job can become a header."""

import hashlib
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from accelwatch.alerting.delivery.formatting.text import body, fitted, headline
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice
from accelwatch.base.untrusted_text import printable

# Encoded words of a subject that is longer are cut by servers (RFC 5322: 998 a line).
_MOST_SUBJECT = 700
_MOST_BODY = 32_000


def letter(
    notice: Notice, sender: str, to: tuple[str, ...], reference: str, now: float
) -> EmailMessage:
    """The letter; those of one incident have the first one's id as `In-Reply-To`."""
    made = EmailMessage(policy=SMTP)
    made["From"] = sender
    made["To"] = ", ".join(to)
    made["Subject"] = fitted(printable(f"[accelwatch] {headline(notice)}"), _MOST_SUBJECT)
    made["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
    made["Message-ID"] = _id(notice, sender)
    if reference:
        made["In-Reply-To"] = reference
        made["References"] = reference
    # RFC 3834: nobody's holiday answers this.
    made["Auto-Submitted"] = "auto-generated"
    if notice.severity is Severity.CRITICAL:
        made["Importance"] = "high"
    text = "\n".join(
        printable(line) for line in f"{headline(notice)}\n\n{body(notice)}".split("\n")
    )
    made.set_content(fitted(text, _MOST_BODY) + "\n", cte="base64")
    return made


def reference_of(made: EmailMessage) -> str:
    """By what a letter is known."""
    return str(made["Message-ID"])


def _id(notice: Notice, sender: str) -> str:
    """The same for a letter that is sent again, so that a mail reader shows it once."""
    text = f"{notice.key}\n{notice.sequence}\n{notice.since!r}\n{notice.kind}"
    return f"<{hashlib.sha256(text.encode()).hexdigest()[:32]}@{sender.rpartition('@')[2]}>"
