"""What a target is asked with: TLS, tokens, passwords, and that none of it shows."""

import asyncio
import ssl
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.follow import access
from accelwatch.fleet.follow.access import Access, check_access
from accelwatch.fleet.scrape_settings import Authorization, BasicAuth, Scrape, TlsConfig
from accelwatch.fleet.target import targets_of
from accelwatch.web.protection.web_config import load_protection
from support.fleet.hub_peers import agent, hub
from support.servers.certificate_authority import Authority

FAST = Scrape(timeout_s=0.5, max_backoff_s=0.1, interval_s=0.1)


# No server has such a name: an empty label, a label without end, a null byte, half a character.
NO_NAMES = ("a..b", ".x", "x" * 64, "a\0b", "\ud800")


def _protection(folder: Path, text: str) -> Path:
    file = folder / "web.yaml"
    file.write_text(text)
    return file


def test_tls_token_and_client_certificate(tmp_path: Path, authority: Authority) -> None:
    server, client = authority.issue("server", "n1"), authority.issue("client")
    token = tmp_path / "token"
    token.write_text("a-long-enough-token-1234\n")
    web = _protection(
        tmp_path,
        f"tls_server_config:\n  cert_file: {server[0]}\n  key_file: {server[1]}\n"
        f"  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: {authority.file}\n"
        f"bearer_token_file: {token}\n",
    )
    tls = TlsConfig(ca_file=str(authority.file), cert_file=str(client[0]), key_file=str(client[1]))
    good = msgspec.structs.replace(
        FAST,
        timeout_s=5.0,
        scheme="https",
        tls_config=tls,
        authorization=Authorization(credentials_file=str(token)),
    )
    replace = msgspec.structs.replace
    cases = [
        (good, ""),
        (replace(good, authorization=Authorization()), "credentials"),
        (replace(good, tls_config=replace(tls, ca_file=None)), "tls"),
        (replace(good, tls_config=replace(tls, server_name="n2")), "tls"),
        (replace(good, tls_config=replace(tls, server_name="n1")), ""),
        (replace(good, tls_config=replace(tls, cert_file=str(tmp_path / "none"))), "credentials"),
    ]

    async def main() -> None:
        async with agent(protection=load_protection(web)) as one:
            for scrape, reason in cases:
                async with hub(one.address, scrape=scrape) as running:
                    if reason:
                        await running.until(lambda: running.fault(one.address) == reason)  # noqa: B023
                    else:
                        await running.devices(one.address, 8)
            async with hub(one.address, scrape=replace(good, scheme="http")) as running:
                await running.until(lambda: running.fault(one.address) != "")

    asyncio.run(main())


def test_basic_auth_is_sent(tmp_path: Path) -> None:
    import bcrypt

    password = tmp_path / "password"
    password.write_text("secret-word")
    hashed = bcrypt.hashpw(b"secret-word", bcrypt.gensalt(4)).decode()
    web = _protection(tmp_path, f"basic_auth_users:\n  hub: '{hashed}'\n")
    basic = BasicAuth(username="hub", password_file=str(password))
    scrape = msgspec.structs.replace(FAST, timeout_s=5.0, basic_auth=basic)

    async def main() -> None:
        protection = load_protection(web)
        async with agent(protection=protection) as one, hub(one.address, scrape=scrape) as running:
            await running.devices(one.address, 8)

    asyncio.run(main())


@pytest.mark.parametrize(
    "scrape",
    [
        Scrape(basic_auth=BasicAuth(username="a")),
        Scrape(tls_config=TlsConfig(cert_file="x")),
        *(Scrape(tls_config=TlsConfig(server_name=name)) for name in NO_NAMES),
        Scrape(authorization=Authorization(type="Basic")),
        Scrape(authorization=Authorization(type="Bäsic")),
        Scrape(authorization=Authorization(type="To ken")),
        Scrape(
            basic_auth=BasicAuth(username="a", password_file="x"),
            authorization=Authorization(credentials_file="y"),
        ),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(scrape: Scrape) -> None:
    with pytest.raises(ConfigError):
        check_access(scrape)


@pytest.mark.parametrize("name", NO_NAMES)
def test_the_key_of_a_name_that_no_server_has_is_reported(name: str) -> None:
    with pytest.raises(ConfigError, match=r"^s\.tls_config\.server_name: expected the name"):
        check_access(Scrape(tls_config=TlsConfig(server_name=name)), "s")


@pytest.mark.parametrize("name", [None, "", "n1", "n1.example.", "::1", "bücher.example"])
def test_a_name_that_a_server_may_have_is_taken(name: str | None) -> None:
    check_access(Scrape(tls_config=TlsConfig(server_name=name)))


def test_no_secret_is_in_what_a_ticket_shows_of_itself(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("hunter2")
    access = Access(Scrape(authorization=Authorization(credentials_file=str(secret))))
    ticket = asyncio.run(access.ticket())
    assert ticket.headers == {"Authorization": "Bearer hunter2"}
    assert "hunter2" not in f"{ticket!r}{ticket}"


def _contexts(monkeypatch: pytest.MonkeyPatch) -> list[TlsConfig]:
    made: list[TlsConfig] = []
    real = access.client_context

    def noted(tls: TlsConfig) -> ssl.SSLContext:
        made.append(tls)
        return real(tls)

    monkeypatch.setattr(access, "client_context", noted)
    return made


@pytest.mark.parametrize(("scheme", "count"), [("http", 0), ("https", 1)])
def test_certificates_are_loaded_once_and_for_who_speaks_tls(
    monkeypatch: pytest.MonkeyPatch, scheme: str, count: int
) -> None:
    made, own = _contexts(monkeypatch), Access(Scrape())
    (target,) = targets_of([f"{scheme}://n1:9000"])

    async def main() -> None:
        first = await own.ticket(target)
        assert await own.ticket(target) is first

    asyncio.run(main())
    assert len(made) == count


@pytest.mark.parametrize(("secure", "count"), [(False, 0), (True, 1)])
def test_a_peer_that_is_no_target_says_whether_it_speaks_tls(
    monkeypatch: pytest.MonkeyPatch, secure: bool, count: int
) -> None:
    made = _contexts(monkeypatch)
    asyncio.run(Access(Scrape()).ticket(secure=secure))
    assert len(made) == count


@pytest.mark.parametrize("files", [("ca_file",), ("cert_file", "key_file")])
def test_files_that_do_not_load_are_reported_by_every_reader(
    tmp_path: Path, files: tuple[str, ...]
) -> None:
    (tmp_path / "none").write_text("no certificate")
    tls = msgspec.structs.replace(TlsConfig(), **dict.fromkeys(files, str(tmp_path / "none")))
    (target,) = targets_of(["http://n1:9000"])
    with pytest.raises(ConfigError, match="certificates do not load"):
        asyncio.run(Access(Scrape(tls_config=tls)).ticket(target))


def test_who_speaks_tls_after_others_has_certificates_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, own = _contexts(monkeypatch), Access(Scrape())
    (secure,) = targets_of(["https://n1:9000"])

    async def main() -> None:
        plain = await own.ticket()
        assert made == []
        assert await own.ticket(secure) is plain
        assert len(made) == 1

    asyncio.run(main())


def test_a_secret_that_changes_is_shown_after_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "token"
    secret.write_text("first")
    now = [1000.0]
    monkeypatch.setattr(access, "time", SimpleNamespace(monotonic=lambda: now[0]))
    own = Access(Scrape(authorization=Authorization(credentials_file=str(secret))))

    def shown_at(time_s: float) -> str:
        now[0] = time_s
        return asyncio.run(own.ticket()).headers["Authorization"]

    assert shown_at(1000.0) == "Bearer first"
    secret.write_text("the second")
    assert shown_at(1010.0) == "Bearer first"
    assert shown_at(1010.1) == "Bearer the second"
