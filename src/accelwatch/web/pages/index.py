"""The page for a person who opens an address of ours in a browser."""

from collections import Counter
from collections.abc import Iterable, Mapping

from accelwatch.schema.snapshot import Snapshot, physical_devices
from accelwatch.web.pages.markup import escape
from accelwatch.web.pages.page import Page

_LINKS = (
    ("/metrics", "exposition for Prometheus"),
    ("/metrics?profile=minimal", "the same, small"),
    ("/v1/snapshot", "everything known now, as JSON"),
    ("/v1/stream", "the same as a stream, compact"),
    ("/capabilities", "what each backend can give, and why not the rest"),
    ("/-/healthy", "whether the agent lives"),
    ("/-/ready", "whether its first readings are complete"),
)


def index_page(snapshot: Snapshot) -> Page:
    """Host, devices by state, links."""
    states = Counter(view.state.value for view in physical_devices(snapshot.devices))
    return link_page(
        f"accelwatch {snapshot.version} on {snapshot.host}", f"Devices: {by_state(states)}", _LINKS
    )


def by_state(counts: Mapping[str, int]) -> str:
    """Counts by state, `1 lost, 7 ok`."""
    return (
        ", ".join(f"{total} {state}" for state, total in sorted(counts.items()) if total) or "none"
    )


def link_page(title: str, summary: str, links: Iterable[tuple[str, str]]) -> Page:
    """A title, a sentence, and paths with what is there."""
    items = "".join(
        f'<li><a href="{escape(path)}">{escape(path)}</a> {escape(text)}</li>'
        for path, text in links
    )
    html = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        "<style>body{font-family:sans-serif;margin:2em}li{margin:.4em}</style></head>"
        f"<body><h1>{escape(title)}</h1><p>{escape(summary)}</p><ul>{items}</ul>"
        "</body></html>\n"
    )
    return Page(body=html.encode(), headers={"Content-Type": "text/html; charset=utf-8"})
