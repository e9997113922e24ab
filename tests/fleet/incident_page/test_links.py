"""A link gives the right to decide on one plan, for a while, once."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.records import Batch, StateRecord
from accelwatch.alerting.incidents.journal.sqlite.file import open_file
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import ConfigError
from accelwatch.fleet.approval.links import Link, LinkStatus, Signer, fingerprint, status_of
from accelwatch.fleet.approval.secret import FILE, signing_key
from accelwatch.fleet.approval.used import KIND, UsedError, UsedLinks
from accelwatch.remediation.policy.state.model import Approval, Clocks, Remedy, RemedyState
from accelwatch.remediation.policy.state.stage import Stage

NOW = 1_795_000_000.0
LINK = Link("oncall", "i3", "n12", "p1", NOW - 60.0, NOW + 60.0)
WAITS = Remedy(
    node="n12",
    stage=Stage.AWAITING_APPROVAL,
    clocks=Clocks(since=NOW - 60.0, begun=NOW - 61.0),
    approval=Approval(asked="p1"),
)


def status(
    link: Link = LINK, incident: str = "i3", remedy: Remedy | None = WAITS, used: bool = False
) -> LinkStatus:
    remedies = {} if remedy is None else {"n12": remedy}
    return status_of(link, incident, RemedyState(remedies=remedies), NOW, used=used)


def changed(**fields: object) -> Remedy:
    return msgspec.structs.replace(WAITS, **fields)


def test_a_link_for_what_waits_is_good() -> None:
    assert status() is LinkStatus.GOOD


def test_a_link_is_for_its_own_incident() -> None:
    assert status(incident="i4") is LinkStatus.OTHER_INCIDENT


def test_a_link_counts_once() -> None:
    assert status(used=True) is LinkStatus.USED


def test_a_link_expires() -> None:
    old = msgspec.structs.replace(LINK, until=NOW - 1.0)
    assert status(old) is LinkStatus.EXPIRED
    assert status(msgspec.structs.replace(LINK, until=NOW)) is LinkStatus.GOOD


def test_a_link_is_dead_once_the_plan_changed() -> None:
    assert status(remedy=changed(approval=Approval(asked="p2"))) is LinkStatus.CHANGED


def test_a_link_is_for_the_time_of_its_request() -> None:
    """Denied, and asked again half an hour later, the same plan is another question."""
    assert (
        status(remedy=changed(clocks=Clocks(since=NOW - 5.0, begun=NOW - 61.0)))
        is LinkStatus.CHANGED
    )


@pytest.mark.parametrize("remedy", [None, changed(stage=Stage.SUSPECT)])
def test_what_waits_no_more_takes_no_link(remedy: Remedy | None) -> None:
    assert status(remedy=remedy) is LinkStatus.DECIDED


def test_only_what_we_have_signed_is_a_link() -> None:
    signer = Signer(b"k" * 32)
    token = signer.link(LINK)
    assert signer.read(token) == LINK
    assert signer.link(LINK) == token, "the same question has the same link"
    body, _, signature = token.rpartition(".")
    assert signer.read(f"{body}x.{signature}") is None
    assert signer.read(f"{body}.{signature[:-2]}AA") is None
    assert signer.read("") is None
    assert signer.read("ä" * 10) is None
    assert signer.read("a" * 5000) is None
    assert Signer(b"j" * 32).read(token) is None
    assert signer.read(signer.form("i3", "kim", NOW)) is None, "a form is no link"


def test_a_form_is_for_one_incident_one_person_and_not_for_ever() -> None:
    signer = Signer(b"k" * 32)
    form = signer.form("i3", "kim", NOW)
    assert signer.is_form(form, "i3", "kim", NOW)
    assert not signer.is_form(form, "i4", "kim", NOW)
    assert not signer.is_form(form, "i3", "ana", NOW)
    assert not signer.is_form(form, "i3", "kim", NOW + 1.0)
    assert not signer.is_form("", "i3", "kim", NOW)
    assert not signer.is_form(signer.link(LINK), "i3", "kim", NOW), "a link is no form"


def test_what_was_used_is_known_after_a_restart_and_never_in_clear(tmp_path: Path) -> None:
    clock, token = ManualClock(wall=NOW), Signer(b"k" * 32).link(LINK)
    file = open_file(tmp_path / "journal.sqlite")

    async def commit(batch: Batch) -> None:
        file.write([batch])

    async def first() -> None:
        used = UsedLinks(commit, clock)
        assert fingerprint(LINK) not in used
        await used.spend(fingerprint(LINK), LINK, "10.0.0.7")
        assert fingerprint(LINK) in used
        with pytest.raises(UsedError):
            await used.spend(fingerprint(LINK), LINK, "10.0.0.7")

    asyncio.run(first())
    states = file.load(NOW + 3600.0).states
    assert fingerprint(LINK) in UsedLinks(commit, clock, states)
    (entry,) = file.entries()
    assert (entry.actor, entry.address) == ("link:oncall", "10.0.0.7")
    file.close()
    assert all(token.encode() not in one.read_bytes() for one in tmp_path.iterdir())


def test_of_two_that_come_at_once_one_is_late() -> None:
    async def slow(_: Batch) -> None:
        await asyncio.sleep(0)

    async def both() -> list[object]:
        used = UsedLinks(slow, ManualClock(wall=NOW))
        spent = (used.spend("key", LINK, "") for _ in range(2))
        return await asyncio.gather(*spent, return_exceptions=True)

    first, second = asyncio.run(both())
    assert first is None
    assert isinstance(second, UsedError)


def test_what_cannot_be_written_was_not_used() -> None:
    async def broken(_: Batch) -> None:
        raise JournalError("no space left")

    async def main() -> None:
        used = UsedLinks(broken, ManualClock(wall=NOW))
        with pytest.raises(JournalError):
            await used.spend("key", LINK, "")
        assert "key" not in used
        with pytest.raises(UsedError):
            await UsedLinks(None, ManualClock(wall=NOW)).spend("key", LINK, "")

    asyncio.run(main())


def test_other_states_of_the_journal_are_no_links() -> None:
    states = [StateRecord("remedy", "key"), StateRecord(KIND, "used", until=NOW)]
    used = UsedLinks(None, ManualClock(wall=NOW), states)
    assert "key" not in used
    assert "used" in used


def test_a_key_is_made_once_and_only_we_can_read_it(tmp_path: Path) -> None:
    key = signing_key(None, tmp_path)
    file = tmp_path / FILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(key) >= 32
    assert signing_key(None, tmp_path) == key
    assert signing_key(file, None) == key
    assert signing_key(None, None) != signing_key(None, None)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("0" * 64)
    file.chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        signing_key(file, None)


def test_a_key_that_is_short_gone_or_no_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("short")
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="5 bytes") as caught:
        signing_key(file, None)
    assert "short" not in str(caught.value).replace(str(file), "")
    for other in (tmp_path / "gone", tmp_path):
        with pytest.raises(ConfigError, match="the key of links"):
            signing_key(other, None)
    (tmp_path / "linked").symlink_to(file)
    with pytest.raises(ConfigError, match="cannot be read"):
        signing_key(tmp_path / "linked", None)
