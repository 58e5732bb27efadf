"""Text-to-image models through Hugging Face diffusers: Stable Diffusion, SDXL, IF, unCLIP, PixArt, FLUX and any other pipeline."""
