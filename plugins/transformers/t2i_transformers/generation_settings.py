"""Text generation without sampling."""

from __future__ import annotations

from typing import Any

_BY_LOT = ("temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")


def configure_search(network: Any, beams: int, max_tokens: int) -> dict[str, Any]:
    """Configure a network to generate text without sampling, and return its generation settings.

    Other settings of the checkpoint (repetition penalty, end tokens) stay.

    Args:
        network: Model with a generation config.
        beams: Number of beams; 1 is greedy search.
        max_tokens: Maximum number of new tokens.
    """
    config = getattr(network, "text_decoder", network).generation_config
    config.update(do_sample=False, num_beams=beams, max_new_tokens=max_tokens, max_length=None)
    config.update(**dict.fromkeys(_BY_LOT))
    found = {k: v for k, v in config.to_diff_dict().items() if k != "transformers_version" and k[0] != "_"}
    return {**found, "do_sample": False, "num_beams": beams}
