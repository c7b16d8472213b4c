"""A film of a training: what was learnt at each of its steps, to go back and forth in."""

from smfh.hashing import FittedHasher

MOST_BYTES = 32 << 20


class Film:
    """A hasher for every step, or, where they would take too much memory, for every second, fourth, … one.

    One thread adds to it, any number look at it.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._frames: tuple[FittedHasher, ...] = ()
        self._most, self._seen, self._stride = most_bytes, 0, 1

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, hasher: FittedHasher) -> None:
        """The next step; the first one of a training begins the film anew."""
        if len(hasher.trace) == 1:
            self._frames, self._seen, self._stride = (), 0, 1
        if self._seen % self._stride == 0:
            self._frames += (hasher,)
        self._seen += 1
        if len(self._frames) > 1 and len(self._frames) * size_of(hasher) > self._most:
            self._frames, self._stride = self._frames[::2], 2 * self._stride

    def frames(self) -> tuple[FittedHasher, ...]:
        """What there is so far; the iteration of each is that of the last step of its trace."""
        return self._frames


def size_of(hasher: FittedHasher) -> int:
    """The bytes that are a frame's own; anchors are shared by all."""
    own = [function.projection.nbytes for function in hasher.functions.values()]
    own += [basis.nbytes for basis in hasher.bases.values()]
    return sum(own) + sum({id(codes): codes.nbytes for codes in hasher.database_codes.values()}.values())
