"""The metrics PaintSkills and R-precision (DALL-Eval)."""
