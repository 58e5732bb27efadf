"""SelfEval: a text-to-image model judged by its own likelihood."""
