"""Metrics of runs beside people's answers about the same images: how good is a metric?"""

from .table import Validation, validate

__all__ = ["Validation", "validate"]
