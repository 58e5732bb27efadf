"""Published files of prompts and questions, read in their own columns."""
