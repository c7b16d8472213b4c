"""Work whose steps a test allows one by one."""

import threading

SOON = 300  # seconds after which a test that hangs fails


class Steps:
    """Work that reports a step whenever the test allows one."""

    def __init__(self, steps: int = 3, result: object = None) -> None:
        self.begun, self.allowed = threading.Event(), threading.Semaphore(0)
        self.steps, self.result = steps, result

    def __call__(self, context):
        self.begun.set()
        for step in range(self.steps):
            assert self.allowed.acquire(timeout=SOON)
            context.report(step)
        return self.result

    def allow(self, steps: int = 1) -> None:
        self.allowed.release(steps)

    def allow_all(self) -> None:
        self.allowed.release(self.steps)
