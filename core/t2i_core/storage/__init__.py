"""What is kept: the store, the run folder, and the cache that holds the store."""
