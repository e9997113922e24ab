"""What differs between releases of the manager: seen on real servers, or read in the source."""

from typing import Literal, NamedTuple

NEWEST = "26.9.6"
# How a session's `agent_list` is meant.
AgentList = Literal["bound", "strict", "preferred"]


class Release(NamedTuple):
    """A release, and what its manager does."""

    major: int
    minor: int
    patch: int = 0

    @property
    def text(self) -> str:
        """As `GET /` says it."""
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def has_v2(self) -> bool:
        """Whether sessions are served under /v2."""
        return self >= (26, 4)

    @property
    def reads_snake_case(self) -> bool:
        """Whether `reuse_if_exists` and the like are read; else they shadow the camel-cased defaults."""
        return self >= (26, 8)

    @property
    def agent_list(self) -> AgentList:
        """Before 25.15 agents are bound as given, before 26.8 the session waits for them."""
        if self < (25, 15):
            return "bound"
        return "strict" if self < (26, 8) else "preferred"

    @property
    def owns_agents_group(self) -> bool:
        """Whether the manager alone sets an agent's group; else the agent has to change it."""
        return self >= (26, 8)

    @property
    def refuses_reused_names(self) -> bool:
        """Whether ending by a name fails that an ended session had too."""
        return self < (26, 4)

    @property
    def forces_termination(self) -> bool:
        """Whether `forced` ends a session at once, and one that is TERMINATING already.

        26.1 calls the agents all the same, and leaves alone what is TERMINATING.
        """
        return self >= (26, 4)

    @property
    def swaps_dependents(self) -> bool:
        """Whether a session's `dependents` and `dependees` are the wrong way round, and fail.

        Seen on 26.1.0, and not on 26.9.6.
        """
        return self < (26, 4)

    @property
    def has_project_roles(self) -> bool:
        """Whether a role has to be given in a project: not to members of the fixtures' project."""
        return self >= (26, 8)

    @property
    def retry_s(self) -> float:
        """Until the scheduler retries a session that was not placed: seen 2 s on 26.1, 60 s on 26.9."""
        return 60.0 if self >= (26, 4) else 2.0

    @property
    def default_batch_timeout_s(self) -> float | None:
        """Of a session that names none: 26.1 reads it as 0, and ends the session at once."""
        return 0.0 if (26, 1) <= self < (26, 4) else None


def release_of(text: str) -> Release:
    """Raises ValueError."""
    return Release(*map(int, text.split(".")))
