"""Comparisons of two models under one metric."""
