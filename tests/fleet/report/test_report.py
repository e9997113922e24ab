"""A report of a hub: one HTML file with incidents, repeat offenders and evidence."""

import asyncio
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.alerting.evaluation.describing import document_of
from accelwatch.alerting.evaluation.documents import IncidentDocument, IncidentsPage
from accelwatch.base.errors import UnmetError
from accelwatch.cli.startup.app import build
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.report.summary import chosen, offenders
from accelwatch.schema.timestamps import timestamp
from support.fleet.hub_peers import agent, hub
from support.fleet.several_hubs import other_machine
from support.incidents.incident_samples import incident
from support.machines import composed as machines

NOW = 1_795_000_000.0
RULES = """\
version: 1
defaults: {keep: 0}
rules:
- id: gpu.lost
  title: A GPU is <lost>
  when: state == "lost"
  severity: critical
  what_to_do: reboot it
"""


def one(**fields: Any) -> IncidentDocument:
    usual: dict[str, Any] = {
        "severity": "critical",
        "node": "n1",
        "nodes": ("n1",),
        "device": "nvidia:1",
        "device_name": "nvidia1",
        "serial": "s1",
        "group_incident": "",
        "follows": "",
        "closed": timestamp(NOW),
        "since": timestamp(NOW - 60.0),
        "reopened": 0,
    }
    return msgspec.structs.replace(document_of(incident()), **{**usual, **fields})


def page(*incidents: IncidentDocument) -> IncidentsPage:
    return IncidentsPage(evaluated=True, incidents=incidents)


def test_a_device_is_known_by_its_serial_in_whichever_node_it_is() -> None:
    moved = one(node="n2", nodes=("n2",), since=timestamp(NOW - 30.0))
    (found,) = offenders(page(one(), moved, one(serial="s2")), NOW - 3600.0, "")
    assert (found.what, found.count, found.nodes) == ("serial s1", 2, ("n1", "n2"))
    assert (found.first, found.last) == (timestamp(NOW - 60.0), timestamp(NOW - 30.0))


def test_each_return_counts_and_a_device_without_a_serial_has_its_name() -> None:
    (found,) = offenders(page(one(serial="", reopened=2)), NOW - 3600.0, "")
    assert (found.what, found.count) == ("n1/nvidia1", 3)
    assert [count for _, count in found.rules] == [3]


@pytest.mark.parametrize(
    "left_out",
    [
        {"severity": "info"},
        {"follows": "i7"},
        {"node": ""},
        {"closed": timestamp(NOW - 7200.0)},
    ],
)
def test_what_is_no_fault_of_its_own_or_too_old_does_not_count(left_out: dict[str, Any]) -> None:
    assert offenders(page(one(), one(**left_out)), NOW - 3600.0, "") == []


def test_one_node_has_its_own_offenders_and_incidents() -> None:
    other = one(node="n2", nodes=("n2",), serial="s2")
    found = page(one(), one(), other, other)
    assert [who.what for who in offenders(found, 0.0, "n2")] == ["serial s2"]
    assert chosen(found, 0.0, "n2") == [other, other]


@pytest.mark.parametrize(
    ("fields", "there"),
    [
        ({}, True),
        ({"severity": "info"}, False),
        ({"group_incident": "i7"}, False),
        ({"closed": timestamp(NOW - 7200.0)}, False),
        ({"closed": None, "since": timestamp(NOW - 7200.0)}, True),
    ],
)
def test_incidents_of_the_time_are_chosen(fields: dict[str, Any], there: bool) -> None:
    assert bool(chosen(page(one(**fields)), NOW - 3600.0, "")) is there


class Words(HTMLParser):
    """The text of a page, and which elements it has."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onclick", "style"}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_file_of_a_real_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)
    monkeypatch.chdir(tmp_path)

    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        state = tmp_path / "state"
        async with (
            agent(broken) as bad,
            agent(other_machine()) as good,
            hub(bad.address, good.address, rules=rules, state_dir=state) as running,
        ):
            await running.until(lambda: bool(running.hub.rules and running.hub.rules.open))
            for words in ([], ["--node", bad.address]):
                command = ["report", "--hub", running.base, "-o", "report.html", *words]
                result = await asyncio.to_thread(CliRunner().invoke, build(), command)
                assert result.exit_code == 0, result.stderr
                seen = Words()
                seen.feed(Path("report.html").read_text(encoding="utf-8"))
                text = "\n".join(seen.words)
                for part in ("A GPU is <lost>", "What to do: reboot it", bad.address, "i1"):
                    assert part in text
                assert ("Fleet" in seen.words) is (words == [])
                assert not seen.tags & {"script", "lost", "iframe", "img", "link"}
            assert stat.S_IMODE(Path("report.html").stat().st_mode) == 0o600

            command = ["report", "--hub", running.base, "-o", "report.html/x"]
            result = await asyncio.to_thread(CliRunner().invoke, build(), command)
            assert "cannot be written" in str(result.exception)
            command = ["report", "--hub", running.base, "-o", "good.html", "--node", good.address]
            result = await asyncio.to_thread(CliRunner().invoke, build(), command)
            assert result.exit_code == 0, result.stderr
            command = ["report", "--hub", running.base, "-o", "none.html", "--node", "n9"]
            result = await asyncio.to_thread(CliRunner().invoke, build(), command)
            assert isinstance(result.exception, UnmetError)
            assert not Path("none.html").exists()

            command = ["report", "--hub", running.base, "--since", "7"]
            result = await asyncio.to_thread(CliRunner().invoke, build(), command)
            assert "no unit" in str(result.exception)

    (tmp_path / "state").mkdir()
    asyncio.run(main())
