"""Speed as ratios measured side by side in one run, each against something named, with equal answers."""
