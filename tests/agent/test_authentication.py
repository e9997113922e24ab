"""Who gets an answer: passwords, tokens, and what is said to the others."""

import asyncio
import base64
from pathlib import Path

import bcrypt
import pytest

from accelwatch.web.protection import passwords
from accelwatch.web.protection.authentication import Verdict, authenticate, challenges
from accelwatch.web.protection.passwords import Busy, PasswordChecker
from accelwatch.web.protection.web_config import Protection
from agent.credentials import HASH, RIGHT, TOKEN, Serve, basic, bearer
from support.processes.waiting import GUARD_S

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


def test_the_unix_socket_is_guarded_by_its_mode(serve: Serve, tmp_path: Path) -> None:
    import socket
    import stat

    path = tmp_path / "agent.sock"
    serve(Protection(users={"prometheus": HASH}), path=path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(GUARD_S)
        client.connect(str(path))
        client.sendall(
            b"GET /-/ready HTTP/1.1\r\nHost: localhost\r\n\r\nGET /metrics HTTP/1.0\r\n\r\n"
        )
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
    assert answer.count(b"200 OK") == 2
    assert b"accel_device_up{" in answer


def test_a_system_that_does_not_say_who_is_at_a_unix_socket_lets_the_mode_decide(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS has no SO_PEERCRED."""
    import socket

    monkeypatch.delattr(socket, "SO_PEERCRED")
    path = tmp_path / "agent.sock"
    serve(None, path=path)
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(GUARD_S)
        client.connect(str(path))
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert b"200 OK" in client.recv(65536)


def verdict_on(authorization: str, protection: Protection) -> Verdict:
    async def scenario() -> Verdict:
        checker = PasswordChecker()
        try:
            return (await authenticate(protection, checker, authorization, None)).verdict
        finally:
            checker.close()

    return asyncio.run(scenario())


def test_bytes_that_are_no_utf_8_are_a_wrong_token() -> None:
    protection = Protection(tokens=(TOKEN,))
    assert verdict_on(f"Bearer {TOKEN}", protection) is Verdict.ADMIT
    assert verdict_on("Bearer \udcff", protection) is Verdict.CHALLENGE


def test_a_password_may_have_colons() -> None:
    colons = bcrypt.hashpw(b"a:b", bcrypt.gensalt(4)).decode()
    protection = Protection(users={"u": colons})
    assert verdict_on(basic("u", "a:b")["Authorization"], protection) is Verdict.ADMIT
    assert verdict_on(basic("u", "b")["Authorization"], protection) is Verdict.CHALLENGE


def test_a_header_with_stray_characters_is_not_read_around_them() -> None:
    protection = Protection(users={"prometheus": HASH})
    right = RIGHT["Authorization"]
    assert verdict_on(right, protection) is Verdict.ADMIT
    assert verdict_on(f"{right[:12]}*{right[12:]}", protection) is Verdict.CHALLENGE


def test_spaces_after_the_scheme_and_its_case_do_not_matter() -> None:
    assert verdict_on(f"  bearer   {TOKEN} ", Protection(tokens=(TOKEN,))) is Verdict.ADMIT


def test_right_credentials_under_another_scheme_are_wrong() -> None:
    encoded = RIGHT["Authorization"].removeprefix("Basic ")
    protection = Protection(users={"prometheus": HASH})
    for scheme in ("Digest", "Bearer", ""):
        assert verdict_on(f"{scheme} {encoded}", protection) is Verdict.CHALLENGE


def test_only_what_is_configured_is_required() -> None:
    assert challenges(Protection()) == []
    assert challenges(Protection(tokens=(TOKEN,))) == ['Bearer realm="accelwatch"']
    users = Protection(users={"prometheus": HASH})
    assert challenges(users) == ['Basic realm="accelwatch", charset="UTF-8"']


CERTIFICATE = {"subjectAltName": (("DNS", "prometheus"), ("URI", "spiffe://site/scraper"))}


@pytest.mark.parametrize(
    ("allowed", "certificate", "expected"),
    [
        (frozenset({"prometheus"}), CERTIFICATE, Verdict.ADMIT),
        (frozenset({"spiffe://site/scraper", "other"}), CERTIFICATE, Verdict.ADMIT),
        (frozenset({"other"}), CERTIFICATE, Verdict.FORBID),
        (frozenset({"other"}), None, Verdict.ADMIT),
        (frozenset(), CERTIFICATE, Verdict.ADMIT),
    ],
)
def test_a_certificate_needs_one_of_the_allowed_names(
    allowed: frozenset[str], certificate: object, expected: Verdict
) -> None:
    protection = Protection(allowed_sans=allowed)
    judged = authenticate(protection, PasswordChecker(), "", certificate)
    assert asyncio.run(judged).verdict is expected


def test_the_right_certificate_does_not_replace_a_token() -> None:
    protection = Protection(allowed_sans=frozenset({"prometheus"}), tokens=(TOKEN,))
    results = [
        authenticate(protection, PasswordChecker(), text, CERTIFICATE) for text in ("", RIGHT_TOKEN)
    ]
    verdicts = [asyncio.run(one).verdict for one in results]
    assert verdicts == [Verdict.CHALLENGE, Verdict.ADMIT]


@pytest.mark.parametrize(
    ("protection", "authorization", "certificate", "user"),
    [
        (Protection(users={"prometheus": HASH}), "right", None, "prometheus"),
        (Protection(users={"prometheus": HASH}), "wrong", None, ""),
        (Protection(tokens=(TOKEN,)), "token", CERTIFICATE, ""),
        (Protection(), "", CERTIFICATE, "prometheus"),
        (Protection(allowed_sans=frozenset({"spiffe://site/scraper"})), "", CERTIFICATE, "spiffe"),
        (Protection(), "right", None, ""),
    ],
)
def test_who_has_proved_to_be_somebody_is_known(
    protection: Protection, authorization: str, certificate: object, user: str
) -> None:
    given = {
        "right": RIGHT["Authorization"],
        "wrong": basic("prometheus", "wrong")["Authorization"],
        "token": RIGHT_TOKEN,
        "": "",
    }

    async def scenario() -> str:
        checker = PasswordChecker()
        try:
            judged = await authenticate(protection, checker, given[authorization], certificate)
        finally:
            checker.close()
        return judged.user if judged.verdict is Verdict.ADMIT else ""

    assert asyncio.run(scenario()).partition(":")[0] == user


RIGHT_TOKEN = bearer(TOKEN)["Authorization"]
