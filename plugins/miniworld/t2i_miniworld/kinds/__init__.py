"""Kinds of things by family: bodies from `shapes`, natural looks, paint and pose."""
