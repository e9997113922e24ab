"""Why ssh could not reach a host, in a clear sentence, from how it ended and what it said. Pure.

What ssh says comes from this machine's ssh and, in parts, from the host: it is shown short and harmless.
"""

import re
from collections.abc import Callable

from accelwatch.base.untrusted_text import printable
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault

# How ssh ends for what is wrong with itself or the connection; anything else is the remote shell's.
_OF_SSH = 255
_SHOWN = 200
_NOISE = ("Warning: Permanently added", "@@@@", "Killed by signal", "Pseudo-terminal")

# After a refusal that only a person can mend: hosts shut out who fails to log in again and again.
_AGAIN_S = 60.0
_REPAIRED_BY_HAND = (Reason.CREDENTIALS, Reason.HOST_KEY)

_DROPPED = r"(?:Connection|kex_exchange_identification).{0,80}(?:closed|reset)"


class TooMany(TargetFault):
    """An sshd dropped the connection before a login, as it does where too many are being opened."""


_PATTERNS: tuple[tuple[str, Reason, str], ...] = (
    # What a jump host says comes first: behind it ssh only knows that the connection was closed.
    (
        r"open failed: administratively prohibited",
        Reason.CONNECT,
        "its jump host forbids forwarding: allow it there (AllowTcpForwarding, PermitOpen), or use "
        "another way in (ProxyCommand)",
    ),
    (
        r"open failed: .*timed out",
        Reason.TIMEOUT,
        "its jump host has no answer from it in time",
    ),
    (
        r"open failed: ",
        Reason.CONNECT,
        "its jump host cannot connect to it",
    ),
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        Reason.HOST_KEY,
        "its host key differs from the one in known_hosts; if the host was reinstalled, "
        "ssh-keygen -R it and log in once by hand",
    ),
    (
        r"Host key verification failed|No .{1,40} host key is known",
        Reason.HOST_KEY,
        "its host key is not known; log in once by hand, or put it into known_hosts",
    ),
    (
        r"Permission denied \(|Too many authentication failures|No more authentication methods",
        Reason.CREDENTIALS,
        "permission denied: it accepts none of your keys; add one with ssh-add or "
        "IdentityFile (passwords are not used)",
    ),
    (
        r"Could not resolve hostname|Name or service not known",
        Reason.DNS,
        "the name does not resolve",
    ),
    (
        r"Can't open user config file|Bad configuration option|terminating, \d+ bad configuration",
        Reason.CREDENTIALS,
        "ssh does not take its configuration",
    ),
    (
        r"timed out during banner exchange|Connection timed out|Operation timed out",
        Reason.TIMEOUT,
        "no answer in time",
    ),
    (
        r"Connection refused|No route to host|Network is unreachable|connect to host",
        Reason.CONNECT,
        "cannot connect",
    ),
    (
        r"not responding",
        Reason.CLOSED,
        "the connection was lost: the host does not answer any more",
    ),
    (
        _DROPPED,
        Reason.CLOSED,
        "it closes the connection before a login; does its sshd allow so many?",
    ),
)


def refusal(status: int, stderr: str, printed: bytes = b"") -> TargetFault:
    """Why a connection ended before the shell there answered.

    `status` is that of ssh, `stderr` its standard error; `printed` what came on standard output.
    """
    text = " ".join(stderr.split())
    if status == _OF_SSH or status < 0:
        for pattern, reason, sentence in _PATTERNS:
            if re.search(pattern, text):
                kind = TooMany if pattern is _DROPPED else TargetFault
                return kind(
                    reason,
                    f"{sentence}{quoted(stderr, _telling(pattern))}",
                    retry_after_s=_AGAIN_S if reason in _REPAIRED_BY_HAND else None,
                )
        what = quoted(stderr) or f"; ssh ended with status {status}"
        return TargetFault(Reason.CLOSED, f"ssh cannot log in{what}")
    # A shell that lets nobody in says why on either, beside what a profile complains of.
    what = quoted(stderr) + quoted(printed.decode("utf-8", "replace")) or "; it says nothing"
    return TargetFault(
        Reason.STATUS, f"the login shell there ends with status {status} instead of serving{what}"
    )


def lost(stderr: str) -> TargetFault:
    """Why a connection ended that had been well."""
    return TargetFault(Reason.CLOSED, f"the connection was lost{quoted(stderr)}")


def _telling(pattern: str) -> Callable[[str], bool]:
    return lambda line: re.search(pattern, line) is not None


def quoted(text: str, telling: Callable[[str], bool] = bool) -> str:
    """The line that says most, in brackets and harmless; the last one where none does."""
    lines = [line.strip() for line in text.replace("\r", "\n").split("\n") if line.strip()]
    lines = [line for line in lines if not line.startswith(_NOISE)]
    if not lines:
        return ""
    line = next(filter(telling, reversed(lines)), lines[-1])
    return f" ({printable(line)[:_SHOWN]})"
