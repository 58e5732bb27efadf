"""Digests of code, so that what it made is never taken for the work of other code."""
