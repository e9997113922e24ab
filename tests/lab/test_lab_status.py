"""A look is not one moment: what follows is asked for before what it follows from."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from accelwatch_lab.cluster import snapshot as looking
from accelwatch_lab.cluster.lab import Lab, Record
from accelwatch_lab.cluster.scenarios.catalogue import SCENARIOS, Expectation
from accelwatch_lab.cluster.scenarios.observations import PhaseContext, observed
from accelwatch_lab.cluster.scheduler import JobNow, NodeNow
from accelwatch_lab.cluster.slurm.step_counter import Line

# How a job leaves a node that hangs.
_CHAIN = (
    Expectation.DRAINED,
    Expectation.REQUEUED,
    Expectation.FENCED,
    Expectation.RUNNING,
    Expectation.PROGRESS,
)
_CONTEXT = PhaseContext(node="n001", faulty=("n001",), since=0.0, restarts=0, written=0)


class Cluster:
    """So much of the chain has happened at the first question, and so much more at each after it."""

    title = "Slurm"

    def __init__(self, happened: int, more: int) -> None:
        self._happened = happened
        self._more = more

    def _now(self) -> frozenset[Expectation]:
        seen = frozenset(_CHAIN[: self._happened])
        self._happened += self._more
        return seen

    def nodes_now(self) -> dict[str, NodeNow]:
        seen = self._now()
        fenced = ("DOWN",) if Expectation.FENCED in seen else ()
        states = ("DRAIN", *fenced) if Expectation.DRAINED in seen else ("IDLE",)
        return {
            "n001": NodeNow(states, "accelwatch: silent" if Expectation.DRAINED in seen else "")
        }

    def job_now(self, _: str) -> JobNow:
        seen = self._now()
        state = "RUNNING" if Expectation.RUNNING in seen else "PENDING"
        return JobNow(state, ("n002",), restarts=int(Expectation.REQUEUED in seen))

    def lines_of(self, *_: object) -> list[Line]:
        stepped = Expectation.PROGRESS in self._now()
        step = Line(time=1.0, what="step", step=9, restart=1, pid=1, nodes=("n002",))
        return [step] if stepped else []


@pytest.mark.parametrize("happened", range(len(_CHAIN) + 1))
@pytest.mark.parametrize("more", [1, 2, 4])
def test_nothing_is_seen_without_what_it_follows_from(
    happened: int, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(happened, more)
    empty: dict[str, Any] = {"remedies": [], "incidents": [], "frozen": "", "problems": []}
    monkeypatch.setattr(looking, "page", lambda *_: empty)
    monkeypatch.setattr(looking, "lines_of", cluster.lines_of)
    lab = SimpleNamespace(scheduler=cluster, folder=Path(), alerts_file=Path("/nowhere"))
    now = looking.read_snapshot(cast("Lab", lab), cast("Record", SimpleNamespace(hub="")), "1")
    seen = [what for what in _CHAIN if observed(what, now, _CONTEXT) is not None]
    assert seen == list(_CHAIN[: len(seen)])


def test_what_one_look_shows_at_once_is_reported_in_the_order_in_which_it_happened() -> None:
    expected = [what for what in SCENARIOS["hung-node"].phases[0].expected if what in _CHAIN]
    assert expected == list(_CHAIN)
