"""E-mail over a real SMTP server on loopback."""

import asyncio
import email
import email.policy
import socket
import ssl
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from accelwatch.alerting.sink import NoticeKind, Outcome, Status
from support.incidents.notices import LONG, NOTICE, notice
from support.incidents.sinks import delivered, sink
from support.servers.certificate_authority import Authority
from support.servers.ports import free_port

MAIL: dict[str, Any] = {
    "host": "127.0.0.1",
    "sender": "gpus@example.org",
    "to": ["ops@example.org"],
}


class Mailbox:
    """Takes letters, or refuses them."""

    def __init__(self) -> None:
        self.letters: list[EmailMessage] = []
        self.envelopes: list[Any] = []
        self.reply = "250 taken"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.envelopes.append(envelope)
        made = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(made, EmailMessage)
        self.letters.append(made)
        return self.reply


def login(server: Any, session: Any, envelope: Any, mechanism: Any, data: Any) -> AuthResult:
    well = isinstance(data, LoginPassword) and data.password == b"hush-hush"
    return AuthResult(success=well, handled=False)


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


def _started(mailbox: Mailbox, **how: Any) -> Iterator[int]:
    port = free_port()
    controller = Controller(mailbox, hostname="127.0.0.1", port=port, ready_timeout=60.0, **how)
    controller.start()
    try:
        yield port
    finally:
        controller.stop()


@pytest.fixture
def plain(mailbox: Mailbox) -> Iterator[int]:
    yield from _started(mailbox)


@pytest.fixture
def ca(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def protected(mailbox: Mailbox, ca: Authority) -> Iterator[int]:
    """With STARTTLS and a login that is needed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*ca.issue("mail"))
    yield from _started(
        mailbox,
        tls_context=context,
        require_starttls=True,
        auth_required=True,
        authenticator=login,
    )


def sent(port: int, *notices: Any, timeout_s: float = 60.0, **options: Any) -> list[Outcome]:
    made = sink("email", timeout_s=timeout_s, **{**MAIL, "port": port, "tls": "never", **options})
    return asyncio.run(delivered(made, *notices))


def test_a_letter(plain: int, mailbox: Mailbox) -> None:
    (outcome,) = sent(plain)
    assert outcome.status is Status.DELIVERED
    (letter,) = mailbox.letters
    assert letter["Subject"].startswith("[accelwatch] CRITICAL GPU has fallen off the bus: n12")
    assert letter["Auto-Submitted"] == "auto-generated"
    text = letter.get_content()
    for part in ("since 2026-11-22 03:14:07 UTC", "- Xid 79", "job 4711 of ana", "reboot the node"):
        assert part in text


def test_letters_of_one_incident_are_one_thread(plain: int, mailbox: Mailbox) -> None:
    closed = notice(sequence=2, kind=NoticeKind.CLOSED, closed=NOTICE.time)
    sent(plain, NOTICE, closed)
    first, second = mailbox.letters
    assert second["In-Reply-To"] == second["References"] == first["Message-ID"]
    assert second["Message-ID"] != first["Message-ID"]


def test_one_that_is_sent_again_has_the_same_id(plain: int, mailbox: Mailbox) -> None:
    sent(plain)
    sent(plain)
    first, again = mailbox.letters
    assert first["Message-ID"] == again["Message-ID"]


def test_no_name_becomes_a_header(plain: int, mailbox: Mailbox) -> None:
    evil = "n1\r\nBcc: boss@example.org\r\n\r\n.\r\nMAIL FROM:<x@y>\u2028\x00\x0b"
    (outcome,) = sent(plain, notice(where=evil, key=evil, title=evil, what_to_do=evil))
    assert outcome.status is Status.DELIVERED
    (letter,) = mailbox.letters
    (envelope,) = mailbox.envelopes
    assert letter["Bcc"] is None
    assert (
        letter.keys()
        == [
            *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "Importance"),
            *("Content-Type", "Content-Transfer-Encoding", "MIME-Version", "X-Peer", "X-MailFrom"),
            "X-RcptTo",
        ][: len(letter.keys())]
    )
    assert envelope.rcpt_tos == ["ops@example.org"]


def test_the_users_of_a_job_are_written_to_as_well(plain: int, mailbox: Mailbox) -> None:
    owners: dict[str, Any] = {"to_users": "{user}@hpc.example.org"}
    sent(plain, notice(users=("ana", "ben.k")), **owners)
    sent(plain, notice(users=()), **owners)
    sent(plain, notice(users=("ana", "ben.k")))
    assert [one.rcpt_tos for one in mailbox.envelopes] == [
        ["ops@example.org", "ana@hpc.example.org", "ben.k@hpc.example.org"],
        ["ops@example.org"],
        ["ops@example.org"],
    ]
    assert mailbox.letters[0]["To"].endswith("ana@hpc.example.org, ben.k@hpc.example.org")


def test_users_may_be_all_that_are_written_to(plain: int, mailbox: Mailbox) -> None:
    options = {key: value for key, value in MAIL.items() if key != "to"}
    owners = sink(
        "email", **{**options, "port": plain, "tls": "never", "to_users": "{user}@hpc.example.org"}
    )
    found = asyncio.run(
        delivered(
            owners,
            notice(users=("ana",)),
            notice(users=()),
            notice(users=("a b",)),
            notice(users=(), kind=NoticeKind.TEST),
        )
    )
    assert [envelope.rcpt_tos for envelope in mailbox.envelopes] == [["ana@hpc.example.org"]]
    assert [outcome.status for outcome in found] == [
        *(Status.DELIVERED, Status.NO_RECIPIENT, Status.NO_RECIPIENT),
        Status.REFUSED,
    ]
    assert "a test concerns no job" in found[-1].message


@pytest.mark.parametrize(
    "user", ["a@b", "a b", "", "-f", "<x>", "a,b", "a\r\nBcc: c", "é", "x" * 65]
)
def test_a_user_that_is_no_mailbox_is_left_out(plain: int, mailbox: Mailbox, user: str) -> None:
    sent(plain, notice(users=(user, "ana")), to_users="{user}@hpc.example.org")
    (envelope,) = mailbox.envelopes
    assert envelope.rcpt_tos == ["ops@example.org", "ana@hpc.example.org"]


def test_lines_stay_inside_the_limits(plain: int, mailbox: Mailbox) -> None:
    (outcome,) = sent(plain, LONG)
    assert outcome.status is Status.DELIVERED
    lines = mailbox.envelopes[0].content.split(b"\r\n")
    assert max(map(len, lines)) <= 998
    assert len(mailbox.envelopes[0].content) < 64_000
    assert "가" * 100 in mailbox.letters[0]["Subject"]


def test_starttls_and_login(protected: int, mailbox: Mailbox, ca: Authority) -> None:
    login: dict[str, Any] = {"username": "gpus", "password": "hush-hush"}
    (well,) = sent(protected, tls="starttls", ca_file=str(ca.file), **login)
    assert well.status is Status.DELIVERED
    (unknown,) = sent(protected, tls="starttls", **login)
    assert (unknown.status, unknown.message) == (
        Status.RETRY,
        "TLS failed: CERTIFICATE_VERIFY_FAILED",
    )
    (wrong,) = sent(
        protected, tls="starttls", ca_file=str(ca.file), username="gpus", password="wrong"
    )
    assert (wrong.status, wrong.message) == (Status.RETRY, "answered 535")
    assert len(mailbox.letters) == 1


def test_starttls_is_not_optional(plain: int, mailbox: Mailbox) -> None:
    (outcome,) = sent(plain, tls="starttls")
    assert outcome.message == "the server has no STARTTLS or no AUTH"
    assert not mailbox.letters


@pytest.mark.parametrize(
    ("reply", "status"),
    [("451 later", Status.RETRY), ("554 no", Status.REFUSED), ("552 too big", Status.REFUSED)],
)
def test_a_refusal(plain: int, mailbox: Mailbox, reply: str, status: Status) -> None:
    mailbox.reply = reply
    (outcome,) = sent(plain)
    assert (outcome.status, outcome.message) == (status, f"answered {reply[:3]}")


@pytest.fixture
def silent() -> Iterator[int]:
    """A server that accepts and says one byte now and then, and never a line."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection:
                while not ended.wait(0.05):
                    try:
                        connection.sendall(b"2")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        yield int(listening.getsockname()[1])
        ended.set()
        thread.join(10)


def test_one_that_drips_is_left_behind(silent: int) -> None:
    first, second = sent(silent, NOTICE, NOTICE, timeout_s=2.0)
    assert (first.status, first.message) == (Status.RETRY, "no answer within 2 s")
    assert (second.status, second.message) == (Status.RETRY, "the letter before still hangs")
