"""Files of any origin, read and written safely. It knows nothing of t2i."""
