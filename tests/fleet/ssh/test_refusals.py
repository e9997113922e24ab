"""Why ssh could not reach a host, from the words of real versions of it."""

import pytest

from accelwatch.fleet.follow.failures.faults import Reason
from accelwatch.fleet.ssh.refusals import TooMany, lost, refusal


@pytest.mark.parametrize(
    ("errors", "reason", "words"),
    [
        (
            "root@n01: Permission denied (publickey,password).",
            Reason.CREDENTIALS,
            "accepts none of your keys",
        ),
        (
            "Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures\n"
            "Disconnected from 10.0.0.1 port 22",
            Reason.CREDENTIALS,
            "Too many authentication failures",
        ),
        (
            "No ED25519 host key is known for n01 and you have requested strict checking.\n"
            "Host key verification failed.",
            Reason.HOST_KEY,
            "its host key is not known",
        ),
        (
            "@@@@@@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n@@@@@@@@@@\n"
            "Host key verification failed.",
            Reason.HOST_KEY,
            "differs from the one in known_hosts",
        ),
        (
            "ssh: Could not resolve hostname n01: Name or service not known",
            Reason.DNS,
            "does not resolve",
        ),
        (
            "ssh: connect to host n01 port 22: Connection refused",
            Reason.CONNECT,
            "Connection refused",
        ),
        ("ssh: connect to host n01 port 22: No route to host", Reason.CONNECT, "No route"),
        (
            "ssh: connect to host n01 port 22: Connection timed out",
            Reason.TIMEOUT,
            "no answer in time",
        ),
        (
            "Connection timed out during banner exchange\nConnection to UNKNOWN port 65535 timed out",
            Reason.TIMEOUT,
            "no answer in time",
        ),
        (
            "kex_exchange_identification: Connection closed by remote host",
            Reason.CLOSED,
            "before a login",
        ),
        (
            "Can't open user config file /nowhere: No such file or directory",
            Reason.CREDENTIALS,
            "configuration (Can't open user config file /nowhere",
        ),
        (
            "channel 0: open failed: administratively prohibited: open failed\n"
            "stdio forwarding failed\n"
            "kex_exchange_identification: Connection closed by remote host",
            Reason.CONNECT,
            "its jump host forbids forwarding: allow it there (AllowTcpForwarding, PermitOpen)",
        ),
        (
            "channel 0: open failed: connect failed: Connection refused\n"
            "stdio forwarding failed\n"
            "kex_exchange_identification: Connection closed by remote host",
            Reason.CONNECT,
            "its jump host cannot connect to it (channel 0: open failed: connect failed: Connection",
        ),
        (
            "channel 0: open failed: connect failed: Connection timed out\n"
            "stdio forwarding failed\nConnection closed by UNKNOWN port 65535",
            Reason.TIMEOUT,
            "its jump host has no answer from it in time",
        ),
        ("something that is new", Reason.CLOSED, "ssh cannot log in (something that is new)"),
        ("", Reason.CLOSED, "ssh ended with status 255"),
    ],
)
def test_the_words_of_ssh(errors: str, reason: Reason, words: str) -> None:
    fault = refusal(255, errors)
    assert fault.reason is reason
    assert words in str(fault)


def test_who_must_be_helped_by_a_person_is_not_tried_again_soon() -> None:
    assert refusal(255, "me@n01: Permission denied (publickey).").retry_after_s == 60
    assert refusal(255, "Host key verification failed.").retry_after_s == 60
    assert refusal(255, "connect to host n01 port 22: Connection refused").retry_after_s is None


def test_what_the_login_shell_says_instead_is_shown_harmless_and_short() -> None:
    fault = refusal(1, "", b"\x1b]0;pwned\x07This account is currently not available.\n")
    assert fault.reason is Reason.STATUS
    assert "\x1b" not in str(fault)
    assert "This account is currently not available." in str(fault)
    assert "status 127" in str(refusal(127, "x" * 5000))
    assert len(str(refusal(127, "x" * 5000))) < 400
    assert "it says nothing" in str(refusal(1, ""))


def test_a_connection_that_was_well() -> None:
    assert str(lost("")) == "the connection was lost"
    assert str(lost("client_loop: send disconnect: Broken pipe\r\n")).endswith("Broken pipe)")


@pytest.mark.parametrize(
    ("errors", "printed", "words"),
    [
        ("", b"", "; it says nothing"),
        ("no home\n", b"", " (no home)"),
        ("", b"This account is not available.\n", " (This account is not available.)"),
        (
            "cannot rehash\n",
            b"Hello\nyour account has expired\n",
            " (cannot rehash) (your account has expired)",
        ),
    ],
)
def test_a_shell_that_lets_nobody_in_says_why_on_either_way(
    errors: str, printed: bytes, words: str
) -> None:
    fault = refusal(1, errors, printed)
    assert fault.reason is Reason.STATUS
    assert str(fault) == f"the login shell there ends with status 1 instead of serving{words}"


@pytest.mark.parametrize(
    ("errors", "dropped"),
    [
        ("kex_exchange_identification: Connection closed by remote host", True),
        ("kex_exchange_identification: read: Connection reset by peer", True),
        ("Connection closed by 127.0.0.1 port 22", True),
        ("something that is new", False),
        ("channel 0: open failed: connect failed: x\nConnection closed by UNKNOWN port 1", False),
    ],
)
def test_an_sshd_that_has_too_many_connections_is_distinguished(errors: str, dropped: bool) -> None:
    assert isinstance(refusal(255, errors), TooMany) is dropped
