"""How long work has taken, and how long it may take yet."""

from time import perf_counter


class Clock:
    """Seconds at work, without those in line and in pauses."""

    def __init__(self) -> None:
        self._spent = 0.0  # before the last halt
        self._since: float | None = None  # when the work went on; None: it does not run
        self._last_step = 0.0  # seconds at the last step

    @property
    def seconds(self) -> float:
        return self._spent + (0.0 if self._since is None else perf_counter() - self._since)

    def go_on(self) -> None:
        self._since = perf_counter()

    def halt(self) -> None:
        self._spent, self._since = self.seconds, None

    def step(self) -> None:
        """A step is done."""
        self._last_step = self.seconds

    def time_left(self, done: int, total: int) -> float:
        """Seconds for the steps still to do, at the mean pace of those that are done."""
        left = self._last_step / done * (total - done)
        return max(0.0, left - (self.seconds - self._last_step))
