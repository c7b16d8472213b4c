"""The content of the Learn page: the small example, the replay of a run, lessons and symbols."""
