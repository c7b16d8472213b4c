"""A queue of background jobs that visitors start, view, pause, step, resume and cancel.

    job = queue.submit(key, lambda context: method.fit(train, on_step=context.report), visitor)

Each key is computed once: a second request joins the job or gets its result. A job with several viewers
cannot be paused or cancelled by one of them. While a job is paused the next one runs; the paused job resumes
by itself after a while. Visitors take turns, and jobs of many parts let others run between two parts. A job
without viewers lets waiting jobs with viewers run first.
"""

from smfh.engine import Call, here
from smfh.jobs.queue import OVER, CancelledJobError, Job, JobContext, JobQueue, State, Work
