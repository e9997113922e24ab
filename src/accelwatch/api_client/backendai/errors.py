"""What a manager answers instead of what was requested, and what no answer means for a write.

Texts are the manager's own, made printable and cut; a request, its headers and its URL are never in
them, nor the keys that signed it.
"""

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.untrusted_text import printable

# Of texts of the manager: pydantic repeats what it was sent.
_MAX_MESSAGE = 500
_MAX_TITLE = 100
# Of a proxy that has waited too long for the rest of a request, or says so of what it has passed on.
_TIMED_OUT = 408
# The kind of problem that an error of GraphQL is.
GRAPHQL_ERROR = "graphql"
_PROBLEMS = "https://api.backend.ai/probs/"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What the body of an answer other than 2xx says, as far as it is read."""

    # Word for machines, such as auth-failed, session-already-exists; empty where there was none.
    kind: str = ""
    title: str = ""
    message: str = ""
    # The session that has the name already; empty for every other problem.
    existing_session_id: str = ""
    # Whether a field of GraphQL was started and then failed: a mutation may have had its effect.
    started: bool = False


class BackendAiError(AccelwatchError):
    """The manager did not do what was requested, or it is not known whether it did."""

    def __init__(
        self, text: str, *, status: int, problem: Problem, retry_after_s: float | None = None
    ) -> None:
        """`text` is for people."""
        super().__init__(text)
        # HTTP status; 200 for an error of GraphQL, 0 where there was no answer.
        self.status = status
        self.problem = problem
        self.retry_after_s = retry_after_s


class BackendAiRefusedError(BackendAiError):
    """The manager refused: HTTP 4xx, or an error of GraphQL. Nothing has changed by it.

    But for a mutation whose `problem` says that it was started.
    """


class BackendAiUnavailableError(BackendAiError):
    """No answer, no TLS, an answer that nobody can read, 5xx, or 408.

    `sent` is True where the request may have had its effect, or may have it yet.
    """

    def __init__(
        self,
        text: str,
        *,
        sent: bool,
        status: int = 0,
        problem: Problem | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(
            text, status=status, problem=problem or Problem(), retry_after_s=retry_after_s
        )
        self.sent = sent


class _Existing(msgspec.Struct, frozen=True):
    existing_session_id: str = msgspec.field(name="existingSessionId", default="")


class _Body(msgspec.Struct, frozen=True):
    type: str = ""
    title: str = ""
    msg: str | None = ""
    data: msgspec.Raw = msgspec.Raw()


def problem_in(body: bytes) -> Problem:
    """What a body says; a page of a proxy between us and the manager says nothing."""
    try:
        read = msgspec.json.decode(body, type=_Body)
    except DECODE_ERRORS:
        return Problem()
    return Problem(
        kind=printable(read.type.removeprefix(_PROBLEMS))[:_MAX_TITLE],
        title=printable(read.title)[:_MAX_TITLE],
        message=printable(read.msg or "")[:_MAX_MESSAGE],
        existing_session_id=_existing_session(bytes(read.data)),
    )


def error_of(
    status: int,
    body: bytes,
    *,
    retry_after_s: float | None = None,
    private: bool = False,
    note: str = "",
) -> BackendAiError:
    """What an answer other than 2xx means.

    With `private` the message is left out, since it may repeat what a user has written. `note` says
    what is known of the cause besides.
    """
    problem = problem_in(body)
    if private:
        problem = msgspec.structs.replace(problem, message="")
    text = f"the manager answered {status}"
    if shown := ": ".join(filter(None, (problem.title.rstrip(". "), problem.message))):
        text += f": {shown}"
    if 300 <= status < 400:
        text += "; redirects are not followed"
    if note:
        text += f"; {note}"
    # The manager answers 500 for whatever it has not foreseen, and where an agent did not answer it;
    # proxies have words of their own for a server that was too slow, such as 524.
    if status >= 500 or status == _TIMED_OUT:
        return BackendAiUnavailableError(
            text, sent=True, status=status, problem=problem, retry_after_s=retry_after_s
        )
    return BackendAiRefusedError(text, status=status, problem=problem, retry_after_s=retry_after_s)


def graphql_error(
    messages: tuple[str, ...], *, private: bool = False, started: bool = False
) -> BackendAiRefusedError:
    """What the `errors` of an answer of GraphQL mean; `started` where one of them is of a field."""
    message = "" if private else printable("; ".join(messages))[:_MAX_MESSAGE]
    text = "the manager answered with an error of GraphQL"
    return BackendAiRefusedError(
        f"{text}: {message}" if message else text,
        status=200,
        problem=Problem(kind=GRAPHQL_ERROR, message=message, started=started),
    )


def _existing_session(data: bytes) -> str:
    try:
        session_id = msgspec.json.decode(data, type=_Existing).existing_session_id
    except DECODE_ERRORS:
        return ""
    return printable(session_id)[:_MAX_TITLE]
