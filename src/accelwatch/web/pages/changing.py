"""Who may change something in a server: whoever proves who he is, or is on this machine; no web page."""

from accelwatch.config.model import Web
from accelwatch.web.pages.page import Change, Page, plain
from accelwatch.web.protection.roles import Role
from accelwatch.web.protection.web_config import Protection
from accelwatch.web.sockets.listeners import exposed


def may_change(protection: Protection, web: Web) -> bool:
    """Whether those who can reach a server may change something in it."""
    return protection.authenticates or not exposed(web.listen_address)


def refusal_of_change(change: Change, may: bool, needed: Role = Role.ACT) -> Page | None:
    """Why a change is not made; `may` is what `may_change` says."""
    if not may:
        return plain(403, "this server is open to all; changing anything needs credentials")
    if not change.role.may(needed):
        who = change.user or "the holder of this token"
        text = (
            f"{who} may {change.role}, and this needs {needed}; see roles in the web configuration"
        )
        return plain(403, text)
    if change.headers.get("Origin") or change.headers.get("Sec-Fetch-Site", "none") != "none":
        return plain(403, "not from a page in a browser")
    return None
