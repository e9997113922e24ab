"""Many incidents at once: others have their turn, and a group that is closed by hand hides nobody."""

import asyncio
from collections.abc import Sequence

import pytest

from accelwatch.alerting.incidents.incident_manager import IncidentManager
from accelwatch.alerting.incidents.incident_store import IncidentStore
from accelwatch.alerting.incidents.model.incident import Facts, Incident, TimelineKind
from accelwatch.alerting.rules.rule import Grouping, RuleSet
from accelwatch.alerting.rules.timing import Transition
from alerting.incidents.incident_rules import START, change, device, rule

FIRED, CLEARED = Transition.FIRED, Transition.CLEARED
MANY = 1500
FLEET = Grouping(by="fleet", at_least=3, within_s=300.0, calm_s=600.0)


class Site:
    """A incident_store, and who had a turn while it worked."""

    def __init__(self, group: Grouping | None) -> None:
        self.rules = {"gpu.lost": rule(group=group)}
        self.now, self.notified = START, list[Incident]()
        self.largest = 0
        self.incident_store = IncidentStore(
            self.rules, lambda _: Facts(), self._notify, lambda: self.now
        )

    def _notify(self, incidents: Sequence[Incident]) -> None:
        self.largest = max(self.largest, len(incidents))
        self.notified += incidents

    async def start(self) -> None:
        await self.incident_store.start(None, RuleSet(rules=self.rules, digest="d"), START)

    async def apply(self, transition: Transition, at_s: float, count: int = MANY) -> int:
        """A verdict of so many nodes; how often others had their turn."""
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        waiting = asyncio.create_task(others())
        self.now = START + at_s
        changes = [change(transition, at_s, entity=device(f"n{at:04d}")) for at in range(count)]
        await self.incident_store.step(changes, self.now)
        waiting.cancel()
        return turns


@pytest.mark.parametrize("group", [None, FLEET], ids=["a storm", "a group of the fleet"])
def test_others_have_their_turn_while_many_start_and_end(group: Grouping | None) -> None:
    async def scenario() -> None:
        site = Site(group)
        await site.start()
        assert await site.apply(FIRED, 0) > 2 * MANY // 50
        top = [one for one in site.incident_store.open if not one.group]
        assert [len(one.members) for one in top] == [MANY]
        assert await site.apply(CLEARED, 60) > 2 * MANY // 50
        assert len(site.notified) == len({one.id for one in site.notified}) * 2 - 1
        assert site.largest <= 50
        await site.apply(FIRED, 4000, 1)
        assert [one.reopened for one in site.incident_store.open if not one.members] == [0]
        await site.incident_store.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("group", [None, FLEET], ids=["a storm", "a group of the fleet"])
def test_members_of_a_group_that_is_closed_by_hand_stand_for_themselves(
    group: Grouping | None,
) -> None:
    async def scenario() -> None:
        site = Site(group)
        await site.start()
        await site.apply(FIRED, 0, 12)
        await site.apply(CLEARED, 10, 1)
        (top,) = [one for one in site.incident_store.open if not one.group]
        assert len(top.members) == 12
        site.notified.clear()
        closed, _ = await site.incident_store.close(top.id, "ana", "known")
        assert not closed.is_open
        released = [one for one in site.notified if one.id != top.id]
        assert {one.id for one in released} == {one.id for one in site.incident_store.open}
        assert len(released) == 11
        assert all(one.group == "" and one.is_open for one in released)
        last = released[0].timeline[-1]
        assert last.kind is TimelineKind.NOTE
        assert last.text == f"{top.id}, which it was part of, was closed by hand"
        await site.incident_store.stop()

    asyncio.run(scenario())


def test_one_that_comes_back_after_its_group_stands_for_itself() -> None:
    kept = IncidentManager(
        {"gpu.lost": rule(group=FLEET, cooldown_s=7200.0)}, lambda _: Facts(), _ids()
    )
    three = [device(f"n{at}") for at in range(3)]
    kept.step([change(FIRED, 0, entity=one) for one in three], START)
    kept.step([change(CLEARED, 5, entity=one) for one in three[:1]], START + 5)
    kept.step([change(FIRED, 8, entity=three[0])], START + 8)
    (group,) = [one for one in kept.open if one.members]
    assert [one.group for one in kept.open if one.id != group.id] == [group.id] * 3
    kept.step([change(CLEARED, 10, entity=one) for one in three], START + 10)
    kept.step([], START + 10)
    kept.step([], START + 700)
    assert kept.open == []
    kept.step([change(FIRED, 4000, entity=three[0])], START + 4000)
    (again,) = kept.open
    assert (again.reopened, again.group) == (2, "")


def test_what_is_over_is_let_go_when_it_cannot_come_back() -> None:
    kept = IncidentManager({"gpu.lost": rule(cooldown_s=60.0)}, lambda _: Facts(), _ids())
    kept.step([change(FIRED, 0)], START)
    kept.step([change(CLEARED, 10)], START + 10)
    kept.step([], START + 30)
    kept.step([change(FIRED, 40)], START + 40)
    (again,) = kept.open
    assert (again.id, again.reopened) == ("i1", 1)
    kept.step([change(CLEARED, 50)], START + 50)
    kept.step([], START + 120)
    kept.step([change(FIRED, 130)], START + 130)
    assert [one.id for one in kept.open] == ["i2"]


def _ids() -> "Numbers":
    return Numbers()


class Numbers:
    """`i1`, `i2`, ..."""

    def __init__(self) -> None:
        self.last = 0

    def __call__(self) -> str:
        self.last += 1
        return f"i{self.last}"
