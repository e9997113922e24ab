"""Which incidents are muted by what: single ones, groups, and over time."""

import pytest

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.muting import MOST_SILENCES, MOST_WINDOWS, Muting
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence, matchers
from accelwatch.base.errors import UsageError
from support.incidents.incident_samples import START, incident, over, storm

ENDS = START + 3600


def silence(text: str, id_: str = "s1", starts: float = START, ends: float = ENDS) -> Silence:
    return Silence(
        id=id_, matchers=matchers(text), starts=starts, ends=ends, by="ana", reason="swap"
    )


def window(*nodes: str, id_: str = "m1", starts: float = START, ends: float = ENDS) -> Maintenance:
    return Maintenance(id=id_, nodes=nodes, starts=starts, ends=ends, by="ana", reason="BIOS")


class Watch:
    """What is muted as time goes by."""

    def __init__(self, *quiet: Silence | Maintenance, now: float = START) -> None:
        self.muting = Muting()
        self.now = now
        for each in quiet:
            self.muting.set(each)
        self.muting.advance(now)

    def at(self, now: float) -> bool:
        self.now = now
        return self.muting.advance(now)

    def look(self, *incidents: Incident) -> list[str]:
        """Ids of those that are muted otherwise than before."""
        members: dict[str, list[Incident]] = {}
        for each in incidents:
            if each.group:
                members.setdefault(each.group, []).append(each)
        return [each.id for each in self.muting.evaluate_mutes(incidents, members, self.now)]

    def by(self, id_: str) -> str:
        mute = self.muting.mute_of(id_)
        return "" if mute is None else mute.id


def test_a_silence_mutes_what_it_matches_and_says_why() -> None:
    watch = Watch(silence("node=n1"))
    assert watch.look(incident(1), incident(2)) == ["i1"]
    mute = watch.muting.mute_of("i1")
    assert mute is not None
    assert (mute.id, mute.kind, mute.reason, mute.until) == ("s1", "silence", "swap", ENDS)
    assert mute.by == "ana (unverified)"
    assert watch.look(incident(1), incident(2)) == []


def test_maintenance_mutes_nodes_and_their_devices_and_no_mixture() -> None:
    watch = Watch(window("n[1-2]"))
    both = incident(3, nodes=("n1", "n9"))
    assert watch.look(incident(1), incident(2), both) == ["i1", "i2"]
    mute = watch.muting.mute_of("i1")
    assert mute is not None
    assert (mute.id, mute.kind) == ("m1", "maintenance")


def test_a_silence_counts_before_a_window() -> None:
    watch = Watch(window("n1"), silence("node=n1"))
    watch.look(incident(1))
    assert watch.by("i1") == "s1"


def test_what_ends_mutes_no_longer_and_is_forgotten() -> None:
    watch = Watch(silence("node=n1"))
    watch.look(incident(1))
    assert not watch.at(ENDS - 1)
    assert watch.at(ENDS)
    assert watch.look(incident(1)) == ["i1"]
    assert watch.by("i1") == ""
    assert watch.muting.silences == []
    assert watch.muting.idle


def test_what_is_announced_mutes_from_its_start_on() -> None:
    watch = Watch(window("n1", starts=START + 60))
    assert watch.look(incident(1)) == []
    assert [each.id for each in watch.muting.windows] == ["m1"]
    assert watch.at(START + 60)
    assert watch.look(incident(1)) == ["i1"]


def test_a_group_is_muted_when_all_of_its_open_members_are() -> None:
    *members, group = storm(3)
    watch = Watch(silence("node=n1", "s1"), silence("node=n2", "s2", ends=ENDS - 9))
    assert watch.look(*members, group) == ["i1", "i2"]
    watch.muting.set(window("n3"))
    watch.at(START)
    assert watch.look(*members, group) == ["i3", "i99"]
    assert watch.by("i99") == "s2", "the first to end"
    watch.at(ENDS - 9)
    assert watch.look(*members, group) == ["i2", "i99"]
    assert watch.by("i99") == ""


def test_a_member_that_is_over_says_nothing_of_its_group() -> None:
    *members, group = storm(2)
    watch = Watch(silence("node=n1"))
    watch.look(*members, group)
    assert watch.by("i99") == ""
    assert watch.look(members[0], over(members[1], START), group) == ["i99"]


def test_a_group_that_was_quiet_to_its_end_stays_so() -> None:
    *members, group = storm(2)
    watch = Watch(window("n[1-2]"))
    watch.look(*members, group)
    ended = [over(member, START + 60) for member in members]
    watch.at(ENDS)
    watch.look(*ended, group)
    assert watch.by("i99") == "m1"


@pytest.mark.parametrize(("text", "mutes"), [("id=i99", True), ("node!=n1", False)])
def test_a_group_is_silenced_by_its_own_id_only(text: str, mutes: bool) -> None:
    *members, group = storm(2)
    watch = Watch(silence(text))
    watch.look(*members, group)
    assert (watch.by("i99") == "s1") is mutes


def test_neither_silences_nor_windows_are_without_number() -> None:
    many = [silence("node=n1", f"s{number}") for number in range(MOST_SILENCES)]
    watch = Watch(*many)
    watch.muting.check_room(Maintenance)
    with pytest.raises(UsageError, match="200 silences already"):
        watch.muting.check_room(Silence)
    windows = [window("n1", id_=f"m{number}") for number in range(MOST_WINDOWS)]
    watch = Watch(*windows)
    watch.muting.check_room(Silence)
    with pytest.raises(UsageError, match="1000 windows of maintenance already"):
        watch.muting.check_room(Maintenance)


def test_the_nodes_of_all_windows_are_bounded() -> None:
    watch = Watch(*(window("n[1-4000]", id_=f"m{number}") for number in range(4)))
    watch.muting.check_nodes(window("n[1-4000]"))
    with pytest.raises(UsageError, match="more than 20000 nodes"):
        watch.muting.check_nodes(window("n[1-4001]"))


def test_maintenance_of_every_node_mutes_also_what_is_of_none() -> None:
    watch = Watch(window(), window("n2", id_="m2"))
    assert watch.look(incident(1), incident(2), incident(3, nodes=())) == ["i1", "i2", "i3"]
    assert [watch.by(id_) for id_ in ("i1", "i2", "i3")] == ["m1", "m2", "m1"]


def test_what_a_scheduler_announces_mutes_until_it_says_otherwise() -> None:
    watch = Watch(now=START)
    watch.muting.announce([window("n1", id_="slurm:bios")])
    assert watch.at(START)
    assert watch.look(incident(1), incident(2)) == ["i1"]
    assert watch.by("i1") == "slurm:bios"
    assert [each.id for each in watch.muting.windows] == ["slurm:bios"]
    assert watch.muting.get("slurm:bios") is None
    assert watch.muting.is_announced("slurm:bios")
    assert not watch.muting.is_announced("m1")
    watch.muting.announce([window("n1", id_="slurm:bios")])
    assert not watch.at(START)
    watch.muting.announce([window("n2", id_="slurm:bios")])
    assert watch.at(START)
    assert watch.look(incident(1), incident(2)) == ["i1", "i2"]
    assert (watch.by("i1"), watch.by("i2")) == ("", "slurm:bios")
    watch.muting.announce([])
    assert watch.at(START)
    assert watch.look(incident(1), incident(2)) == ["i2"]
