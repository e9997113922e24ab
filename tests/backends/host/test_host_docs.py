"""The page of the host backend names every quantity."""

from pathlib import Path

from accelwatch.schema.catalogue.lookup import host_metrics

PAGE = Path(__file__).resolve().parents[3] / "docs/backends/host.md"


def test_every_quantity_is_on_the_page() -> None:
    text = PAGE.read_text()
    missing = [
        row.key
        for row in host_metrics()
        if row.key not in text and f"`_{row.key.rsplit('_', 2)[1]}_bytes`" not in text
    ]
    assert missing == []
