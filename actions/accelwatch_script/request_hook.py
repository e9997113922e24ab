"""A hook that is a URL: a signed POST, and GETs of the URL where an accepted operation is polled."""

from collections.abc import Callable, Mapping
from urllib.parse import urljoin, urlsplit

from accelwatch.action.step import stands
from accelwatch.alerting.delivery.transport.post import Poster, PostError, ReceiverResponse
from accelwatch.base.clock import Clock
from accelwatch.base.standard_webhooks import headers, secret_bytes
from accelwatch_script import answer, call, references
from accelwatch_script.answer import HookReply
from accelwatch_script.settings import HookOptions

_CONNECTIONS = 16


class RequestHook:
    """Sends one kind of request."""

    def __init__(
        self, key: str, options: HookOptions, environ: Mapping[str, str], clock: Clock
    ) -> None:
        """Raises ConfigError."""
        self.options = options
        self.timeout_s = options.timeout_s
        self._clock = clock
        self._secrets: list[str] = []
        self._secret = b""
        self._token = ""
        if options.secret:
            text = self._referred(f"{key}.secret", options.secret, environ)
            self._secret = secret_bytes(text)
        if options.token:
            self._token = self._referred(f"{key}.token", options.token, environ)
        self._poster = Poster(options.timeout_s, options.ca_file, _CONNECTIONS)

    def _referred(self, key: str, text: str, environ: Mapping[str, str]) -> str:
        value = references.resolved(key, text, environ)
        self._secrets.append(value)
        return value

    @property
    def longest_s(self) -> float:
        """Seconds after which a call has surely come back."""
        return self.timeout_s + 1.0

    def complaint(self) -> str:
        """Nothing can be said of a URL before a request."""
        return ""

    async def run(self, what: call.Call, withdrawn: Callable[[], str] = stands) -> HookReply:
        """Send it, unless the permission is withdrawn; raises nothing but what cancels us."""
        if why := withdrawn():
            return answer.not_started(why)
        try:
            if what.poll.startswith(("http://", "https://")):
                return await self._polled(what)
            return await self._posted(what)
        except PostError as error:
            idempotent = self.options.idempotent or not error.sent
            return HookReply(report=answer.unsettled(str(error), idempotent=idempotent))
        except ValueError as error:
            return answer.refused(str(error))

    async def _posted(self, what: call.Call) -> HookReply:
        body = call.document(what)
        now = self._clock.wall()
        acts = what.operation_id and not what.poll
        # A call that only observes or polls is a new message each time.
        id_ = what.operation_id if acts else f"{what.operation_id or what.hook}.{now:.6f}"
        named = headers(self._secret, id_, now, body)
        if acts:
            named["Idempotency-Key"] = what.operation_id
        url = self.options.url
        got = await self._poster.post(url, body, self._with_token(named), reads_body=True)
        return self._reply_of(got, url)

    async def _polled(self, what: call.Call) -> HookReply:
        url = what.poll
        if not self._is_same_origin(url):
            return answer.refused("the request is for another server than the hook's own")
        named = self._with_token(headers(self._secret, what.operation_id, self._clock.wall(), b""))
        del named["Content-Type"]
        got = await self._poster.post(url, b"", named, method="GET", reads_body=True)
        if not got.well and (got.code in (408, 429) or got.code >= 500):
            # That nobody can say does not mean that it failed.
            after = got.retry_after_s
            return self._reply_of(
                ReceiverResponse(code=202, retry_after_s=after, location=url), url
            )
        return self._reply_of(got, url)

    def _reply_of(self, got: ReceiverResponse, url: str) -> HookReply:
        location = urljoin(url, got.location) if got.location else url if got.code == 202 else ""
        if not self._is_same_origin(location) or (location == self.options.url):
            location = ""
        return answer.of_request(
            got,
            location,
            idempotent=self.options.idempotent,
            hide=lambda text: references.without(self._secrets, text),
        )

    def _is_same_origin(self, url: str) -> bool:
        """Whether credentials may go there."""
        try:
            return _origin(url) == _origin(self.options.url)
        except ValueError:
            return False

    def _with_token(self, named: dict[str, str]) -> dict[str, str]:
        if self._token:
            named["Authorization"] = f"Bearer {self._token}"
        return named

    async def close(self) -> None:
        """Give the connections back."""
        await self._poster.close()


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parsed = urlsplit(url)
    return parsed.scheme, parsed.hostname, parsed.port
