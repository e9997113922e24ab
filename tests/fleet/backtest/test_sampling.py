"""What samples that lie far apart hide is said, and groups and storms are made of what there is."""

import shutil
from pathlib import Path

import pytest

from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.line import Line
from accelwatch.fleet.backtest.run import final_lines
from support.archives.synthetic_fleet import Fault, Plan, archive

AT = 7200.0
LOST = 'state == "lost"'
LOGGED = 'event("xid", code == 79)'


def backtest(
    folder: Path, step_s: int, group: str, *, when: str = LOST, apart: int = 0, nodes: int = 12
) -> Backtest:
    """A device of each of some nodes is lost; of every other node that is seen `apart` samples later."""
    file = folder / "rules.yaml"
    rule = f"id: a, title: T, when: '{when}', keep: 1m, severity: critical{group and ', '}{group}"
    file.write_text(f"version: 1\nrules:\n- {{{rule}}}\n", encoding="utf-8")
    faults = tuple(
        Fault("lost_rows", node, AT + 7 + step_s * apart * (node % 2), 3600.0, 0)
        for node in range(nodes)
    )
    plan = Plan(
        nodes=14, devices=1, spare=0, step_s=step_s, seconds=14_400, sessions=False, missing=0.0,
        skewed=False, faults=faults,
    )  # fmt: skip
    archive(folder / "archive", plan)
    return Backtest(Archive(folder / "archive"), dict(load([file]).rules))


def lines(folder: Path, played: Backtest) -> list[Line]:
    return list(final_lines(Archive(folder / "archive"), played))


@pytest.mark.parametrize("step_s", [30, 60, 300])
def test_what_befalls_many_at_once_is_one_though_it_is_seen_a_sample_apart(
    tmp_path: Path, step_s: int
) -> None:
    group = "group: {by: fleet, at_least: 10, within: 10s}"
    (line,) = lines(tmp_path, backtest(tmp_path, step_s, group, apart=1))
    assert (line.scope, len(line.nodes)) == ("group", 12)


def test_what_comes_later_than_a_sample_is_not_at_once(tmp_path: Path) -> None:
    group = "group: {by: fleet, at_least: 10, within: 10s}"
    found = lines(tmp_path, backtest(tmp_path, 30, group, apart=2))
    assert [line.scope for line in found] == ["device"] * 12


@pytest.mark.parametrize("step_s", [30, 300, 600])
def test_a_storm_is_one_though_it_is_seen_a_sample_apart(tmp_path: Path, step_s: int) -> None:
    found = lines(tmp_path, backtest(tmp_path, step_s, "", apart=1))
    # The first is notified at once, as it is live.
    assert [line.scope for line in found if line.scope == "group"] == ["group"]
    assert len(found) <= 2
    assert len(found[-1].nodes) == 12


def test_the_sampling_is_shown(tmp_path: Path) -> None:
    assert list(backtest(tmp_path, 30, "").unseen) == [
        "a sample every 30 s: faults shorter than 30 s are not in this archive"
    ]


def test_events_are_no_samples(tmp_path: Path) -> None:
    played = backtest(tmp_path, 60, "", when=LOGGED)
    assert list(played.unseen) == [
        "a sample every 60 s: faults shorter than 60 s are not in this archive, "
        "unless the log has a line of them"
    ]


def test_an_archive_without_events_says_which_rules_that_blinds(tmp_path: Path) -> None:
    backtest(tmp_path, 30, "", when=LOGGED)
    shutil.rmtree(tmp_path / "archive" / "events")
    rules = dict(load([tmp_path / "rules.yaml"]).rules)
    unseen = list(Backtest(Archive(tmp_path / "archive"), rules).unseen)
    assert unseen == [
        "a sample every 30 s: faults shorter than 30 s are not in this archive",
        "the archive has no events: what 1 rule (a) would have found in logs is not seen",
    ]


@pytest.mark.parametrize(
    ("by", "text"),
    [
        (
            "rack",
            "the archive has no racks: incidents of 1 rule (a) are grouped as if all nodes were "
            "in one, and a storm in one rack needs ten nodes",
        ),
        (
            "labels.pdu",
            "the archive does not know labels.pdu: incidents of 1 rule (a) are not grouped by it",
        ),
        ("model", ""),
        ("fleet", ""),
    ],
)
def test_what_groups_cannot_be_made_by_is_reported(tmp_path: Path, by: str, text: str) -> None:
    played = backtest(tmp_path, 30, f"group: {{by: {by}, at_least: 5, within: 2m}}")
    _, *more = played.unseen
    assert more == ([text] if text else [])


def test_a_group_by_rack_is_made_of_the_whole_fleet(tmp_path: Path) -> None:
    group = "group: {by: rack, at_least: 5, within: 2m}"
    (line,) = lines(tmp_path, backtest(tmp_path, 30, group))
    assert (line.scope, len(line.nodes)) == ("group", 12)
