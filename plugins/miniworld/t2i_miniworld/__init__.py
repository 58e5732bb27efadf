"""A small world with a known truth: rendered scenes and judges trained on them."""
