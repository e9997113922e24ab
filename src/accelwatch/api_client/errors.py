"""Why a request has no answer. Texts have no URL, no header and no body in them."""

from accelwatch.base.errors import AccelwatchError


class NoAnswerError(AccelwatchError):
    """No answer, no TLS, or one that is too long to be read.

    `sent` is True where the request may have had its effect, or may have it yet.
    """

    def __init__(self, text: str, *, sent: bool) -> None:
        super().__init__(text)
        self.sent = sent


def never_withdrawn() -> str:
    """Of a permission that nobody withdraws."""
    return ""
