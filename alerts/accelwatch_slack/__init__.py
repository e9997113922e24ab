"""Slack: an incoming webhook, or a bot's token, with which a message is edited in place.

Limits and errors: docs.slack.dev, "chat.postMessage", "chat.update", "Rate limits", "Block Kit".
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from accelwatch.alerting.delivery.transport.post import (
    Poster,
    PostError,
    ReceiverResponse,
    failed,
    outcome_of,
)
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome, SinkContext, Status
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import ConfigError
from accelwatch.plugins.options import check_url, checked
from accelwatch_slack.blocks import message, question

_API = "https://slack.com/api"
# Errors that Slack, or a repair of the channel or the token, may overcome.
_LATER = frozenset(
    {"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable"}
    | {"request_timeout", "invalid_auth", "not_authed", "account_inactive", "token_revoked"}
    | {"token_expired", "missing_scope", "channel_not_found", "not_in_channel", "is_archived"}
)
_RINGS = frozenset({NoticeKind.APPROVAL, NoticeKind.CALLED})
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})


class SlackOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the sink: `url` of an incoming webhook, or `token` and `channel`."""

    url: str = ""
    token: str = ""
    channel: Annotated[str, Meta(max_length=100)] = ""
    api: str = _API


class _Reply(msgspec.Struct, frozen=True):
    """What a method of the Web API answers, as far as it matters here."""

    ok: bool = False
    error: str = ""
    ts: str = ""
    channel: str = ""


class SlackSink:
    """Posts to one channel; with a token an incident has one message, which is edited."""

    # One message a second and channel.
    pace_s = 1.0
    repeat_s = None

    def __init__(self, context: SinkContext) -> None:
        """Raises ConfigError."""
        options = checked(context.options, SlackOptions)
        if bool(options.url) == bool(options.token):
            raise ConfigError("expected url, of an incoming webhook, or token and channel")
        if options.token and not options.channel:
            raise ConfigError("channel: a token needs one, such as C0123456789")
        if not (options.token.isascii() and options.token.isprintable()):
            raise ConfigError("token: expected one line of ASCII")
        self._url = check_url(options.url) if options.url else ""
        self._api = check_url(options.api, key="api").rstrip("/")
        self._token, self._channel = options.token, options.channel
        self.edits = bool(options.token)
        self._poster = Poster(context.timeout_s)

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        """Post a notice, or edit the message that is known by `channel:ts`."""
        try:
            if self._url:
                body = msgspec.json.encode(message(notice))
                headers = {"Content-Type": "application/json; charset=utf-8"}
                return outcome_of(await self._poster.post(self._url, body, headers))
            return await self._by_token(notice, reference)
        except PostError as error:
            return failed(error, reference)

    async def _by_token(self, notice: Notice, reference: str) -> Outcome:
        channel, _, ts = reference.rpartition(":")
        if not ts:
            return await self._call("chat.postMessage", message(notice), reference)
        if notice.kind is NoticeKind.REMINDER:
            # An edit notifies nobody: a reminder is an answer to the message.
            answer = {**message(notice), "thread_ts": ts, "reply_broadcast": True}
            outcome = await self._call("chat.postMessage", answer, reference)
            return msgspec.structs.replace(outcome, reference=reference)
        edited = {**message(notice), "channel": channel, "ts": ts}
        outcome = await self._call("chat.update", edited, reference)
        if outcome.message.rpartition(" ")[2] in _GONE:
            return await self._call("chat.postMessage", message(notice), "")
        if notice.kind in _RINGS and outcome.status is Status.DELIVERED:
            # The message that is edited later has all of it; the answer to it is what rings.
            answer = {**question(notice), "thread_ts": ts, "reply_broadcast": True}
            reply = await self._call("chat.postMessage", answer, reference)
            return msgspec.structs.replace(reply, reference=outcome.reference)
        return outcome

    async def _call(self, method: str, payload: dict[str, object], reference: str) -> Outcome:
        body = msgspec.json.encode({"channel": self._channel, **payload})
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Authorization": f"Bearer {self._token}",
        }
        answer = await self._poster.post(f"{self._api}/{method}", body, headers, reads_body=True)
        return _web_api_outcome(answer, reference)

    async def close(self) -> None:
        """Give the connections back."""
        await self._poster.close()


def _web_api_outcome(answer: ReceiverResponse, reference: str) -> Outcome:
    """The Web API answers 200 to what it refuses as well; its body says so."""
    if not answer.well:
        return outcome_of(answer, reference)
    try:
        reply = msgspec.json.decode(answer.body, type=_Reply)
    except DECODE_ERRORS:
        return Outcome(
            status=Status.RETRY, reference=reference, message="the answer is not Slack's"
        )
    if reply.ok:
        made = f"{reply.channel}:{reply.ts}" if reply.ts and reply.channel else reference
        return Outcome(status=Status.DELIVERED, reference=made)
    error = "".join(char for char in reply.error[:60] if char.isalnum() or char == "_")
    return Outcome(
        status=Status.RETRY if error in _LATER else Status.REFUSED,
        reference=reference,
        retry_after_s=answer.retry_after_s,
        message=f"answered {error}",
    )
