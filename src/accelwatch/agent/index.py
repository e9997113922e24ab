"""The page for a person who opens the agent's address in a browser."""

from collections import Counter
from html import escape

from accelwatch.agent.page import Page
from accelwatch.schema.snapshot import Snapshot, whole_devices

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
    states = Counter(view.state.value for view in whole_devices(snapshot.devices))
    summary = ", ".join(f"{total} {state}" for state, total in sorted(states.items()))
    links = "".join(
        f'<li><a href="{escape(path)}">{escape(path)}</a> {escape(text)}</li>'
        for path, text in _LINKS
    )
    title = escape(f"accelwatch {snapshot.version} on {snapshot.host}")
    html = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        "<style>body{font-family:sans-serif;margin:2em}li{margin:.4em}</style></head>"
        f"<body><h1>{title}</h1><p>Devices: {escape(summary or 'none')}</p><ul>{links}</ul>"
        "</body></html>\n"
    )
    return Page(body=html.encode(), headers={"Content-Type": "text/html; charset=utf-8"})
