"""Several discoveries side by side, and what becomes of labels."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from accelwatch.base.errors import UsageError
from accelwatch.fleet.target import Target, targets_of
from accelwatch.fleet.targets import watch
from accelwatch.fleet.targets.cache import TargetCache
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.watch import Discoverer, Publish, TargetWatch, merged
from support.processes.waiting import GUARD_S


class GivenTargets:
    """A way whose targets the test gives; silent until it has some."""

    def __init__(self) -> None:
        self.kept = TargetCache()
        self.starts = 0
        self.ended = 0
        self._publish: Publish | None = None
        self._targets: Sequence[Target] | None = None

    async def run(self, publish: Publish) -> None:
        self.starts += 1
        self._publish = publish
        if self._targets is not None:
            publish(self._targets)
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1

    def update(self, *texts: str) -> None:
        self._targets = targets_of(texts)
        if self._publish is not None:
            self._publish(self._targets)


class Broken:
    def __init__(self) -> None:
        self.kept = TargetCache()

    async def run(self, publish: Publish) -> None:
        raise RuntimeError("a mistake of ours")


class Applied:
    """A watch, and the node names it has applied last."""

    def __init__(self, patience_s: float = 5.0) -> None:
        self.nodes: list[str] | None = None
        self.watch = TargetWatch(self._apply, patience_s)

    def _apply(self, targets: dict[str, Target]) -> None:
        self.nodes = [one.node for one in targets.values()]

    async def until(self, *nodes: str) -> None:
        async with asyncio.timeout(GUARD_S):
            while self.nodes != list(nodes):
                await asyncio.sleep(0.01)


def watching(main: Callable[[Applied], object], patience_s: float = 5.0) -> None:
    async def run() -> None:
        applied = Applied(patience_s)
        task = asyncio.ensure_future(applied.watch.run())
        try:
            await main(applied)  # type: ignore[misc]  # each is a coroutine function
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


def test_the_first_list_waits_for_all_but_not_for_ever() -> None:
    async def main(applied: Applied) -> None:
        quick, hanging = GivenTargets(), GivenTargets()
        quick.update("q:1")
        applied.watch.set(targets_of(["s:1"]), {"q": lambda: quick, "h": lambda: hanging})
        await applied.until("s", "q")
        quick.update("q:1", "q2:1")
        await applied.until("s", "q", "q2")
        hanging.update("h:1")
        await applied.until("s", "q", "q2", "h")

    watching(main, patience_s=0.05)


def test_a_discovery_that_breaks_costs_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async def main(applied: Applied) -> None:
        good = GivenTargets()
        good.update("g:1")
        named = 'http {"url":"http://sd/x?key=hunter2"}'
        applied.watch.set((), {named: Broken, "g": lambda: good})
        await applied.until("g")
        assert all("hunter2" not in task.get_name() for task in asyncio.all_tasks())

    watching(main, patience_s=0.05)
    assert "way=http" in caplog.text
    assert "hunter2" not in caplog.text


class BreaksLater:
    """A discovery that has found targets and then breaks."""

    def __init__(self) -> None:
        self.kept = TargetCache()

    async def run(self, publish: Publish) -> None:
        publish(targets_of(["a:1"]))
        await asyncio.sleep(0)
        raise RuntimeError("a mistake of ours at http://sd/x?key=hunter2")


@pytest.mark.parametrize(("way", "nodes"), [(Broken, ("s",)), (BreaksLater, ("s", "a"))])
def test_a_discovery_that_breaks_is_reported_and_does_not_work(
    way: Callable[[], Discoverer], nodes: tuple[str, ...]
) -> None:
    async def main(applied: Applied) -> None:
        applied.watch.set(targets_of(["s:1"]), {'files {"url":"hunter2"}': way})
        await applied.until(*nodes)
        (problem,) = applied.watch.problems()
        assert problem.startswith("discovery files: failed by a bug in accelwatch (RuntimeError)")
        assert "hunter2" not in problem
        assert not applied.watch.status()["files"].works
        applied.watch.set(targets_of(["s:1"]), {})
        assert applied.watch.problems() == ()

    watching(main, patience_s=0.05)


def test_a_discovery_that_works_again_is_reported_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_AGAIN_S", 0.01)
    good = GivenTargets()
    good.update("g:1")
    turns: list[Callable[[], Discoverer]] = [lambda: good, Broken, Broken]

    def make() -> Discoverer:
        return turns.pop()()

    async def main(applied: Applied) -> None:
        applied.watch.set((), {"files": make})
        await applied.until("g")
        assert (applied.watch.problems(), applied.watch.status()["files"].works) == ((), True)

    watching(main)


def test_a_discovery_that_stays_keeps_what_it_knows() -> None:
    async def main(applied: Applied) -> None:
        stays, goes, comes = GivenTargets(), GivenTargets(), GivenTargets()
        stays.update("a:1")
        goes.update("b:1")
        ways: dict[str, Callable[[], Discoverer]] = {"stays": lambda: stays, "goes": lambda: goes}
        applied.watch.set((), ways)
        await applied.until("a", "b")
        applied.watch.set(targets_of(["s:1"]), {"stays": lambda: stays, "comes": lambda: comes})
        await asyncio.sleep(0.05)
        assert applied.nodes == ["a", "b"]  # until the new one has answered
        comes.update("c:1")
        await applied.until("s", "a", "c")
        assert (stays.starts, stays.ended, goes.ended) == (1, 0, 1)

    watching(main)


def test_the_status_of_each_kind_is_reported() -> None:
    async def main(applied: Applied) -> None:
        one, two, three = GivenTargets(), GivenTargets(), GivenTargets()
        for way, text in ((one, "a:1"), (two, "b:[1-2]"), (three, "c:1")):
            way.update(text)
        ways: dict[str, Callable[[], Discoverer]] = {
            "dns 1": lambda: one,
            "dns 2": lambda: two,
            "slurm": lambda: three,
            "http": Broken,
        }
        applied.watch.set((), ways)
        await applied.until("a", "b", "b", "c")
        two.kept.refuse("b", "no answer")
        status = applied.watch.status()
        assert {kind: (one.works, one.targets) for kind, one in status.items()} == {
            "dns": (False, 3),
            "slurm": (True, 1),
            "http": (False, 0),
        }

    watching(main, patience_s=0.05)


def test_what_fails_or_cannot_start_is_reported_briefly() -> None:
    def unbegun() -> Discoverer:
        raise UsageError("no cluster here")

    async def main(applied: Applied) -> None:
        files = GivenTargets()
        files.update("a:1")
        for index in range(9):
            files.kept.refuse(f"f{index}", f"f{index}: cannot be read")
        files.kept.refuse("f9", "no name server")
        applied.watch.set((), {"kubernetes": unbegun, "files": lambda: files})
        await applied.until("a")
        problems = applied.watch.problems()
        assert problems[:2] == ("no cluster here", "f0: cannot be read")
        assert problems[8:] == ("3 more discoveries fail",)
        for index in range(9):
            files.kept.update(f"f{index}", [])
        assert applied.watch.problems() == ("no cluster here", "f9: no name server")

    watching(main, patience_s=0.05)


def test_a_target_found_twice_has_the_labels_of_both() -> None:
    named = targets_of(["10.0.0.1:9877"], {"node": "n1", "rack": "r1", "pool": "a"})
    plain = targets_of(["10.0.0.1:9877"], {"pool": "b"})
    (one,) = merged([*named, *plain]).values()
    assert (one.node, one.labels) == ("n1", {"rack": "r1", "pool": "b"})
    (other,) = merged([*plain, *named]).values()
    assert other.node == "n1"


def test_labels_are_renamed_and_kept() -> None:
    rules = Rules(rename={"__meta_rack": "rack", "host": "node", "dc": "site"}, keep=("rack",))
    labels = {"__meta_rack": "r1", "host": "n1", "dc": "x", "job": "j", "__scheme__": "https"}
    (one,) = rules.targets(["10.0.0.1:9877"], labels)
    assert (one.node, one.scheme, one.labels) == ("n1", "https", {"rack": "r1"})
    (all_of_them,) = Rules().targets(["n1:1"], {"job": "j", "partition": "p", "__meta_x": "y"})
    assert all_of_them.labels == {"job": "j", "partition": "p"}


def test_a_label_without_a_value_renames_nothing() -> None:
    (one,) = Rules(rename={"a": "b"}).targets(["n1:1"], {"a": "", "b": "kept"})
    assert one.labels == {"b": "kept"}


def test_https_is_never_taken_back_by_a_discovery() -> None:
    with pytest.raises(UsageError, match="downgrade"):
        Rules(scheme="https").targets(["n1:1"], {"__scheme__": "http"})


def test_who_has_not_answered_is_known_until_the_answer_is_applied() -> None:
    async def main() -> None:
        applied, quick, slow = Applied(patience_s=0.01), GivenTargets(), GivenTargets()
        applied.watch.set(
            (), {"http a": lambda: quick, "http b": lambda: slow, "dns": lambda: quick}
        )
        assert applied.watch.unanswered() == ("http", "dns")
        running = asyncio.create_task(applied.watch.run())
        quick.update("a:1")
        await applied.until("a")
        assert applied.watch.unanswered() == ("http",)
        slow.update("b:1")
        assert "http" in applied.watch.unanswered()
        await applied.until("a", "b")
        assert applied.watch.unanswered() == ()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())


def test_who_fails_has_answered() -> None:
    async def main() -> None:
        applied, failing = Applied(patience_s=0.01), GivenTargets()
        ways: dict[str, Callable[[], Discoverer]] = {"http": lambda: failing, "dns": Broken}
        applied.watch.set((), ways)
        running = asyncio.create_task(applied.watch.run())
        await applied.until()
        while applied.watch.unanswered() != ("http",):
            await asyncio.sleep(0)
        failing.kept.complaints["http://a"] = "refused"
        assert applied.watch.unanswered() == ()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())
