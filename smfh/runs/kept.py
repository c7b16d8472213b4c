"""Where runs are kept to be compared: what every such place offers, and one in memory for private data."""

from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

from smfh.ceiling import Ceiling
from smfh.evaluation import PROTOCOLS
from smfh.metrics import Scores
from smfh.runs.ceilings import CeilingKey
from smfh.runs.key import RunKey, behaviour
from smfh.runs.record import RunRecord, Timing, versions
from smfh.runs.run import Run, Search
from smfh.runs.scores import scores_header
from smfh.types import InputError, MultimodalDataset, Split

MOST = 500  # runs in memory, as many as one comparison may have


class KeptRuns(Protocol):
    """A RunStore, or a PrivateRuns."""

    def find(self, key: RunKey) -> RunRecord | None: ...

    def records(self) -> list[RunRecord]: ...

    def scores(
        self,
        record: RunRecord,
        data: MultimodalDataset,
        split: Split,
        source: str,
        target: str,
        protocol: str,
    ) -> Scores: ...

    def save(self, run: Run, timing: Timing) -> RunRecord: ...

    def check_room(self) -> None: ...

    def ceiling(self, key: CeilingKey) -> Ceiling | None: ...

    def save_ceiling(self, key: CeilingKey, ceiling: Ceiling) -> None: ...


class PrivateRuns:
    """In memory alone: the scores of every search and no model; beyond `most` runs the oldest go."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._ceilings: dict[CeilingKey, Ceiling] = {}
        self._kept: OrderedDict[RunKey, tuple[RunRecord, Mapping[Search, Scores]]] = OrderedDict()

    def find(self, key: RunKey) -> RunRecord | None:
        """The run that this key decides; None where it is not there."""
        kept = self._kept.get(key)
        return None if kept is None else kept[0]

    def records(self) -> list[RunRecord]:
        """All runs, the newest first."""
        return [record for record, _ in reversed(list(self._kept.values()))]

    def scores(
        self,
        record: RunRecord,
        data: MultimodalDataset,
        split: Split,
        source: str,
        target: str,
        protocol: str,
    ) -> Scores:
        """The scores of one search of the run; they were ranked when it was saved."""
        try:
            return self._kept[record.key][1][source, target, protocol]
        except KeyError as error:
            raise InputError("The run is no longer in memory.") from error

    def save(self, run: Run, timing: Timing) -> RunRecord:
        """Keep what is known of the run."""
        searches = [(*direction, protocol) for direction in run.directions for protocol in PROTOCOLS]
        scores = {search: run.scores(*search) for search in searches}
        record = RunRecord(
            id=run.key.id,
            title="",
            when=datetime.now(UTC),
            source=run.source,
            training_items=len(run.split.train),
            queries=len(run.split.queries),
            key=run.key,
            behaviour=behaviour(run.method.name),
            trained_on=run.hasher.trained_on,
            timing=timing,
            versions=versions(),
            searches={search: scores_header(one) for search, one in scores.items()},
            model_arrays=(),
            bytes=0,
        )
        self._kept[run.key] = record, scores
        while len(self._kept) > self.most:
            self._kept.popitem(last=False)
        return record

    def check_room(self) -> None:
        """There is always room."""

    def ceiling(self, key: CeilingKey) -> Ceiling | None:
        """What the features of this data allow; None where it was not measured."""
        return self._ceilings.get(key)

    def save_ceiling(self, key: CeilingKey, ceiling: Ceiling) -> None:
        """Keep it in place of one of other data: a visitor has one set."""
        self._ceilings = {key: ceiling}
