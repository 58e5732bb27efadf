"""PaintSkills and R-precision for t2i."""
