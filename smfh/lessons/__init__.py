"""Content of the Learn page: the small example step by step, a replay, lessons and symbols."""
