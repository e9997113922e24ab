"""What those may do who have proved who they are."""

import asyncio
from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.web.pages.changing import refusal_of_change
from accelwatch.web.pages.page import Change
from accelwatch.web.protection.authentication import authenticate
from accelwatch.web.protection.exposure import check_kept
from accelwatch.web.protection.passwords import PasswordChecker
from accelwatch.web.protection.roles import Role
from accelwatch.web.protection.web_config import Protection, load_protection
from agent.credentials import HASH, TOKEN, basic, bearer

USERS = f"basic_auth_users: {{kim: '{HASH}', lee: '{HASH}', sam: '{HASH}', eve: '{HASH}'}}\n"
ROLES = "roles: {approve: [sam], act: [lee, ops.token], admin: [kim]}\n"
FILES = "bearer_token_files: [ops.token, look.token]\n"
OTHER = "x" * 32


def protection(folder: Path, text: str) -> Protection:
    (folder / "ops.token").write_text(TOKEN)
    (folder / "look.token").write_text(OTHER)
    path = folder / "web.yml"
    path.write_text(text)
    return load_protection(path)


def role(given: Protection, headers: dict[str, str], certificate: object = None) -> Role:
    async def ask() -> Role:
        checker = PasswordChecker()
        try:
            return (
                await authenticate(given, checker, headers.get("Authorization", ""), certificate)
            ).role
        finally:
            checker.close()

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (basic("kim", "correct horse"), Role.ADMIN),
        (basic("lee", "correct horse"), Role.ACT),
        (basic("sam", "correct horse"), Role.APPROVE),
        (basic("eve", "correct horse"), Role.READ),
        (basic("kim", "wrong"), Role.READ),
        (bearer(TOKEN), Role.ACT),
        (bearer(OTHER), Role.READ),
    ],
)
def test_who_is_listed_may_more_than_read(
    tmp_path: Path, headers: dict[str, str], expected: Role
) -> None:
    assert role(protection(tmp_path, USERS + FILES + ROLES), headers) is expected


def test_without_roles_whoever_is_admitted_may_do_everything(tmp_path: Path) -> None:
    given = protection(tmp_path, USERS + FILES)
    assert role(given, basic("eve", "correct horse")) is Role.ADMIN
    assert role(given, bearer(OTHER)) is Role.ADMIN


def test_of_the_names_of_a_certificate_that_of_the_greatest_role_counts() -> None:
    names = {"subjectAltName": (("DNS", "a.example"), ("URI", "spiffe://site/ops"))}
    roles = {"spiffe://site/ops": Role.ACT}
    assert role(Protection(roles=roles), {}, names) is Role.ACT
    assert role(Protection(roles={"a.example": Role.APPROVE, **roles}), {}, names) is Role.ACT
    allowed = Protection(roles=roles, allowed_sans=frozenset({"a.example"}))
    assert role(allowed, {}, names) is Role.READ


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            USERS + "roles:\n  act: [joe]",
            "F:3: roles.act: 'joe' is neither in basic_auth_users nor one of the token files",
        ),
        (
            USERS + "roles: {act: [kim], admin: [kim]}",
            "F:2: roles.admin: 'kim' is listed under act as well",
        ),
        (
            USERS + "roles: {write: [kim]}",
            "F:2: roles.write: unknown key; expected one of act, admin, approve",
        ),
    ],
)
def test_a_name_that_nobody_has_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        protection(tmp_path, text)
    assert str(caught.value) == message.replace("F:", f"{tmp_path / 'web.yml'}:")


def test_a_reload_does_not_make_an_admin_of_everybody(tmp_path: Path) -> None:
    before = protection(tmp_path, USERS + "roles: {admin: [kim]}\n")
    with pytest.raises(ConfigError, match="asks for roles any more"):
        check_kept(before, protection(tmp_path, USERS))
    check_kept(before, protection(tmp_path, USERS + "roles: {admin: [lee]}\n"))


@pytest.mark.parametrize("needed", list(Role))
@pytest.mark.parametrize("given", list(Role))
def test_a_change_needs_its_role_or_one_above(given: Role, needed: Role) -> None:
    change = Change(method="POST", path="/v1/stop", query={}, headers={}, user="sam", role=given)
    refusal = refusal_of_change(change, may=True, needed=needed)
    enough = list(Role).index(given) >= list(Role).index(needed)
    assert (refusal is None) == enough
    if refusal is not None:
        expected = f"sam may {given}, and this needs {needed}; see roles in the web configuration\n"
        assert (refusal.code, refusal.body.decode()) == (403, expected)
