"""The bounded queue for all work in the background: start, watch, pause, step, resume, cancel.

    job = queue.submit(key, lambda course: method.fit(train, on_step=course.report), visitor)

The same key is worked on once: whoever asks again joins the job or finds its result. A job belongs to all who
watch it, so only its single watcher may hold it up or end it. A paused job gives way to the next in line at
once, and goes on by itself after `pause_limit` seconds: a tab closed on a paused job neither stops the others
nor leaks it, nor loses it while there is room. Visitors take turns, and work of many parts gives way between
them, so that nobody waits for all of it. What nobody watches any more goes on when nobody waits for another.
"""

from smfh.jobs.job import OVER, Cancelled, Course, Job, State, Work
from smfh.jobs.processes import Call, Caller, Processes, here
from smfh.jobs.queue import JobQueue
