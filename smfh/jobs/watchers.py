"""Who waits for a job."""

from collections.abc import Iterator
from time import monotonic


class Watchers:
    """Visitors by name, and when each was last seen; the one without a name is always there."""

    def __init__(self, away: float) -> None:
        self._away = away  # seconds after which one who is not seen counts no more
        self._seen: dict[str, float] = {}
        self.last_seen = monotonic()  # when any of them was

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __contains__(self, name: object) -> bool:
        """Whether this one waits for it, seen lately or not."""
        return name in self._seen

    @property
    def present(self) -> frozenset[str]:
        """Those who count."""
        gone = monotonic() - self._away
        return frozenset(name for name, seen in self._seen.items() if seen >= gone or not name)

    def see(self, name: str) -> None:
        """This one, new or not, is there now."""
        self._seen[name] = self.last_seen = monotonic()

    def remove(self, name: str) -> None:
        if self._seen.pop(name, None) is not None:
            self.last_seen = monotonic()

    def clear(self) -> None:
        self._seen.clear()
