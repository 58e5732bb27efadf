"""Reports, comparisons and tables of stored runs."""
