"""What a test has printed is read as a figure, or as none; never as nothing to be compared with."""

import pytest

from accelwatch.action.measuring import last_line, measurement_in_output

NCCL = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {} \n#\n"


@pytest.mark.parametrize(
    ("output", "figure"),
    [
        ('{"value": 3e9, "unit": "bytes_per_second"}', (3e9, "bytes_per_second")),
        ('warming up\n{"value": 12, "message": "well"}\n', (12.0, "")),
        ('{"value": 0}', (0.0, "")),
        (NCCL.format("46.8313"), (46.8313e9, "bytes_per_second")),
        (NCCL.format("1.2e+02"), (1.2e11, "bytes_per_second")),
        # Two runs after one another: the last one counts.
        (NCCL.format("46") + NCCL.format("40"), (40e9, "bytes_per_second")),
    ],
)
def test_the_last_figure_counts(output: str, figure: tuple[float, str]) -> None:
    measured = measurement_in_output(output, "/bin/t")
    assert measured is not None
    assert ((measured.value, measured.unit), measured.command) == (figure, "/bin/t")


@pytest.mark.parametrize(
    "output",
    [
        "",
        "fine",
        '{"value": "3"}',
        '{"value": true}',
        '{"value": NaN}',
        '{"value": 1e999}',
        '{"value": -1}',
        '{"unit": "bytes_per_second"}',
        '{"value": 3}\nand more',
        "[" * 5000,
        "{" * 5000,
        NCCL.format("-nan"),
        NCCL.format("1.2.3"),
    ],
)
def test_what_is_no_figure_is_none(output: str) -> None:
    assert measurement_in_output(output) is None


def test_a_unit_and_last_line_are_harmless_and_short() -> None:
    measured = measurement_in_output('{"value": 1, "unit": "\\u001b[31m' + "x" * 99 + '"}')
    assert measured is not None
    assert measured.unit == "\\x1b[31m" + "x" * 32
    assert last_line("a\nb \x1b[0m\n") == "b \\x1b[0m"
    assert len(last_line("y" * 999)) == 200
