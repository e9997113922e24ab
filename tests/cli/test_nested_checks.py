"""`check` ends with 3 after a mistake on its command line, as Nagios has it; a group's own with 2."""

import pytest

from support.processes.warm_command import accelwatch


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("check", "--bogus"), 3),
        (("config", "check", "--bogus"), 2),
        (("rules", "check", "--bogus"), 2),
        (("history", "check"), 2),
        (("actions", "check", "--bogus"), 2),
    ],
)
def test_a_mistake_on_the_command_line(words: tuple[str, ...], code: int) -> None:
    run = accelwatch(*words)
    assert (run.returncode, run.stdout) == (code, "")
