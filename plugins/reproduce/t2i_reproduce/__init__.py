"""Repeat the measurements of papers' tables."""
