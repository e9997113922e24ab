"""Exit codes are documented, each with every meaning that it has."""

import re
from collections import Counter
from pathlib import Path

from accelwatch.base import errors, exit_codes

PAGE = Path(__file__).parents[2] / "docs/commands.md"
ROW = re.compile(r"^\| (\d+) \| ", re.MULTILINE)


def test_every_exit_code_is_documented() -> None:
    codes = Counter(code for name, code in vars(exit_codes).items() if name.isupper())
    section = PAGE.read_text().partition("## Exit codes")[2].partition("\n## ")[0]
    assert Counter(int(code) for code in ROW.findall(section)) == codes


def test_errors_end_a_command_as_before() -> None:
    of = {name: one.exit_code for name, one in vars(errors).items() if hasattr(one, "exit_code")}
    others = {name: code for name, code in of.items() if code != exit_codes.FAILED}
    assert others == {
        "UsageError": 2,
        "ConfigError": 2,
        "OptionsError": 2,
        "ExpressionError": 2,
        "UncertainError": 3,
        "UnmetError": 4,
    }
