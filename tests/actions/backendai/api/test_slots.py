"""Amounts of resources in the words of GraphQL."""

import pytest

from accelwatch_backendai.api.slots import slots_in


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        (
            '{"cpu": "8", "mem": "1024", "cuda.device": 2}',
            {"cpu": 8, "mem": 1024, "cuda.device": 2},
        ),
        ('{"cuda.shares": "0.5", "cpu": "Infinity"}', {"cuda.shares": 0.5}),
        ("{}", {}),
        ('{"cpu": "8"', None),
        ('{"cpu": "many"}', None),
        ("[]", None),
        (None, None),
    ],
)
def test_amounts_of_resources_are_read(text: str | None, slots: dict[str, float] | None) -> None:
    assert slots_in(text) == slots
