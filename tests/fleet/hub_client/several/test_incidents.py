"""Incidents of two real hubs: ids with the hub's name, and each request at the hub that it is about."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from accelwatch.alerting.evaluation.describing import document_of
from accelwatch.alerting.evaluation.documents import MuteNote
from accelwatch.base.errors import AccelwatchError, UnmetError
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.hub_client.several.names.incident_ids import incident_in
from accelwatch.fleet.hub_client.several.names.shared_nodes import ownership
from accelwatch.fleet.picture.model import FleetView
from support.fleet.hub_peers import Running, agent
from support.fleet.several_hubs import following, hub_of, other_machine, until
from support.incidents.incident_samples import incident
from support.machines import composed as machines

RULES = """\
version: 1
defaults: {keep: 0}
rules:
- {id: gpu.lost, title: A GPU is lost, when: state == "lost", severity: critical}
"""


def opened(view: FleetView) -> list[str]:
    return sorted(entry.incident.id for entry in view.incidents if entry.incident.state == "open")


def mutes(running: Running) -> int:
    judging = running.hub.rules
    assert judging is not None
    return len(judging.incident_store.muting.silences)


def test_requests_go_to_the_hub_of_the_incident(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)
    broken = machines.snapshot(machines.lost_view(0))
    other = other_machine(1).devices[0].device
    lost = msgspec.structs.replace(machines.lost_view(0), device=other)

    async def main() -> None:
        async with (
            agent(broken) as one,
            agent(machines.snapshot(lost)) as two,
            hub_of(
                tmp_path / "a", {"n1": one.address}, rules=rules, state_dir=tmp_path / "a"
            ) as first,
            hub_of(
                tmp_path / "b", {"n2": two.address}, rules=rules, state_dir=tmp_path / "b"
            ) as second,
            following(first.base, second.base) as source,
        ):
            view = await until(source, lambda view: len(opened(view)) == 2)
            assert opened(view) == ["i1@pod-1", "i1@pod-2"]
            assert view.rules is not None
            assert (view.rules.evaluated, view.rules.rules) == (True, 1)
            assert view.rules.open == {"critical": 2}

            outcome = await source.changes.silence(("id=i1@pod-2",), "2h", "a new board")
            assert outcome.startswith("pod-2: silence s")
            assert (mutes(first), mutes(second)) == (0, 1)
            view = await until(
                source,
                lambda view: any(entry.incident.muted_by for entry in view.incidents),
            )
            (mute,) = [
                entry.incident.muted_by for entry in view.incidents if entry.incident.muted_by
            ]
            assert await source.changes.expire_silence(mute.id) == f"silence {mute.id} is over"
            assert (mutes(first), mutes(second)) == (0, 0)

            await source.changes.silence(("node=n1",), "2h", "cables")
            assert (mutes(first), mutes(second)) == (1, 0)
            outcome = await source.changes.silence(("rule=gpu.lost",), "2h", "known")
            assert outcome.startswith("pod-1: silence s")
            assert "; pod-2: silence s" in outcome
            assert (mutes(first), mutes(second)) == (2, 1)
            # A pattern may be of nodes of any hub; quotes are none of a name.
            await source.changes.silence(("node=~n.*",), "2h", "known")
            assert (mutes(first), mutes(second)) == (3, 2)
            await source.changes.silence((' node = "n2" ',), "2h", "known")
            assert (mutes(first), mutes(second)) == (3, 3)

            explanation = await source.explain("gpu.lost", "n2/nvidia0")
            assert "n2" in str(explanation)
            with pytest.raises(AccelwatchError):
                await source.explain("gpu.lost", "job:4711")
            graphs = await source.graphs("i1@pod-2")
            assert graphs is not None
            assert graphs.id == "i1@pod-2"
            assert await source.graphs("i1") is None

            assert await source.changes.close("i1@pod-1", "done") == "i1@pod-1 closed"
            view = await until(source, lambda view: opened(view) == ["i1@pod-2"])
            with pytest.raises(AccelwatchError, match="not closed: no incident 'i9' is open"):
                await source.changes.close("i9@pod-2", "again")
            with pytest.raises(UnmetError, match="'i1' does not name its hub"):
                await source.changes.close("i1", "again")

    asyncio.run(main())


def test_a_silence_that_one_hub_refuses_says_what_the_other_did(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)

    async def main() -> None:
        async with (
            hub_of(tmp_path / "a", {}, rules=rules, state_dir=tmp_path / "a") as first,
            hub_of(tmp_path / "b", {}) as second,
            following(first.base, second.base) as source,
        ):
            with pytest.raises(AccelwatchError, match=r"pod-1: silence s\d.*; pod-2: not silenced"):
                await source.changes.silence(("rule=gpu.lost",), "2h", "known")
            assert mutes(first) == 1

    asyncio.run(main())


def test_all_ids_and_nodes_of_an_incident_get_the_names_of_the_picture() -> None:
    uuids = [{"n1": frozenset({"a"})}, {"n1": frozenset({"b"})}]
    owner = ownership(["pod-1", "pod-2"], [{"n1": "up"}, {"n1": "up"}], uuids)
    mute = MuteNote(id="s3", kind="silence", reason="", by="", until="")
    own = msgspec.structs.replace(
        document_of(incident()),
        id="i7",
        node="n1",
        nodes=("n1", "n2"),
        members=("i8",),
        group_incident="i9",
        follows="i10",
        muted_by=mute,
    )
    shown = incident_in(own, 1, owner)
    assert (shown.id, shown.node, shown.nodes) == ("i7@pod-2", "n1@pod-2", ("n1@pod-2", "n2"))
    assert (shown.members, shown.group_incident) == (("i8@pod-2",), "i9@pod-2")
    assert shown.follows == "i10@pod-2"
    assert shown.muted_by is not None
    assert shown.muted_by.id == "s3@pod-2"
    plain = incident_in(msgspec.structs.replace(own, group_incident="", muted_by=None), 0, owner)
    assert (plain.group_incident, plain.muted_by) == ("", None)
