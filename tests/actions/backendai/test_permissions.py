"""What the key may do is read before anything is tried, and said in plain words."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accelwatch.action.contract import (
    ActionContext,
    ActionUnavailableError,
    FindsLimits,
    HasComplaints,
    ShowsRights,
)
from accelwatch.action.intent import IntentKind
from accelwatch.api_client.backendai.client import BackendAiClient
from accelwatch.api_client.backendai.releases import ManagerRelease
from accelwatch.api_client.backendai.server import ServerOptions, server_of
from accelwatch.base.clock import ManualClock
from accelwatch.cli.startup.app import invoke
from accelwatch.remediation.pairing.abilities import PairedAbilities
from accelwatch_backendai import BackendAiAction
from accelwatch_backendai.api.permissions import Permissions, complaints_of
from accelwatch_lab.cluster.backendai.access import Account, secret_file
from support.backendai.fixtures import connected, secret_key_file
from support.backendai.served import ServedCluster
from support.backendai.signed_api import problem
from support.backendai.stand_in import StandInCluster, stand_in_cluster
from support.servers.scripted_api import answered

__all__ = ["secret_key_file"]

QUARANTINE, MOVE, RESTORE = IntentKind.QUARANTINE, IntentKind.MOVE_JOB, IntentKind.RESTORE_JOB
INTENTS = frozenset({QUARANTINE, MOVE, RESTORE})
ROOT = answered(200, {"version": "v9", "manager": "26.9.6"})


def role(name: str, *, active: bool | None = True) -> Any:
    body = {"data": {"user": {"role": name}, "keypair": {"is_active": active}}}
    return answered(200, body)


def options_of(cluster: ServedCluster, account: Account = Account.SUPERADMIN) -> dict[str, Any]:
    keys = cluster.keys(account)
    return {
        "url": keys.url,
        "access_key": keys.access_key,
        "secret_key_file": str(secret_file(cluster.folder, account)),
    }


@asynccontextmanager
async def permissions_on(
    cluster: ServedCluster, account: Account, *, specified: bool = False
) -> AsyncIterator[Permissions]:
    client = BackendAiClient(server_of(ServerOptions(**options_of(cluster, account))))
    release = ManagerRelease(client)
    yield Permissions(client, release, ManualClock(), INTENTS, specified=specified)
    await client.close()


def test_a_superadmins_key_may_do_everything_and_says_so(cluster: ServedCluster) -> None:
    async def main() -> None:
        async with permissions_on(cluster, Account.SUPERADMIN, specified=True) as permissions:
            assert permissions.rights == ""
            await permissions.refresh()
            assert (permissions.problem, permissions.impossible) == ("", {})
            assert permissions.rights.startswith(f"release {cluster.release}; ")
            assert "key of a superadmin" in permissions.rights
            assert cluster.keys().access_key not in permissions.rights

    asyncio.run(main())


@pytest.mark.parametrize("account", [Account.DOMAIN_ADMIN, Account.USER, Account.MONITOR])
def test_any_other_key_can_do_nothing(cluster: ServedCluster, account: Account) -> None:
    async def main() -> None:
        async with permissions_on(cluster, account) as permissions:
            assert permissions.impossible == {}
            await permissions.refresh()
            assert permissions.impossible.keys() == INTENTS
            assert "create a keypair of a superadmin" in permissions.impossible[QUARANTINE]
            assert permissions.rights == ""

    asyncio.run(main())


def test_what_a_release_does_not_show_keeps_sessions_where_they_are(cluster: ServedCluster) -> None:
    async def main() -> None:
        async with permissions_on(cluster, Account.SUPERADMIN) as permissions:
            await permissions.refresh()
            limited = set() if cluster.release == "26.9.6" else {MOVE, RESTORE}
            assert set(permissions.impossible) == limited
            assert all("specifications" in text for text in permissions.impossible.values())

    asyncio.run(main())


def _refreshed(
    secret_key_file: Path, clock: ManualClock, *answers: Any, after_s: tuple[float, ...] = ()
) -> list[str]:
    """What the problem is at first, and after each pause."""

    async def main() -> list[str]:
        async with connected(secret_key_file, *answers) as (client, _):
            release = ManagerRelease(client, clock)
            permissions = Permissions(client, release, clock, INTENTS, specified=True)
            await permissions.refresh()
            problems = [permissions.problem]
            for pause_s in after_s:
                clock.advance(pause_s)
                await permissions.refresh()
                problems.append(permissions.problem)
            return problems

    return asyncio.run(main())


def test_who_is_made_a_superadmin_waits_for_a_minute(secret_key_file: Path) -> None:
    answers = (role("admin"), ROOT, role("superadmin"))
    first, before, after = _refreshed(secret_key_file, ManualClock(), *answers, after_s=(59.0, 1.0))
    assert first
    assert before == first
    assert after == ""


def test_a_right_that_is_lost_is_noticed(secret_key_file: Path) -> None:
    answers = (role("superadmin"), ROOT, role("user"), ROOT)
    problems = _refreshed(secret_key_file, ManualClock(), *answers, after_s=(599.0, 1.0))
    assert problems[:2] == ["", ""]
    assert "role user" in problems[2]


def test_what_is_not_answered_is_as_it_was(secret_key_file: Path) -> None:
    away = problem(503, "unavailable", "Away.")
    answers = (role("admin"), ROOT, away)
    first, second = _refreshed(secret_key_file, ManualClock(), *answers, after_s=(60.0,))
    assert first == second != ""


@pytest.mark.parametrize(
    ("message", "is_refused"),
    [("Missing or invalid API parameters. (Unknown client role)", True), ("timeout", False)],
)
def test_a_monitor_of_26_9_may_not_even_ask_for_its_role(
    message: str, is_refused: bool, secret_key_file: Path
) -> None:
    body = {"data": {"user": None, "keypair": None}, "errors": [{"message": message}]}
    (text,) = _refreshed(secret_key_file, ManualClock(), answered(200, body))
    assert ("role monitor" in text) is is_refused


@pytest.mark.parametrize(("active", "is_refused"), [(True, False), (None, False), (False, True)])
def test_a_keypair_that_is_inactive_can_do_nothing(
    active: bool | None, is_refused: bool, secret_key_file: Path
) -> None:
    answers = (role("superadmin", active=active), ROOT)
    (found,) = _refreshed(secret_key_file, ManualClock(), *answers)
    assert bool(found) is is_refused


def _action(cluster: ServedCluster, account: Account) -> BackendAiAction:
    options = {"server": options_of(cluster, account)}
    return BackendAiAction(ActionContext(name="bai", options=options))


def test_the_action_says_what_its_key_may_do(stand_in: StandInCluster) -> None:
    async def main() -> None:
        action = _action(stand_in, Account.SUPERADMIN)
        assert isinstance(action, FindsLimits)
        assert isinstance(action, ShowsRights)
        assert isinstance(action, HasComplaints)
        assert len(await action.observe_all()) == 4
        assert "superadmin" in action.rights
        assert not action.complaints()
        pair = PairedAbilities(("bai", action), ("bai2", action))
        assert pair.rights == f"bai: {action.rights}; bai2: {action.rights}"
        await action.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("rule", "limited"),
    [
        ({"file": "specification.yaml"}, set()),
        ({"template": "0123456789abcdef0123456789abcdef"}, set()),
        ({"default_mount_paths": True}, {MOVE, RESTORE}),
    ],
)
def test_a_file_or_template_makes_moves_possible_before_26_4(
    rule: dict[str, Any], limited: set[IntentKind], tmp_path: Path
) -> None:
    (tmp_path / "specification.yaml").write_text("{}")
    if "file" in rule:
        rule = {"file": str(tmp_path / rule["file"])}

    async def main() -> None:
        with stand_in_cluster(tmp_path, "26.1.0") as old:
            options = {"server": options_of(old), "specifications": [rule]}
            action = BackendAiAction(ActionContext(name="bai", options=options))
            await action.observe_all()
            assert set(action.impossible) == limited
            await action.close()

    asyncio.run(main())


def test_the_action_of_another_key_says_what_is_missing(stand_in: StandInCluster) -> None:
    async def main() -> None:
        action = _action(stand_in, Account.USER)
        with pytest.raises(ActionUnavailableError, match="keypair of a superadmin"):
            await action.observe_all()
        assert action.impossible.keys() == action.intents
        assert PairedAbilities(("bai", action), ("bai2", action)).rights == ""
        await action.close()

    asyncio.run(main())


def test_a_secret_key_that_others_can_read_is_a_complaint(stand_in: StandInCluster) -> None:
    options = ServerOptions(**options_of(stand_in))
    assert complaints_of(options) == []
    Path(options.secret_key_file).chmod(0o644)
    (complaint,) = complaints_of(options)
    assert complaint.startswith("server.secret_key_file: ")
    assert "chmod 600" in complaint


def _checked(cluster: ServedCluster, account: Account, folder: Path) -> int:
    """The exit code of `accelwatch remedy actions check`."""
    file = folder / "hub.yaml"
    action = {
        "name": "bai",
        "type": "backendai",
        "options": {"server": options_of(cluster, account)},
    }
    file.write_text(json.dumps({"remedy": {"actions": [action]}}))
    return invoke(["actions", "check", "-c", str(file)])


def test_the_check_of_the_actions_says_what_the_key_may_do(
    stand_in: StandInCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _checked(stand_in, Account.SUPERADMIN, tmp_path) == 0
    out = capfd.readouterr().out
    assert out.startswith("bai: ok; supports ")
    assert "access_key is the key of a superadmin" in out
    assert stand_in.keys().access_key not in out


def test_the_check_of_the_actions_says_what_is_missing(
    stand_in: StandInCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _checked(stand_in, Account.DOMAIN_ADMIN, tmp_path) == 0
    captured = capfd.readouterr()
    assert (
        "does not support quarantine: server.access_key is a key of the role admin" in captured.out
    )
    assert "does not answer" not in captured.err
