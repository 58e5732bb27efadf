"""Metrics of runs beside people's answers about the same images: how good is a metric?"""

from .result import Validation
from .table import validate

__all__ = ["Validation", "validate"]
