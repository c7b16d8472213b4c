"""Learn: the method from the idea to its symbols, with real numbers."""

from smfh.ui.learn.page import draw_learn
from smfh.ui.page import begin_page

INTRODUCTION = "What hashing is, one iteration step by step, a replay of a run, and lessons."

settings, (data, _) = begin_page("Learn", INTRODUCTION, methods=False)
draw_learn(settings, data)
