"""Questions for your own prompts, written by a language model: the command `t2i questions`."""
