"""Why a request has no answer, or was not sent. Texts have no URL, no header and no body in them."""

from accelwatch.base.errors import AccelwatchError


class NoAnswerError(AccelwatchError):
    """No answer, no TLS, or one that is too long to be read.

    `sent` is True where the request may have had its effect, or may have it yet.
    """

    def __init__(self, text: str, *, sent: bool) -> None:
        super().__init__(text)
        self.sent = sent


class WithdrawnError(AccelwatchError):
    """A write was not sent, because its permission was withdrawn; the text says why."""


def never_withdrawn() -> str:
    """Of a permission that nobody withdraws."""
    return ""
