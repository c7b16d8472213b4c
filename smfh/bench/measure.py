"""Measure time (the minimum of several repeats, alternating between alternatives) and memory."""

import gc
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter


@dataclass
class Report:
    """Benchmark results by name: ratios, measured seconds, and notes on what each ratio compares."""

    ratios: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def compare(self, name: str, above: float, below: float, note: str) -> None:
        self.ratios[name], self.notes[name] = above / below, note


def least_seconds(sides: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the minimum time of each alternative over the repeats, after an untimed first call."""
    for work in sides.values():
        work()
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(repeats):
        for name, work in sides.items():
            gc.collect()
            started = perf_counter()
            work()
            best[name] = min(best[name], perf_counter() - started)
    return best


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the highest resident memory of this process while `work` runs (Linux only)."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    work()
    return resident_bytes("VmHWM")


def resident_bytes(field: str = "VmRSS", process: str = "self") -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(field)), 0)


def family_bytes(process: str = "self") -> int | None:
    """Return the resident memory of a process and its descendants; None if it is not available."""
    try:
        own = resident_bytes(process=process)
        threads = list(Path(f"/proc/{process}/task").iterdir())
        children = [child for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return None
    return own + sum(family_bytes(child) or 0 for child in children)


def machine() -> str:
    """Describe the processor, number of cores, use of AVX-512 by Numba, and Python version."""
    from llvmlite.binding import get_host_cpu_features

    model = platform.processor() or platform.machine()
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    # Numba compiles for the features in this variable or, if it is not set, for those of the processor
    features = os.environ.get("NUMBA_CPU_FEATURES", get_host_cpu_features().flatten())
    vectors = "with AVX-512" if "+avx512f" in features else "without AVX-512"
    return f"{model}, {os.cpu_count()} cores, {vectors}, Python {platform.python_version()}"
