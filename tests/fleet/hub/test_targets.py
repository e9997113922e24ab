"""Targets: host ranges, names of nodes, watched files."""

import asyncio
import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.base.names.host_ranges import expand
from accelwatch.fleet.hub.flags import _split
from accelwatch.fleet.target import Target, targets_of
from accelwatch.fleet.targets.files import TargetFiles, read_targets
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.watch import TargetWatch, in_thread
from support.processes.waiting import GUARD_S


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1:9400", ["n1:9400"]),
        ("n[001-003]:9400", ["n001:9400", "n002:9400", "n003:9400"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[1,4-5]", ["n1", "n4", "n5"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("[::1]:9400", ["[::1]:9400"]),
    ],
)
def test_ranges_stand_for_hosts(text: str, hosts: list[str]) -> None:
    assert expand(text) == hosts


@pytest.mark.parametrize("text", ["n[3-1]", "n[1-]", "n[1-999999999]", "n[1-999]m[1-999]", "n[1,]"])
def test_a_range_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        expand(text)


@given(st.text(alphabet="n[]0123456789,-:", max_size=30))
def test_any_text_expands_or_is_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert expand(text)


def test_a_node_is_named_by_its_host_not_by_its_port() -> None:
    ours, other = targets_of(["n001:9877", "n001:9400"])
    assert ours.node == other.node == "n001"
    assert ours.key != other.key


def test_on_loopback_every_port_is_a_node() -> None:
    assert [one.node for one in targets_of(["127.0.0.1:[1-2]"])] == ["127.0.0.1:1", "127.0.0.1:2"]


def test_labels_name_the_node_and_choose_the_path() -> None:
    labels = {"node": "n7", "rack": "r1", "__metrics_path__": "/gpu", "__scheme__": "https"}
    (one,) = targets_of(["10.0.0.7:9400"], labels)
    assert (one.node, one.labels) == ("n7", {"rack": "r1"})
    assert one.metrics_url == "https://10.0.0.7:9400/gpu"


def test_the_label_instance_never_names_a_node() -> None:
    (one,) = targets_of(["n1:9400"], {"instance": "elsewhere"})
    assert one.node == "n1"


def test_a_target_cannot_downgrade_https() -> None:
    with pytest.raises(UsageError, match="downgrade"):
        targets_of(["http://n1:9400"], scheme="https")
    with pytest.raises(UsageError, match="downgrade"):
        targets_of(["n1:9400"], {"__scheme__": "http"}, scheme="https")


def test_a_url_gives_a_base() -> None:
    (one,) = targets_of(["http://sim:9000/n001/"])
    assert one.url("/v1/stream") == "http://sim:9000/n001/v1/stream"
    assert one.node == "sim/n001"


@pytest.mark.parametrize(
    "text", ["", "n1:0", "n1:x", "a b:1", "::1:9400", "ftp://n1:1", "u:p@n1:1", "[::x]:1"]
)
def test_a_target_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        targets_of([text])


@pytest.mark.parametrize(
    "text",
    [
        "http://user:hunter2@n1:9400/",
        "http://:hunter2@n1:9400/",
        "http://hunter2@n[1-3-4]",
        "user:hunter2@n1",
        "hunter2@n[1-999999999]:9400",
    ],
)
def test_a_password_in_a_target_is_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="no user or password") as caught:
        targets_of([text])
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["http://[::1", "http://n1:x", "http://n1:9400/?a", "http://n1/#a"]
)
def test_a_url_that_is_none_is_a_mistake_of_the_list(text: str) -> None:
    with pytest.raises(UsageError, match="target"):
        targets_of([text])


def test_a_label_is_text_that_can_be_written() -> None:
    assert targets_of(["n1"], {"rack": "\u00e9"})[0].labels == {"rack": "\u00e9"}
    with pytest.raises(UsageError, match="rack"):
        targets_of(["n1"], {"rack": "\ud800"})


def test_targets_in_flags_are_parted_outside_brackets() -> None:
    assert _split(["n[1,3],m1", " x "]) == ["n[1,3]", "m1", "x"]


@pytest.mark.parametrize("suffix", ["json", "yml"])
def test_a_file_is_read_as_prometheus_writes_it(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"targets.{suffix}"
    file.write_text('[{"targets": ["n[1-2]:9400"], "labels": {"rack": "r1"}}]')
    assert [(one.node, one.labels) for one in read_targets(file)] == [
        ("n1", {"rack": "r1"}),
        ("n2", {"rack": "r1"}),
    ]


@pytest.mark.parametrize(
    "content", ["", "{", "[{]", '[{"target": ["n1"]}]', '{"targets": []}', '[{"targets": [1]}]']
)
def test_a_file_that_makes_no_sense_names_itself(tmp_path: Path, content: str) -> None:
    for suffix in ("json", "yaml"):
        file = tmp_path / f"targets.{suffix}"
        file.write_text(content)
        with pytest.raises(ConfigError, match="targets"):
            read_targets(file)


def test_a_half_written_file_leaves_the_targets_before(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    whole = json.dumps([{"targets": ["n1:1", "n2:1"]}])
    file.write_text(whole)
    files = TargetFiles([str(tmp_path / "*.json")], Rules())
    assert len(files.poll()) == 2
    for cut in (0, 1, len(whole) // 2, len(whole) - 1):
        file.write_text(whole[:cut])
        assert len(files.poll()) == 2
        assert files.kept.complaints
    file.write_text(json.dumps([{"targets": ["n3:1"]}]))
    assert [one.node for one in files.poll()] == ["n3"]
    assert not files.kept.complaints


def test_a_file_that_goes_takes_its_targets_along(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(f'[{{"targets": ["{name}:1"]}}]')
    files = TargetFiles([str(tmp_path / "*.json")], Rules())
    assert len(files.poll()) == 2
    (tmp_path / "a.json").unlink()
    assert [one.node for one in files.poll()] == ["b"]


def test_changes_of_a_file_are_applied(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text("[{targets: ['a:1']}]")
    seen: list[set[str]] = []

    def apply(targets: dict[str, Target]) -> None:
        seen.append({one.node for one in targets.values()})

    async def main() -> None:
        watch = TargetWatch(apply)
        files = TargetFiles([str(file)], Rules())
        watch.set(targets_of(["s:1"]), {"files": lambda: in_thread(files, 0.01)})
        task = asyncio.ensure_future(watch.run())
        async with asyncio.timeout(GUARD_S):
            while not seen:
                await asyncio.sleep(0.01)
            file.write_text("[{targets: ['a:1', 'b:1']}]")
            while len(seen) < 2:
                await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(main())
    assert seen == [{"s", "a"}, {"s", "a", "b"}]
