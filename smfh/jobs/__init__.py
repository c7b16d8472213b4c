"""The bounded queue that trains in the background: start, watch, pause, step, resume, cancel.

    job = queue.submit(job_key(train, method), partial(method.fit, train), visitor)

The same key is computed once: whoever asks again joins the run or finds its result. A run belongs to all who
watch it, so only its single watcher may hold it up or end it. A paused run gives its place to the next in
line at once, and goes on by itself after `pause_limit` seconds: a tab closed on a paused run neither stops
the others nor loses nor leaks the run.
"""

from smfh.jobs.job import OVER, Job, State, Work
from smfh.jobs.key import JobKey, job_key
from smfh.jobs.queue import TrainingQueue

__all__ = ["OVER", "Job", "JobKey", "State", "TrainingQueue", "Work", "job_key"]
