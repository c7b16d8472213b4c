"""The Explore page: results during and after training, scores and curves."""
