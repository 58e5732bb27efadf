"""The mini world: rendered scenes with known ground truth, and models and judges trained on them."""
