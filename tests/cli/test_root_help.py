"""The help of `accelwatch` itself, older names, and options of the dashboard without its name."""

import re
from collections.abc import Iterator
from typing import Any

import click
import pytest

from accelwatch.cli.node.snapshot_command import snapshot_command
from accelwatch.cli.startup import routing
from accelwatch.cli.startup.app import build
from accelwatch.cli.startup.commands import COMMANDS, HEADINGS
from accelwatch.cli.startup.dashboard_command import dashboard_command
from support.processes import warm_command

NAMES = [name for name, command in COMMANDS.items() if command.heading]
OLDER = {
    "remedies": "list",
    **{
        name: name
        for name in (
            *("plan", "approve", "deny", "quarantine", "release", "hold", "recovered", "retry"),
            *("forget", "spares", "stop", "start", "breaker", "actions"),
        )
    },
}


def group(application: Any, *names: str) -> Any:
    for name in names:
        application = application.commands[name]
    return application


@pytest.fixture(scope="module")
def root() -> Any:
    return build()


def text_below(lines: list[str], heading: str) -> list[str]:
    return lines[lines.index(heading) + 1 :]


def test_the_help_lists_each_command_in_one_line_below_its_heading() -> None:
    run = warm_command.accelwatch("--help")
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    for name in NAMES:
        command = COMMANDS[name]
        assert command.heading in HEADINGS
        assert f"  {name.ljust(11)}  {command.summary}" in lines
    assert max(map(len, lines)) <= 80
    assert len(NAMES) <= 30
    daily = [name for name, command in COMMANDS.items() if command.heading == HEADINGS[0]]
    assert (HEADINGS[0], len(daily)) == ("Daily use", 10)
    assert text_below(lines, "Daily use:")[:10] == [
        f"  {name.ljust(11)}  {COMMANDS[name].summary}" for name in daily
    ]


def test_the_help_says_what_happens_without_a_command_and_gives_five_examples() -> None:
    text = warm_command.accelwatch("--help").stdout
    assert "Without a command: the dashboard on a terminal, a table on a pipe." in text
    examples = text.partition("Examples:\n")[2].partition("\n\n")[0].splitlines()
    assert len(examples) == 5
    assert all(line.startswith("  accelwatch") for line in examples)
    assert "--query-gpu" not in text
    assert "accelwatch snapshot --help" in text


def test_the_options_of_the_table_are_in_the_help_of_snapshot() -> None:
    text = warm_command.accelwatch("snapshot", "--help").stdout
    for option in snapshot_command.params:
        assert option.opts[-1] in text, option.name


def test_commands_that_are_not_listed_are_older_names_or_for_programs(root: Any) -> None:
    hidden = {name for name, command in root.commands.items() if command.hidden}
    assert hidden == {*OLDER, "backends", "bandwidth", "snapshot", "stream", "welcome"}


@pytest.mark.parametrize(("older", "name"), OLDER.items())
def test_an_older_name_is_the_same_command(older: str, name: str, root: Any) -> None:
    before, now = group(root, older), group(root, "remedy", name)
    assert [one.opts for one in before.params] == [one.opts for one in now.params]
    assert (before.help or "") == (now.help or "")
    assert list(getattr(before, "commands", ())) == list(getattr(now, "commands", ()))


@pytest.mark.parametrize("words", [["help"], ["--help"], ["-h"]])
def test_help_is_a_word_too(words: list[str]) -> None:
    assert warm_command.accelwatch(*words).stdout == warm_command.accelwatch("--help").stdout


def test_help_of_a_command_by_the_word_before_it() -> None:
    stdout = warm_command.accelwatch("help", "remedy", "plan").stdout
    assert stdout == warm_command.accelwatch("remedy", "plan", "--help").stdout
    assert stdout.startswith("Usage: accelwatch remedy plan")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nonsense"], "accelwatch: no such option: --nonsense"),
        (["nonsense"], "accelwatch: no such command 'nonsense'; see: accelwatch --help\n"),
        (["dokter"], "accelwatch: no such command 'dokter'. Did you mean 'doctor'? see: "),
        (["pick", "--count", "x"], "accelwatch: invalid value for "),
        (
            ["remedy", "plan"],
            "accelwatch: missing argument 'NODE'; see: accelwatch remedy plan --help",
        ),
    ],
)
def test_a_mistake_is_one_line_of_the_same_voice(words: list[str], message: str) -> None:
    run = warm_command.accelwatch(*words)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert run.stderr.startswith(message)


def test_a_group_without_a_command_shows_its_help() -> None:
    run = warm_command.accelwatch("remedy")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("Usage: accelwatch remedy")


def dashboard_flags() -> set[str]:
    return {flag for option in dashboard_command.params for flag in option.opts}


def test_the_list_of_options_of_the_dashboard_is_that_of_the_command() -> None:
    table = {flag for option in snapshot_command.params for flag in option.opts}
    own = dashboard_flags()
    assert own - table - {"--served"} == routing.DASHBOARD_ONLY
    assert own & table == routing.SHARED


@pytest.mark.parametrize(
    "words",
    [
        ["--theme", "light"],
        ["--theme=light"],
        ["--replay", "demo", "--ascii"],
        ["--readonly", "-f", "index == 0", "--interval", "1"],
    ],
)
def test_options_of_the_dashboard_alone_are_the_dashboard(words: list[str]) -> None:
    assert routing.with_command(words) == ["dashboard", *words]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--json"],
        ["--replay", "demo"],
        ["--interval", "1", "--json"],
        ["-d", "0", "fleet", "--theme", "light"],
        ["--replay", "x", "record", "--interval", "1"],
        ["fleet", "--theme", "light"],
    ],
)
def test_other_words_stay_as_they_are(words: list[str]) -> None:
    assert routing.with_command(words) == words


def test_on_a_pipe_they_say_that_the_dashboard_needs_a_terminal() -> None:
    run = warm_command.accelwatch("--theme", "light")
    assert (run.returncode, run.stdout) == (2, "")
    assert "the dashboard needs a terminal to draw on" in run.stderr


def test_options_of_both_kinds_are_refused_with_what_to_write() -> None:
    run = warm_command.accelwatch("--json", "--interval", "1")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        "accelwatch: --interval is an option of the dashboard, and others here are of the table; "
        "write: accelwatch dashboard --interval ...\n"
    )


def test_no_examples_name_a_command_that_is_not_there() -> None:
    text = warm_command.accelwatch("--help").stdout
    named = set(re.findall(r"^  accelwatch ([a-z]+)", text, re.MULTILINE))
    assert named <= {*NAMES, "snapshot"}


def options_with_a_value(command: Any) -> Iterator[click.Option]:
    """Those of a command and of all under it that take a value that is not chosen from a list."""
    for option in command.params:
        match option:
            case click.Option(is_flag=False) if not isinstance(option.type, click.Choice):
                yield option
    for inner in getattr(command, "commands", {}).values():
        yield from options_with_a_value(inner)


def test_the_help_of_an_option_says_what_its_value_is(root: Any) -> None:
    options = list(options_with_a_value(root))
    assert len(options) > 100
    assert [option.opts for option in options if option.metavar is None] == []
