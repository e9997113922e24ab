"""The options of the table, with and without `snapshot` before them."""

import pytest

from accelwatch.cli.arguments import Arguments, normalised, split_list
from accelwatch.cli.node import snapshot
from accelwatch.cli.startup.app import build, invoke


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Arguments]:
    """The arguments of the readings that were asked for, of which none is made."""
    requested: list[Arguments] = []

    def run(arguments: Arguments) -> int:
        requested.append(arguments)
        return 0

    monkeypatch.setattr(snapshot, "run", run)
    return requested


def test_no_two_options_share_a_flag() -> None:
    flags = [flag for option in build().params for flag in option.opts]
    assert len(flags) == len(set(flags)) > len(Arguments.__struct_fields__)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], Arguments()),
        (["snapshot"], Arguments()),
        (["--json"], Arguments(json=True)),
        (["snapshot", "--format=csv"], Arguments(format="csv")),
        (["-d", "0,1", "-d", "all"], Arguments(device=("0,1", "all"))),
        (["-i", "0"], Arguments(device=("0",))),
        (["--watch"], Arguments(watch="2s")),
        (["--watch", "--json"], Arguments(watch="2s", json=True)),
        (["-w", "500ms", "-n", "3"], Arguments(watch="500ms", count=3)),
        (["--watch=1"], Arguments(watch="1")),
        (["-lms", "500", "-n", "2"], Arguments(watch="500ms", count=2)),
        (["--loop-ms", "1000"], Arguments(watch="1000ms")),
        (["-l", "1"], Arguments(watch="1")),
        (
            ["--query-gpu=name", "--format=csv,noheader"],
            Arguments(query_gpu="name", format="csv,noheader"),
        ),
    ],
)
def test_words_are_understood(words: list[str], expected: Arguments, runs: list[Arguments]) -> None:
    assert invoke(words) == 0
    assert runs == [expected]


@pytest.mark.parametrize(
    "words", [["--nonsense"], ["--fields"], ["-n", "x"], ["-w", "5x"], ["--json=1"], ["word"]]
)
def test_a_mistake_reads_nothing(words: list[str], runs: list[Arguments]) -> None:
    assert invoke(words) == 2
    assert runs == []


def test_help_reads_nothing(runs: list[Arguments]) -> None:
    assert invoke(["--help"]) == invoke(["snapshot", "-h"]) == 0
    assert runs == []


def test_lists_are_split() -> None:
    assert split_list(("a,b", " c ", "")) == ("a", "b", "c")


def test_a_dashboard_starts_its_recording_again_without_an_interval() -> None:
    words = ["dashboard", "--replay", "demo", "--loop"]
    assert normalised(words) == words
    assert normalised(["snapshot", "--loop"]) == ["snapshot", "--loop", "2s"]
