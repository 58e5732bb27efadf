"""Storage: the store, the run folder, and the cache that holds the store."""
