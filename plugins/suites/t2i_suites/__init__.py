"""Suites: recipes that `t2i eval --suite NAME` runs."""
