"""CLIP models through open_clip: embeddings of images and texts."""
