"""Learn: the method from the idea to its symbols, with real numbers."""

from smfh.ui.learn.parts import draw_part
from smfh.ui.page import begin_page

IDEA = "What hashing is, one iteration by hand, a film of the training, lessons."

settings, loaded = begin_page("Learn", IDEA, methods=False)
draw_part(settings, loaded)
