"""Readers of published data sets in their official layouts."""
