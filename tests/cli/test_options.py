"""A command's options are the fields of its structs: declared once, with their defaults and settings."""

from pathlib import Path
from typing import Annotated

import msgspec
import pytest
from click.testing import CliRunner

from accelwatch.cli.fleet.fleet_plan import DisplayOptions, PrintOptions, StateOptions, Targeting
from accelwatch.cli.node.pick import PickOptions
from accelwatch.cli.options import FlagValue, command, settings_named, settings_of, shared_option
from accelwatch.cli.parameters import Setting, option
from accelwatch.cli.servers.agent_command import AgentOptions
from accelwatch.cli.servers.hub import HubOptions
from accelwatch.cli.servers.serve import ServeOptions
from accelwatch.cli.startup.dashboard_command import DashboardOptions
from accelwatch.cli.trial.demo import DemoOptions
from accelwatch.cli.trial.sim import SimPlan


class Inner(msgspec.Struct, frozen=True, kw_only=True):
    size: Annotated[int, option(metavar="N", help="How large.")] = 3
    hidden: int = 7


class Inmost(msgspec.Struct, frozen=True, kw_only=True):
    depth: Annotated[str | None, option("--depth"), Setting("a.depth")] = None


class Marked(msgspec.Struct, frozen=True, kw_only=True):
    needed: Annotated[str, option("--needed"), Setting("needed")]
    inmost: Inmost = Inmost()


class Outer(msgspec.Struct, frozen=True, kw_only=True):
    names: Annotated[list[str] | None, option("--name"), Setting("a.names")] = None
    inner: Inner = Inner()
    loud: Annotated[bool, option("--loud"), Setting("a.loud")] = False
    file: Annotated[Path | None, option("--file")] = None
    word: Annotated[str | None, option("--word"), Setting("word")] = None


def ran(*words: str) -> list[tuple[Outer, bool]]:
    """What a command was called with."""
    calls: list[tuple[Outer, bool]] = []

    @command
    def tried(
        outer: Outer, last: Annotated[bool, option("--last", help="The last one.")] = False
    ) -> None:
        """Try it."""
        calls.append((outer, last))

    result = CliRunner().invoke(tried, list(words))

    assert result.exit_code == 0, result.output
    if "--help" in words:
        positions = [result.output.index(flag) for flag in ("Try it", "--name", "--size", "--loud")]
        assert positions == sorted(positions)
        assert "--hidden" not in result.output
    return calls


def test_fields_are_options_in_their_order() -> None:
    assert ran("--help") == []


def test_what_is_not_given_has_the_default_of_its_field() -> None:
    ((outer, last),) = ran()
    assert (outer.inner, outer.loud, outer.file, outer.word, last) == (
        Inner(size=3, hidden=7),
        False,
        None,
        None,
        False,
    )
    assert not outer.names


def test_what_is_given_arrives_in_its_struct() -> None:
    words = ("--name", "a,b", "--name", "c", "--size", "5", "--loud", "--file", "x", "--last")
    ((outer, last),) = ran(*words)
    expected = Outer(names=["a,b", "c"], inner=Inner(size=5), loud=True, file=Path("x"))
    assert (outer, last) == (expected, True)


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (Outer(), {"a.names": None, "a.loud": None, "word": None}),
        (Outer(names=[]), {"a.names": None, "a.loud": None, "word": None}),
        (
            Outer(names=["a,b", "c"], loud=True, word="w"),
            {"a.names": ["a", "b", "c"], "a.loud": True, "word": "w"},
        ),
    ],
)
def test_options_stand_for_settings(options: Outer, settings: dict[str, FlagValue]) -> None:
    assert settings_of(options) == settings


def test_options_of_inner_tables_stand_for_settings_too() -> None:
    assert settings_named(Marked) == {"needed": "needed", "depth": "a.depth"}
    assert settings_of(Marked(needed="n")) == {"needed": "n", "a.depth": None}
    deep = Marked(needed="n", inmost=Inmost(depth="3"))
    assert settings_of(deep) == {"needed": "n", "a.depth": "3"}


def test_a_field_without_a_default_must_be_given() -> None:
    calls: list[Marked] = []

    @command
    def tried(marked: Marked) -> None:
        calls.append(marked)

        assert CliRunner().invoke(tried, []).exit_code == 2

    assert CliRunner().invoke(tried, ["--needed", "x", "--depth", "1"]).exit_code == 0
    assert calls == [Marked(needed="x", inmost=Inmost(depth="1"))]


def test_a_row_of_the_one_shot_table_may_mean_something_of_a_command_s_own() -> None:
    class Rows(msgspec.Struct, frozen=True, kw_only=True):
        filter: Annotated[str, shared_option("filter")] = ""
        replay: Annotated[str, shared_option("replay", "Play it.")] = ""

    @command
    def tried(rows: Rows) -> None:
        """Try it."""

    shown = " ".join(CliRunner().invoke(tried, ["--help"]).output.split())

    assert "Only devices for which the expression is true." in shown
    assert "Play it." in shown
    assert "Read a recording or scenario" not in shown


@pytest.mark.parametrize("table", [AgentOptions, HubOptions])
def test_no_setting_has_two_options(table: type[msgspec.Struct]) -> None:
    dotted = list(settings_named(table).values())
    assert len(dotted) == len(set(dotted)) > 10


@pytest.mark.parametrize(
    "tables",
    [
        (AgentOptions,),
        (HubOptions,),
        (SimPlan,),
        (Targeting, PrintOptions, StateOptions, DisplayOptions),
        (DashboardOptions, DemoOptions, PickOptions, ServeOptions),
    ],
)
def test_every_default_can_be_built(tables: tuple[type[msgspec.Struct], ...]) -> None:
    for table in tables:
        assert table() == table()
