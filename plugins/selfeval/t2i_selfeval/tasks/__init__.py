"""Samples of published data sets, read from local folders in their official layouts."""
