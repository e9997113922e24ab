"""E-mail by SMTP (RFC 5321): plain text; what belongs to one incident is one thread.

The standard library's client blocks, so it works on a thread; its socket has a deadline for each wait
and the whole has one of its own.
"""

import re
import smtplib
import socket
import ssl
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from accelwatch.alerting.delivery.transport.blocking import Blocking, StillBusyError
from accelwatch.alerting.delivery.transport.post import tls_context
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome, SinkContext, Status
from accelwatch.base.errors import ConfigError
from accelwatch.plugins.options import checked
from accelwatch_email.letter import letter, reference_of

_USER = "{user}"
_MAILBOX = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_MOST_USERS = 50
_NO_RECIPIENT = (
    "to: is missing: expected to, a list of addresses, or to_users, as in {user}@example.org"
)
# Replies from here on are permanent (RFC 5321, 4.2.1).
_REFUSED_FROM = 500
# Permanent to SMTP, but over once the account is repaired (RFC 4954, 6).
_LATER = frozenset({530, 534, 535, 538})


class EmailOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the sink."""

    host: Annotated[str, Meta(min_length=1, max_length=253)]
    port: Annotated[int, Meta(ge=1, le=65535)] = 587
    # `always` speaks TLS from the first byte, as port 465 does; `starttls` is not optional.
    tls: Literal["starttls", "always", "never"] = "starttls"
    sender: Annotated[str, Meta(max_length=254)]
    # Who gets every letter; may be left out where `to_users` is given.
    to: Annotated[tuple[str, ...], Meta(min_length=1, max_length=50)] = ()
    # An address with `{user}` in it: the users of an incident's jobs get the letter, too.
    to_users: Annotated[str, Meta(max_length=254)] = ""
    username: str = ""
    password: str = ""
    ca_file: str = ""


class EmailSink:
    """Sends one letter for each notice."""

    edits = False
    pace_s = 0.0
    repeat_s = None

    def __init__(self, context: SinkContext) -> None:
        """Raises ConfigError."""
        options = checked(context.options, EmailOptions)
        if not options.to and not options.to_users:
            raise ConfigError(_NO_RECIPIENT)
        for key, address in (("sender", options.sender), *(("to", to) for to in options.to)):
            check_address(key, address)
        if options.to_users:
            if options.to_users.count(_USER) != 1:
                raise ConfigError("to_users: expected one {user}, as in {user}@example.org")
            check_address("to_users", options.to_users.replace(_USER, "user"))
        if bool(options.username) != bool(options.password):
            raise ConfigError("username and password_file are both needed")
        if options.password and options.tls == "never":
            raise ConfigError("tls: a password does not go in the clear; write starttls or always")
        context_ = tls_context(options.ca_file)
        self._tls = ssl.create_default_context() if isinstance(context_, bool) else context_
        self._options = options
        self._timeout_s = context.timeout_s
        self._clock = context.clock
        self._blocking: Blocking[Outcome] = Blocking("smtp")

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        """Send a notice; the reference is the Message-ID of the incident's first letter."""
        options = self._options
        to = recipients(notice, options)
        if not to:
            return _without_recipient(notice, reference)
        made = letter(notice, options.sender, to, reference, self._clock.wall())
        first = reference or reference_of(made)
        encoded = made.as_bytes()
        try:
            return await self._blocking.run(lambda: self._send(to, encoded, first), self._timeout_s)
        except StillBusyError:
            return _failed(0, "the letter before still hangs", reference)
        except TimeoutError:
            return _failed(0, f"no answer within {self._timeout_s:g} s", reference)

    def _send(self, to: tuple[str, ...], made: bytes, reference: str) -> Outcome:
        try:
            with self._connected() as server:
                server.sendmail(self._options.sender, list(to), made)
        except smtplib.SMTPRecipientsRefused as error:
            code = min((code for code, _ in error.recipients.values()), default=0)
            return _failed(code, f"no recipient was accepted, answered {code}", reference)
        except smtplib.SMTPResponseException as error:
            return _failed(error.smtp_code, f"answered {error.smtp_code}", reference)
        except smtplib.SMTPNotSupportedError:
            return _failed(0, "the server has no STARTTLS or no AUTH", reference)
        except ssl.SSLError as error:
            return _failed(0, f"TLS failed: {error.reason}", reference)
        except (OSError, smtplib.SMTPException, ValueError) as error:
            text = getattr(error, "strerror", None) or type(error).__name__
            return _failed(0, f"cannot be sent: {text}", reference)
        return Outcome(status=Status.DELIVERED, reference=reference)

    def _connected(self) -> smtplib.SMTP:
        options = self._options
        wait_s = self._timeout_s
        server: smtplib.SMTP
        if options.tls == "always":
            server = smtplib.SMTP_SSL(
                options.host,
                options.port,
                timeout=wait_s,
                context=self._tls,
                local_hostname=_name(),
            )
        else:
            server = smtplib.SMTP(
                options.host, options.port, timeout=wait_s, local_hostname=_name()
            )
        try:
            if options.tls == "starttls":
                server.starttls(context=self._tls)
            if options.username:
                server.login(options.username, options.password)
        except BaseException:
            server.close()
            raise
        return server

    async def close(self) -> None:
        """Nothing stays open between letters."""


def recipients(notice: Notice, options: EmailOptions) -> tuple[str, ...]:
    """Whom a letter goes to: always `to`, and with `to_users` the users whose jobs are concerned.

    Nobody where there is no `to` and the incident concerns no job.

    The name of a user comes from a node or a scheduler, so one that could be anything but the name of a
    mailbox is left out.
    """
    users: tuple[str, ...] = ()
    if options.to_users:
        mailboxes = [user for user in notice.users if _MAILBOX.fullmatch(user)]
        users = tuple(options.to_users.replace(_USER, user) for user in mailboxes[:_MOST_USERS])
    return tuple(dict.fromkeys((*options.to, *users)))


def check_address(key: str, address: str) -> None:
    """Raise ConfigError for what is no address, or more than one."""
    name, _, host = address.rpartition("@")
    odd = any(char.isspace() or char in "<>,;:\"'()[]\\" for char in address)
    if not name or not host or odd or not address.isascii() or not address.isprintable():
        raise ConfigError(f"{key}: expected an address such as gpus@example.org")


def _name() -> str:
    """What we call ourselves; a look-up of the full name may hang."""
    name = socket.gethostname()
    return name if name.isascii() and name.replace("-", "a").replace(".", "a").isalnum() else "host"


def _without_recipient(notice: Notice, reference: str) -> Outcome:
    """The sink writes to users only, and the notice has none: there is nothing to send."""
    if notice.kind is NoticeKind.TEST:
        text = "a test concerns no job, so to_users has no recipient; add to: to test it"
        return Outcome(status=Status.REFUSED, message=text, reference=reference)
    return Outcome(status=Status.NO_RECIPIENT, message="it concerns no user", reference=reference)


def _failed(code: int, message: str, reference: str) -> Outcome:
    refused = code >= _REFUSED_FROM and code not in _LATER
    status = Status.REFUSED if refused else Status.RETRY
    return Outcome(status=status, message=message, reference=reference)
