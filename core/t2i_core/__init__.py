"""Contracts, statistics and the evaluation of t2i."""
