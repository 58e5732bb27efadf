"""Metrics of runs beside people's answers about the same images: how good is a metric?"""

from .baseline import BaselineComparison, compare_with_baseline
from .result import Validation
from .table import validate

__all__ = ["BaselineComparison", "Validation", "compare_with_baseline", "validate"]
