"""Social bias of text-to-image models (DALL-Eval): a plugin of t2i."""
