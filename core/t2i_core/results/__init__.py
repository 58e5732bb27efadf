"""Finished runs, as their readers see them."""
