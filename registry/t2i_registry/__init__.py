"""Finds, resolves and configures t2i plugins."""
