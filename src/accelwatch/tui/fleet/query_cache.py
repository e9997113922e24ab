"""Queries to the hub, repeated every ten seconds while shown; answers stay until the next."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Generic, TypeVar

from accelwatch.base.errors import AccelwatchError

_EVERY_S = 10.0
Answer = TypeVar("Answer")


class QueryCache(Generic[Answer]):
    """The newest answer by query; the loop's thread only."""

    def __init__(
        self,
        fetch: Callable[..., Awaitable[Answer]],
        aside: Callable[[Coroutine[None, None, None]], object],
        now: Callable[[], float],
        shown: Callable[[], None],
    ) -> None:
        """`fetch` gets the words of a query and may raise AccelwatchError; `aside` does something
        beside, `now` is monotonic, `shown` is called after an answer."""
        self._fetch, self._aside, self._now, self._shown = fetch, aside, now, shown
        self._answers: dict[tuple[str, ...], Answer] = {}
        self._requested_at: dict[tuple[str, ...], float] = {}
        # Why there is no newer answer.
        self.problem = ""

    def newest(self, *question: str) -> Answer | None:
        """The newest answer; None before the first."""
        if self._now() - self._requested_at.get(question, -_EVERY_S) >= _EVERY_S:
            self._requested_at[question] = self._now()
            self._aside(self._answered(question))
        return self._answers.get(question)

    async def _answered(self, question: tuple[str, ...]) -> None:
        try:
            self._answers[question] = await self._fetch(*question)
            self.problem = ""
        except AccelwatchError as error:
            self.problem = str(error).partition("\n")[0]
        self._shown()
