"""What t2i-arena-elo offers: ratings from battles between models. Imports nothing heavy."""

from __future__ import annotations
