"""`accelwatch simulate recovery`: its options, its two forms, its sources."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.alerting.evaluation.describing import document_of
from accelwatch.alerting.evaluation.documents import MuteNote
from accelwatch.alerting.rules.document import Advice
from accelwatch.base.errors import AccelwatchError, ConfigError, UnmetError, UsageError
from accelwatch.cli.simulate.recovery_counts import causes
from accelwatch.cli.startup.app import build
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.backtest.line import Line
from accelwatch.schema.timestamps import timestamp
from scoring.measures import table
from scoring.results import judge
from support.archives.synthetic_fleet import Fault, Plan, archive
from support.fleet.hub_peers import agent, hub
from support.incidents.incident_samples import incident
from support.machines import composed as machines
from traces.truth import Fault as TrueFault

FEW = ("--faults", "300")
OUTAGES = Path(__file__).resolve().parents[2] / "fixtures/recovery/outages.json"


def run(*words: str) -> tuple[str, str]:
    result = CliRunner().invoke(build(), ["simulate", "recovery", *FEW, *words])
    if isinstance(result.exception, AccelwatchError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def document(*words: str) -> Any:
    return json.loads(run("--format", "json", *words)[0])


def test_a_table_with_three_policies_three_answers_and_sources() -> None:
    out, err = run()
    lines = out.splitlines()
    assert err == ""
    assert lines[0] == "from a fault to the first productive step; 300 faults, seed 0"
    assert lines[2].split()[:4] == ["POLICY", "MEAN", "MEDIAN", "P90"]
    names = ("manual triage", "retry every 11 min, same nodes", "accelwatch")
    assert [line.startswith(name) for line, name in zip(lines[3:6], names, strict=True)] == [
        True
    ] * 3
    for question in ("How many spares", "How often should I save?", "What would 10 min less load"):
        assert sum(line.startswith(question) for line in lines) == 1
    assert "marked `assumed` below are its goals and not measured" in out
    assert "arXiv:2605.09370v1: 63 nodes, 55 days" in out
    assert "assumed: as many as of hardware" in out


def test_the_example_of_the_page_is_what_is_printed() -> None:
    page = (Path(__file__).parents[2] / "docs/recovery.md").read_text(encoding="utf-8")
    prompt = "$ accelwatch simulate recovery --save-interval 150m\n"
    example = page.partition(prompt)[2].partition("```")[0]
    words = ["simulate", "recovery", "--save-interval", "150m"]
    assert CliRunner().invoke(build(), words).stdout == example


def test_json_has_seconds_and_the_same_seed_the_same_bytes() -> None:
    first = run("--format", "json", "--seed", "7")[0]
    assert run("--format", "json", "--seed", "7")[0] == first
    found = json.loads(first)
    assert found["plan"]["seed"] == 7
    assert found["plan"]["site"]["load_s"] == 1980.0
    assert set(found["outcomes"]) == {"manual", "fixed", "accelwatch"}
    assert found["outcomes"]["accelwatch"]["mean_s"] < found["outcomes"]["manual"]["mean_s"]
    assert document("--seed", "8")["outcomes"] != found["outcomes"]


def test_options_of_the_site_are_what_is_simulated() -> None:
    words = ["--nodes", "128", "--devices", "4", "--load", "5m", "--save", "30s", "--repair", "2d"]
    words += ["--triage", "1h", "--save-interval", "2h"]
    assert document(*words)["plan"]["site"] == {
        "nodes": 128,
        "devices": 4,
        "load_s": 300.0,
        "save_s": 30.0,
        "save_interval_s": 7200.0,
        "repair_s": 172_800.0,
        "triage_s": 3600.0,
    }


def test_spares_are_counted_in_recorded_outages_too() -> None:
    own = document("--outages", str(OUTAGES), "--outage-servers", "100")
    assert own["spares"]["recorded"] == {
        "enough": 1,
        "trace": "outages.json",
        "servers": 100,
        "days": 10.5,
        "outages": 5,
    }
    assert document()["spares"]["recorded"] is None
    out, _ = run("--outages", str(OUTAGES), "--outage-servers", "100")
    text = "In outages.json (100 servers, 10 days, 5 outages) 1 were enough in 99 % of the hours for 60"
    assert text in out


def test_recorded_outages_of_few_servers_say_nothing() -> None:
    out, _ = run("--outages", str(OUTAGES))
    assert "outages.json (3 servers, 10 days, 5 outages) has too few servers for 60 nodes" in out


def test_the_most_spares_are_advised(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    events = [
        {"node_id": str(node), "event_time": at, "event_type": type_}
        for node in range(40)
        for at, type_ in ((0.0, "fault_start"), (5.0, "fault_end"))
    ]
    path.write_text(json.dumps(events))
    out, _ = run("--outages", str(path), "--nodes", "40")
    assert "How many spares should I keep? 40 for 40 nodes" in out


def test_what_an_operator_states_is_not_assumed() -> None:
    stated = ("--right-node", "80%", "--recall", "0.9", "--delay", "2m")
    detector = document(*stated)["plan"]["detector"]
    assert detector["right_node"] == {"value": 0.8, "origin": "stated", "detail": ""}
    assert {share["value"] for share in detector["recall"].values()} == {0.9}
    assert {delay["median_s"] for delay in detector["delays"].values()} == {120.0}
    # How a shared cause is reported has no option.
    assert detector["single_group"]["origin"] == "assumed"
    assert "80%" in run(*stated)[0]


def test_code_that_no_restart_cures() -> None:
    kinds = document("--code-share", "31%")["plan"]["rates"]["by_kind"]
    assert kinds["code"] / (kinds["code"] + kinds["software"]) == pytest.approx(0.31)
    assert "--code-share of these" in run("--code-share", "31%")[0]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--right-node", "1.2"], "--right-node is a share such as 0.9 or 90%, not '1.2'"),
        (["--recall", "-1"], "--recall is a share such as 0.9 or 90%, not '-1'"),
        (["--code-share", "most"], "--code-share is a share such as 0.9 or 90%, not 'most'"),
        (["--right-node", "nan"], "--right-node is a share such as 0.9 or 90%, not 'nan'"),
        (["--load", "33"], "--load: '33' has no unit; write 33m, 33h or 33d"),
        (["--load", "0s"], "--load must be longer than 0, not '0s'"),
        (["--delay", "0m"], "--delay must be longer than 0, not '0m'"),
        (["--outage-servers", "9"], "--outage-servers goes with --outages FILE"),
        (["--outages", "/nowhere.json"], "--outages /nowhere.json: No such file or directory"),
        (["--detector", "packs"], "--detector goes with --measured FILE"),
        (["--measured", "/nowhere.json"], "--measured /nowhere.json: No such file or directory"),
        (["--hub", "http://h:1", "--history", "a"], "--hub and --history: one of them"),
        (["--hub.config.file", "a"], "--hub.config.file goes with --hub"),
    ],
)
def test_mistakes_say_what_to_write(words: list[str], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(*words)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    "words", [["--nodes", "1"], ["--faults", "10"], ["--format", "csv"], ["--save", "soon"]]
)
def test_limits_of_numbers_and_forms(words: list[str]) -> None:
    result = CliRunner().invoke(build(), ["simulate", "recovery", *words])
    assert result.exit_code == 2
    assert words[0] in result.output


def scored() -> Any:
    """A run as the benchmark writes it, of one fault that was found after 20 s."""
    fault = TrueFault(kind="off_bus", scope="device", onset=1000.0, end=8200.0, node="n1")
    line = Line(
        opened=1020.0,
        closed=None,
        level="alert",
        scope="node",
        node="n1",
        device=None,
        job=None,
        nodes=[],
        rule="a",
        channels=[],
        advice=Advice.REBOOT,
        explanation=[],
    )
    measures = table([judge([line], [fault], [], 1.0)])
    documents = {name: {"measures": measures, "precursors": {}} for name in ("packs", "limits")}
    return msgspec.to_builtins({"arguments": {}, "detectors": documents})


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_scored_run_has_the_measured_figures(tmp_path: Path, form: str) -> None:
    file = tmp_path / f"scored.{form}"
    file.write_bytes((msgspec.json if form == "json" else msgspec.yaml).encode(scored()))
    detector = document("--measured", str(file), "--detector", "packs")["plan"]["detector"]
    measured = {"value": 1.0, "origin": "measured", "detail": "1 of 1"}
    assert detector["recall"]["xid"] == measured
    assert detector["right_node"] == measured
    assert detector["delays"]["hard"] == {"median_s": 20.0, "p95_s": 20.0, "origin": "measured"}
    # The run had nothing of these.
    assert detector["recall"]["no_xid"]["origin"] == "assumed"
    assert detector["delays"]["hang"]["origin"] == "assumed"
    out = run("--measured", str(file), "--detector", "packs")[0]
    assert f"measured: 1 of 1, packs, {file.name}" in out
    assert "not measured" in out
    stated = document("--measured", str(file), "--detector", "packs", "--right-node", "0.5")
    assert stated["plan"]["detector"]["right_node"]["origin"] == "stated"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "scored.json: choose one with --detector; there are: limits, packs"),
        (["--detector", "mine"], "scored.json: no detector 'mine'; there are: limits, packs"),
    ],
)
def test_which_detector_of_a_run(tmp_path: Path, words: list[str], text: str) -> None:
    file = tmp_path / "scored.json"
    file.write_bytes(msgspec.json.encode(scored()))
    with pytest.raises(ConfigError, match=text):
        run("--measured", str(file), *words)


def test_the_only_detector_of_a_run_needs_no_name(tmp_path: Path) -> None:
    file = tmp_path / "scored.json"
    found = scored()
    del found["detectors"]["limits"]
    file.write_bytes(msgspec.json.encode(found))
    assert document("--measured", str(file))["plan"]["detector"]["source"] == "packs, scored.json"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"detectors": {"a": {}}}',
        "{",
        '{"detectors": {"a": {"measures": {"right_node": {"hits": 5, "of": 3}}}}}',
        '{"detectors": {"a": {"measures": {"right_node": {"hits": -1, "of": 3}}}}}',
        '{"detectors": {"a": {"measures": {"delays": {"hard": [-5, 10]}}}}}',
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "scored.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"scored\.json: not a scored run of"):
        run("--measured", str(file))


NOW = 1_795_000_000.0


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({}, [("reboot", "device")]),
        ({"members": ("i2", "i3"), "group": "rack=r1"}, [("reboot", "group")]),
        ({"members": ("i2", "i3"), "group": "node=n5", "advice": "wait"}, [("reset", "node")]),
        ({"members": ("i8",), "group": "node=n5", "advice": "exclude"}, [("exclude", "node")]),
        ({"rule": "detector.node.suspect"}, []),
        ({"muted_by": MuteNote(kind="silence", id="s1", reason="r", by="ada", until="")}, []),
        ({"severity": "warning"}, []),
        ({"group_incident": "i9"}, []),
        ({"follows": "i9"}, []),
        ({"since": timestamp(NOW - 1.0)}, []),
    ],
)
def test_each_cause_that_paged_somebody_counts_once(
    fields: dict[str, Any], counts: list[tuple[str, str]]
) -> None:
    usual = {
        "severity": "critical",
        "advice": "reboot",
        "scope": "device",
        "members": (),
        "group_incident": "",
        "follows": "",
        "since": timestamp(NOW),
    }
    made = msgspec.structs.replace(document_of(incident()), **{**usual, **fields})
    member = msgspec.structs.replace(
        made, id="i2", members=(), group="", group_incident="i1", advice="reset"
    )
    assert [(each.advice, each.scope) for each in causes([made, member], NOW)] == counts


def test_days_are_those_of_a_hub() -> None:
    with pytest.raises(UsageError, match="--days goes with --hub"):
        run("--days", "5")


RULES = """\
version: 1
defaults: {keep: 0}
rules:
- {id: gpu.lost, title: Lost, when: state == "lost", severity: critical, advice: reboot}
- {id: gpu.warm, title: Warm, when: power_watts > 0, severity: warning, advice: reset}
"""


def test_a_hub_s_own_incidents_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)

    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with agent(broken) as peer, hub(peer.address, rules=rules) as running:
            while len((await running.get("/v1/incidents"))["incidents"]) < 2:
                await asyncio.sleep(0.02)
            words = ("--hub", running.base, "--days", "10")
            rates = (await asyncio.to_thread(document, *words))["plan"]["rates"]
            assert rates["by_kind"] == {"off_bus": 0.1}
            assert (rates["count"], rates["node_days"]) == (1, 10.0)
            assert rates["source"] == f"{running.base}, the last 10 days"
            _, err = await asyncio.to_thread(run, *words)
            assert "only 1 failure; the rates are uncertain" in err

    asyncio.run(main())


def test_a_hub_without_incidents_has_nothing_to_count() -> None:
    async def main() -> None:
        async with agent(machines.snapshot(machines.view(0))) as peer, hub(peer.address) as running:
            with pytest.raises(UnmetError, match="the published rates are used"):
                await asyncio.to_thread(run, "--hub", running.base)

    asyncio.run(main())


def test_an_archive_is_played_and_counted(tmp_path: Path) -> None:
    faults = (Fault("lost", 1, 900.0, 1800.0, 0),)
    plan = Plan(nodes=3, devices=2, spare=1, seconds=3600, sessions=False, faults=faults)
    archive(tmp_path / "a", plan)
    rates = document("--history", str(tmp_path / "a"))["plan"]["rates"]
    assert rates["count"] >= 1
    assert "off_bus" in rates["by_kind"]
    assert rates["source"].startswith(f"all packs over {tmp_path / 'a'}")
