"""Web configuration files: what is taken, and the exact words of every refusal."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.web.protection.web_config import Protection, load_protection
from agent.credentials import HASH, TOKEN

BAD = [
    (
        "tls_server_config: {cert_file: server.crt}",
        "F:1: tls_server_config: cert_file and key_file are both needed",
    ),
    (
        "tls_server_config:\n  cert_file: server.crt\n  key_fil: server.key",
        "F:3: tls_server_config.key_fil: unknown key; did you mean key_file?",
    ),
    (
        "tls_server_config: {cert_file: no.crt, key_file: server.key}",
        "F: D/no.crt: cannot be read: No such file or directory",
    ),
    (
        "T\n  client_auth_type: RequireAnyClientCert",
        "F:2: tls_server_config: client_auth_type: RequireAnyClientCert verifies nothing and is not"
        " supported; expected VerifyClientCertIfGiven or RequireAndVerifyClientCert",
    ),
    (
        "T\n  client_auth_type: RequireAndVerifyClientCert",
        "F:2: tls_server_config: client_auth_type RequireAndVerifyClientCert needs client_ca_file",
    ),
    (
        "T\n  client_ca_file: ca.crt",
        "F:2: tls_server_config: client_ca_file and client_allowed_sans need client_auth_type",
    ),
    (
        "T\n  min_version: TLS10",
        "F:2: tls_server_config: min_version: TLS10 is not offered any more; expected TLS12 or TLS13",
    ),
    (
        "T\n  min_version: TLS13\n  max_version: TLS12",
        "F:2: tls_server_config: min_version is above max_version",
    ),
    (
        "T\n  min_version: tls12",
        "F:4: tls_server_config.min_version: 'tls12' is not valid here; expected one of TLS10, TLS11,"
        " TLS12, TLS13",
    ),
    (
        "T\n  cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]",
        "F:2: tls_server_config: cipher_suites: TLS_RSA_WITH_RC4_128_SHA is not offered;"
        " did you mean X?",
    ),
    (
        "T\n  curve_preferences: [X25519]",
        "F:4: tls_server_config.curve_preferences: cannot be set here; OpenSSL's own order is used",
    ),
    (
        "tls_server_config: {key: secret}",
        "F:1: tls_server_config.key: inline keys are not taken; use key_file",
    ),
    (
        "basic_auth_users:\n  a: secret",
        "F:1: basic_auth_users.a: not a bcrypt hash; make one with: htpasswd -nBC 10 <user>",
    ),
    (
        "basic_auth_users:\n  a: $2b$31$" + "a" * 53,
        "F:1: basic_auth_users.a: bcrypt cost 31 is out of range; expected 4 to 15",
    ),
    (
        "basic_auth_users: {a: x, a: y}",
        "F:1: basic_auth_users.a: given twice, first on line 1",
    ),
    (
        "bearer_token_file: short",
        "D/short: a bearer token is one line of at least 16 printable characters",
    ),
    (
        "http_server_config: {headers: {X-Powered-By: me}}",
        "F:1: http_server_config.headers.X-Powered-By: unknown key; expected one of"
        " Content-Security-Policy, Strict-Transport-Security, X-Content-Type-Options, X-Frame-Options,"
        " X-XSS-Protection",
    ),
    *(
        (
            f"T\n{text}",
            "F:4: roles: is empty; every authenticated user could do everything: name a user under"
            " approve, act or admin, or leave the key out",
        )
        for text in ("roles:", "roles: {}", "roles: null", "roles: []")
    ),
    (
        "basic_auth_users: {}",
        "F:1: basic_auth_users: is empty; no client would have to authenticate: name a user, or leave "
        "the key out",
    ),
    *(
        (
            f"{key}: {value}",
            f"F:1: {key}: is empty; no client would have to authenticate: name a file, or "
            "leave the key out",
        )
        for key in ("bearer_token_file", "bearer_token_files")
        for value in ("", "[]", '""')
    ),
    (
        "tls_server_config:",
        "F:1: tls_server_config: is empty; connections would not be encrypted: write cert_file and"
        " key_file, or leave the key out",
    ),
    ("rate_limit: {}", "F:1: rate_limit: is not supported; see web.max_requests in agent.yaml"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_web_configuration_says_where_and_what(
    authority: Any, tmp_path: Path, text: str, message: str
) -> None:
    authority.issue("server")
    (tmp_path / "short").write_text("abc\n")
    path = tmp_path / "web.yml"
    path.write_text(
        text.replace("T\n", "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n")
    )
    with pytest.raises(ConfigError) as caught:
        load_protection(path)
    expected = message.replace("F:", f"{path}:").replace("D/", f"{tmp_path}/")
    error_text = str(caught.value)
    if "did you mean X?" in expected:
        error_text, expected = error_text.partition("; ")[0], expected.partition("; ")[0]
    assert error_text == expected
    assert "secret" not in error_text


def test_a_key_that_does_not_fit_is_refused(authority: Any, tls: Callable[..., Path]) -> None:
    path = tls()
    _, key = authority.issue("other")
    key.rename(authority.folder / "server.key")
    with pytest.raises(ConfigError, match=r"web.yml:2: tls_server_config: .* do not load"):
        load_protection(path)


def test_tokens_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "one").write_text(TOKEN + "\n")
    (tmp_path / "two").write_text("x" * 16)
    path = tmp_path / "web.yml"
    path.write_text("bearer_token_file: one\nbearer_token_files: [two]\n")
    assert load_protection(path).tokens == (TOKEN, "x" * 16)


def test_everything_that_the_file_says_reaches_the_server(
    authority: Any, tls: Callable[..., Path]
) -> None:
    path = tls(
        "  client_ca_file: ca.crt\n"
        "  client_auth_type: RequireAndVerifyClientCert\n"
        "  client_allowed_sans: [prometheus]\n"
        f"basic_auth_users: {{ann: '{HASH}'}}\n"
        "http_server_config: {headers: {X-Frame-Options: DENY}}\n"
    )
    found = load_protection(path)
    assert found.users == {"ann": HASH}
    assert found.tls is not None
    assert (found.client_certificates, found.allowed_sans) == (True, frozenset({"prometheus"}))
    assert found.headers == {"X-Frame-Options": "DENY"}
    assert (found.configured, found.authenticates) == (True, True)
    assert list(found.files) == [
        str(path),
        *(str(authority.folder / name) for name in ("server.crt", "server.key", "ca.crt")),
    ]
    assert found.files[str(path)] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.files[str(path.with_name("ca.crt"))] != found.files[str(path)]


def test_a_certificate_that_may_be_given_turns_nobody_away(tls: Callable[..., Path]) -> None:
    found = load_protection(
        tls("  client_ca_file: ca.crt\n  client_auth_type: VerifyClientCertIfGiven\n")
    )
    assert (found.client_certificates, found.authenticates) == (False, False)


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "web.yml"
    path.write_text("")
    found = load_protection(path)
    assert found == Protection(files={str(path): hashlib.sha256(b"").hexdigest()})
    assert (found.configured, found.authenticates) == (False, False)
    assert (found.tls, found.headers, found.allowed_sans) == (None, {}, frozenset())


def hashed_at(cost: int) -> str:
    return f"$2b${cost:02}$" + "a" * 53


@pytest.mark.parametrize(
    ("users", "complaint"),
    [
        ({"a": hashed_at(4)}, ""),
        ({"a": hashed_at(15)}, ""),
        ({"a": hashed_at(3)}, "a: bcrypt cost 3 is out of range; expected 4 to 15"),
        ({"a": hashed_at(16)}, "a: bcrypt cost 16 is out of range; expected 4 to 15"),
        ({"a:b": hashed_at(10)}, "a:b: a user name has no colon"),
        ({"": hashed_at(10)}, ": a user name has no colon"),
    ],
)
def test_which_users_are_taken(tmp_path: Path, users: dict[str, str], complaint: str) -> None:
    path = tmp_path / "web.yml"
    path.write_text(json.dumps({"basic_auth_users": users}))
    if not complaint:
        assert load_protection(path).users == users
        return
    with pytest.raises(ConfigError) as caught:
        load_protection(path)
    assert str(caught.value) == f"{path}:1: basic_auth_users.{complaint}"


@pytest.mark.parametrize(
    ("content", "taken"),
    [
        (b"x" * 16, True),
        (b"x" * 15, False),
        (b"x" * 16 + b"\n\n", True),
        (b"x" * 8 + b" " + b"x" * 8, False),
        (b"x" * 16 + b"\xc3\xa9", False),
    ],
)
def test_which_tokens_are_taken(tmp_path: Path, content: bytes, taken: bool) -> None:
    (tmp_path / "token").write_bytes(content)
    path = tmp_path / "web.yml"
    path.write_text("bearer_token_file: token\n")
    if taken:
        assert load_protection(path).tokens == (content.strip().decode(),)
        return
    with pytest.raises(ConfigError, match="a bearer token is one line of at least 16 printable"):
        load_protection(path)
