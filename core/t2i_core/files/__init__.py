"""Safe reading and writing of files of any origin. These modules know nothing of t2i."""
