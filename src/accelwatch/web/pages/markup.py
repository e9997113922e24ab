"""HTML put together so that nothing in it is anything but text unless we wrote it ourselves.

What a node, a job or a person is called is escaped where it becomes a child or an attribute; only what
`element` has made stands as it is.
"""

import base64
import hashlib

from accelwatch.base.untrusted_text import printable

# Elements without an end; those of SVG are closed in their beginning.
_VOID = frozenset({"br", "circle", "input", "line", "link", "meta", "path", "rect"})
_REFERENCES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;"))
Attribute = str | int | float | bool | None


class Markup(str):
    """HTML that was made here."""

    __slots__ = ()


def escape(content: str) -> str:
    """Text without anything that HTML could interpret, in text and in attributes.

    The standard library's `html` does the same and brings the names of all characters, 300 KiB.
    """
    for character, reference in _REFERENCES:
        content = content.replace(character, reference)
    return content


def text(content: object) -> Markup:
    """Words as they are shown: no markup, nothing that moves or reverses what stands beside it."""
    return Markup(escape(printable(str(content))))


def element(tag: str, /, *children: object, **attributes: Attribute) -> Markup:
    """An element; an attribute's `_` becomes `-`, a last one goes (`class_`), None and False too.

    A child that is no Markup is text, None is nothing.
    """
    opening = tag + "".join(
        _attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items()
    )
    if tag in _VOID:
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{joined(*children)}</{tag}>")


def joined(*children: object) -> Markup:
    """Children one after another."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else text(child)
            for child in children
            if child is not None
        )
    )


def document(title: str, style: str, *body: object) -> bytes:
    """A whole page with its own style and nothing from elsewhere."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="robots", content="noindex"),
        element("title", title),
        Markup(f"<style>{style}</style>"),
    )
    html = element("html", head, element("body", *body), lang="en")
    return f"<!doctype html>{html}\n".encode()


def policy(style: str) -> str:
    """The Content-Security-Policy of such a page: its style, forms to us, nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    return f" {key}" if value is True else f' {key}="{text(value)}"'
