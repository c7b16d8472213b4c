"""Learn: the idea, one iteration, a film of the training, lessons, symbols."""
