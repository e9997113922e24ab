"""Who gets an answer: passwords, tokens, client certificates, and what is said to the others."""

import asyncio
import base64
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from accelwatch.agent import passwords
from accelwatch.agent.authentication import Verdict, judge
from accelwatch.agent.passwords import Busy, PasswordChecker
from accelwatch.agent.watch import Watch
from accelwatch.agent.web_config import Protection, load_protection
from accelwatch.errors import ConfigError

Serve = Callable[..., Any]
HASH = bcrypt.hashpw(b"correct horse", bcrypt.gensalt(4)).decode()
TOKEN = "0123456789abcdef0123456789abcdef"


def basic(user: str, password: str) -> dict[str, str]:
    text = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {text}"}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


RIGHT = basic("prometheus", "correct horse")
WRONG = [
    {},
    basic("prometheus", "wrong"),
    basic("prometheus", ""),
    basic("prometheus", "x" * 100),
    basic("prometheus", "correct horse\0"),
    basic("nobody", "correct horse"),
    basic("", ""),
    {"Authorization": "Basic"},
    {"Authorization": "Basic !!!!"},
    {"Authorization": "Basic " + base64.b64encode(b"\xff\xfe:x").decode()},
    {"Authorization": "Digest x"},
    bearer(TOKEN[:-1]),
    bearer(TOKEN + "x"),
    bearer(""),
]


@pytest.mark.parametrize("path", ["/metrics", "/v1/snapshot", "/v1/stream", "/", "/nothing"])
def test_without_credentials_nothing_is_shown(serve: Serve, path: str) -> None:
    answer = serve(Protection(users={"prometheus": HASH}, tokens=(TOKEN,))).get(path)
    assert (answer.status, answer.text) == (401, "credentials are needed\n")
    assert answer.headers["WWW-Authenticate"] == (
        'Basic realm="accelwatch", charset="UTF-8", Bearer realm="accelwatch"'
    )


def test_probes_need_none(serve: Serve) -> None:
    served = serve(Protection(users={"prometheus": HASH}))
    assert served.get("/-/healthy").status == 200
    assert served.get("/-/ready").status == 200


def test_right_and_wrong_credentials(serve: Serve) -> None:
    served = serve(Protection(users={"prometheus": HASH}, tokens=("x" * 20, TOKEN)))
    assert served.get(headers=RIGHT).status == 200
    assert served.get(headers=bearer(TOKEN)).status == 200
    assert [served.get(headers=headers).status for headers in WRONG] == [401] * len(WRONG)
    assert served.get(headers=RIGHT).status == 200


def test_a_password_is_not_a_token_and_the_other_way_round(serve: Serve) -> None:
    served = serve(Protection(users={"prometheus": HASH}))
    assert served.get(headers=bearer(TOKEN)).status == 401
    served = serve(Protection(tokens=(TOKEN,)))
    assert served.get(headers=RIGHT).status == 401


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    checked: list[bytes] = []
    real = bcrypt.checkpw

    def checkpw(password: bytes, hashed: bytes) -> bool:
        checked.append(hashed)
        return real(password, hashed)

    monkeypatch.setattr(bcrypt, "checkpw", checkpw)
    return checked


def test_a_verified_password_is_not_hashed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = _counting(monkeypatch)
    users = {"prometheus": HASH}

    async def scenario() -> None:
        checker = PasswordChecker()
        for _ in range(3):
            assert await checker.check(users, "prometheus", "correct horse")
        assert len(checked) == 1
        for _ in range(2):
            assert not await checker.check(users, "prometheus", "wrong")
            assert not await checker.check(users, "nobody", "correct horse")
        assert len(checked) == 5
        assert {hashed[4:6] for hashed in checked} == {b"04"}
        assert not await checker.check({}, "prometheus", "correct horse")
        changed = {"prometheus": HASH[:-1] + ("a" if HASH[-1] != "a" else "b")}
        assert not await checker.check(changed, "prometheus", "correct horse")
        checker.close()

    asyncio.run(scenario())


def test_waiting_checks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_THREADS", 0)

    async def scenario() -> None:
        checker = PasswordChecker()
        waiting = [
            asyncio.ensure_future(checker.check({"a": HASH}, "a", str(number)))
            for number in range(passwords._WAITING)
        ]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await checker.check({"a": HASH}, "a", "one more")
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        checker.close()

    asyncio.run(scenario())


def test_names_in_a_certificate_are_judged() -> None:
    protection = Protection(allowed_sans=frozenset({"prometheus.example.org"}))
    right = {"subjectAltName": (("DNS", "prometheus.example.org"),)}
    wrong = {"subjectAltName": (("DNS", "other.example.org"),)}

    async def verdict(certificate: object) -> Verdict:
        return await judge(protection, PasswordChecker(), "", certificate)

    assert asyncio.run(verdict(right)) is Verdict.ADMIT
    assert asyncio.run(verdict(wrong)) is Verdict.FORBID


@pytest.fixture
def tls(authority: Any) -> Callable[..., Path]:
    """Writes a web configuration with TLS."""
    authority.issue("server")

    def write(*lines: str) -> Path:
        path: Path = authority.folder / "web.yml"
        text = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
        path.write_text(text + "\n".join(lines) + "\n")
        return path

    return write


def test_tls_with_password(serve: Serve, authority: Any, tls: Callable[..., Path]) -> None:
    path = tls(
        f"basic_auth_users: {{prometheus: {HASH}}}",
        "http_server_config:",
        "  headers: {Strict-Transport-Security: max-age=9, X-Frame-Options: SAMEORIGIN}",
    )
    served = serve(load_protection(path))
    answer = served.get(headers=RIGHT, tls=authority.client())
    assert answer.status == 200
    assert answer.headers["Strict-Transport-Security"] == "max-age=9"
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert served.get(tls=authority.client()).status == 401
    with pytest.raises((ConnectionError, OSError)):
        served.get(headers=RIGHT)


def test_old_tls_is_refused(serve: Serve, authority: Any, tls: Callable[..., Path]) -> None:
    served = serve(load_protection(tls("  min_version: TLS13")))
    old = authority.client()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        served.get(tls=old)
    assert served.get(tls=authority.client()).status == 200


def test_client_certificates(
    serve: Serve, authority: Any, tls: Callable[..., Path], tmp_path_factory: Any
) -> None:
    path = tls(
        "  client_auth_type: RequireAndVerifyClientCert",
        "  client_ca_file: ca.crt",
        "  client_allowed_sans: [prometheus.example.org]",
    )
    protection = load_protection(path)
    assert protection.authenticates
    served = serve(protection)
    admitted = authority.client(authority.issue("prometheus", "prometheus.example.org"))
    other = authority.client(authority.issue("other", "other.example.org"))
    stranger = type(authority)(tmp_path_factory.mktemp("stranger"))
    forged = authority.client(stranger.issue("prometheus", "prometheus.example.org"))
    assert served.get(tls=admitted).status == 200
    assert served.get(tls=other).status == 403
    for client in (authority.client(), forged):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            served.get(tls=client)
    assert served.get(tls=admitted).status == 200


def test_the_unix_socket_is_guarded_by_its_mode(serve: Serve, tmp_path: Path) -> None:
    import socket
    import stat

    path = tmp_path / "agent.sock"
    serve(Protection(users={"prometheus": HASH}), path=path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(path))
        client.sendall(b"GET /-/ready HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.0\r\n\r\n")
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
    assert answer.count(b"200 OK") == 2
    assert b"accel_device_up{" in answer


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
        "F:4: tls_server_config.min_version: 'tls12' is out of place; expected one of TLS10, TLS11,"
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
        "F:1: basic_auth_users: the key 'a' is no word or given twice",
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
    said = str(caught.value)
    if "did you mean X?" in expected:
        said, expected = said.partition("; ")[0], expected.partition("; ")[0]
    assert said == expected
    assert "secret" not in said


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


def test_changes_are_taken_without_dropping_connections(
    serve: Serve, authority: Any, tls: Callable[..., Path]
) -> None:
    import http.client

    path = tls(f"basic_auth_users: {{prometheus: {HASH}}}")
    served = serve(load_protection(path))
    outcomes: list[bool] = []

    async def watch() -> Watch:
        def apply(found: Protection) -> None:
            served.server.protection = found

        return Watch(
            path,
            served.server.protection,
            apply=apply,
            outcome=outcomes.append,
            every_s=0.02,
        )

    watcher = served.run(watch())
    watcher.start()
    before = http.client.HTTPSConnection(
        "127.0.0.1", served.port, context=authority.client(), timeout=10
    )
    before.request("GET", "/metrics", headers=RIGHT)
    assert before.getresponse().read()
    first = before.sock.getpeercert(binary_form=True)

    authority.issue("server")  # certificate and key are two writes: one look may fall between them
    _until(lambda: _certificate(served, authority) != first)
    path.write_text(path.read_text().replace("prometheus:", "another:"))
    _until(lambda: served.get(headers=RIGHT, tls=authority.client()).status == 401)
    assert (
        served.get(headers=basic("another", "correct horse"), tls=authority.client()).status == 200
    )

    before.request("GET", "/metrics", headers=basic("another", "correct horse"))
    assert before.getresponse().status == 200
    before.close()

    path.write_text("tls_server_config: {cert: x}")
    _until(lambda: outcomes[-1:] == [False])
    assert (
        served.get(headers=basic("another", "correct horse"), tls=authority.client()).status == 200
    )

    # A file that is named before it is there is waited for.
    path.write_text("bearer_token_file: token")
    (path.parent / "token").write_text(TOKEN)
    _until(lambda: outcomes[-1:] == [True])
    assert served.get(headers=bearer(TOKEN)).status == 200
    served.run(_stop(watcher))


async def _stop(watcher: Watch) -> None:
    watcher.stop()


def _certificate(served: Any, authority: Any) -> bytes | None:
    with served.connect() as raw:
        try:
            with authority.client().wrap_socket(raw, server_hostname="127.0.0.1") as secured:
                certificate: bytes | None = secured.getpeercert(binary_form=True)
                return certificate
        except (ssl.SSLError, ConnectionError):
            return None


def _until(condition: Callable[[], bool]) -> None:
    import threading

    pause = threading.Event()
    for _ in range(500):
        if condition():
            return
        pause.wait(0.02)
    raise AssertionError("it did not come true")
