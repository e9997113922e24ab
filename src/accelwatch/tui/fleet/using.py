"""Who uses a fleet's devices: asked of the hub while somebody looks, and kept until it is asked anew."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING

from accelwatch.errors import AccelwatchError

if TYPE_CHECKING:
    from accelwatch.usage.report import UsageReport

_EVERY_S = 10.0
Asked = tuple[str, str]
"""By what, and since when."""


class FleetUsage:
    """The newest answers by what was asked; the loop's thread only."""

    def __init__(
        self,
        ask: "Callable[[str, str], Awaitable[UsageReport]]",
        aside: Callable[[Coroutine[None, None, None]], object],
        now: Callable[[], float],
        shown: Callable[[], None],
    ) -> None:
        """`aside` does something beside, `now` is monotonic, `shown` is called after an answer."""
        self._ask, self._aside, self._now, self._shown = ask, aside, now, shown
        self._reports: dict[Asked, UsageReport] = {}
        self._asked_at: dict[Asked, float] = {}
        self.problem = ""
        """Why there is no newer answer."""

    def report(self, by: str, since: str) -> "UsageReport | None":
        """The newest answer; None before the first."""
        asked = by, since
        if self._now() - self._asked_at.get(asked, -_EVERY_S) >= _EVERY_S:
            self._asked_at[asked] = self._now()
            self._aside(self._answered(asked))
        return self._reports.get(asked)

    async def _answered(self, asked: Asked) -> None:
        try:
            self._reports[asked] = await self._ask(*asked)
            self.problem = ""
        except AccelwatchError as error:
            self.problem = str(error).partition("\n")[0]
        self._shown()
