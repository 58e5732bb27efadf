"""Does a model know what a word means? Metrics over the taxonomy of WordNet nouns."""
