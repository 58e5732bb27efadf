"""Digests of code, which keep the results of different versions of code apart."""
