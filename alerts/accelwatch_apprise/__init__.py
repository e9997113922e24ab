"""The rest of the world by apprise (extra `[apprise]`): about 170 services, each by a URL of its own.

Apprise blocks and says only whether it worked: no message can be edited, no Retry-After is known.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from accelwatch.alerting.delivery.formatting.text import body, fitted, headline
from accelwatch.alerting.delivery.transport.blocking import Blocking, StillBusyError
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.sink import Notice, NoticeKind, Outcome, SinkContext, Status
from accelwatch.base.errors import ConfigError
from accelwatch.plugins.options import checked

_MOST_TITLE = 250
# Apprise splits or cuts further for services that accept less.
_MOST_BODY = 4000
_KINDS = {Severity.INFO: "info", Severity.WARNING: "warning", Severity.CRITICAL: "failure"}


class AppriseOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the sink."""

    # As apprise writes them, such as `ntfys://ntfy.example.org/gpus`; they hold secrets.
    url: str | Annotated[tuple[str, ...], Meta(min_length=1, max_length=16)]


class AppriseSink:
    """Notifies all of its services; where one fails, the notice is sent again to all."""

    edits = False
    pace_s = 1.0
    repeat_s = None

    def __init__(self, context: SinkContext) -> None:
        """Raises ConfigError where apprise is missing or knows no such service."""
        options = checked(context.options, AppriseOptions)
        urls = (options.url,) if isinstance(options.url, str) else options.url
        self._services = _services(urls)
        self._timeout_s = context.timeout_s
        self._blocking: Blocking[bool] = Blocking("apprise")

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        """Send a notice."""
        try:
            well = await self._blocking.run(lambda: self._notify(notice), self._timeout_s)
        except StillBusyError:
            message = "the message before still hangs"
        except TimeoutError:
            message = f"no answer within {self._timeout_s:g} s"
        except Exception as error:  # noqa: BLE001 - 170 services of others
            message = f"apprise met {type(error).__name__}"
        else:
            if well:
                return Outcome(status=Status.DELIVERED, reference=reference)
            message = "apprise could not send it"
        return Outcome(status=Status.RETRY, message=message, reference=reference)

    def _notify(self, notice: Notice) -> bool:
        over = notice.kind is NoticeKind.CLOSED
        return bool(
            self._services.notify(
                title=fitted(headline(notice), _MOST_TITLE),
                body=fitted(body(notice), _MOST_BODY),
                notify_type="success" if over else _KINDS[notice.severity],
                body_format="text",
            )
        )

    async def close(self) -> None:
        """Nothing stays open between messages."""


def _services(urls: tuple[str, ...]) -> Any:
    try:
        import apprise
    except ImportError:
        raise ConfigError("apprise is not installed; pip install 'accelwatch[apprise]'") from None
    asset = apprise.AppriseAsset(async_mode=False, secure_logging=True, http_redirects=False)
    services = apprise.Apprise(asset=asset)
    for number, url in enumerate(urls, 1):
        if not services.add(url):
            raise ConfigError(f"url: apprise knows no service for URL number {number}")
    if any(service.redirects for service in services):
        raise ConfigError("url: redirects are not followed; leave redirect= out")
    return services
