"""People as a judge: a page on which they answer, and what becomes of their answers."""
