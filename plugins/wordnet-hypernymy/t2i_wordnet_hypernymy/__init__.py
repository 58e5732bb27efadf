"""Metrics of how well a model knows what words mean, over the taxonomy of WordNet's nouns."""
