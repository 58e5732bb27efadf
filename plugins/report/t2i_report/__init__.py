"""Results to read: reports, comparisons, exports."""
