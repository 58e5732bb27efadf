"""Text-to-image models through Hugging Face diffusers."""
