"""How words are searched for: always the most probable ones."""

from __future__ import annotations

from typing import Any

_BY_LOT = ("temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")


def searching(network: Any, beams: int, max_tokens: int) -> dict[str, Any]:
    """Have a network search without drawing lots, whatever its checkpoint says; return how it then searches.

    What else the checkpoint says (a penalty for repetition, the tokens that end a text) holds.
    """
    config = getattr(network, "text_decoder", network).generation_config
    config.update(do_sample=False, num_beams=beams, max_new_tokens=max_tokens, max_length=None)
    config.update(**dict.fromkeys(_BY_LOT))
    found = {k: v for k, v in config.to_diff_dict().items() if k != "transformers_version" and k[0] != "_"}
    return {**found, "do_sample": False, "num_beams": beams}
