"""Options of the mini world's components."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from t2i_core import ExecutionOption, Options

Rate = Annotated[float, Field(ge=0, le=1)]


class SimulatorOptions(Options):
    """Options of the generator `simulator`."""

    size: int = Field(128, ge=64, le=1024, description="Side of the square picture in pixels.")
    spp: int = Field(16, ge=1, le=4096, description="Light paths per pixel.")
    drop: Rate = Field(0.0, description="Probability that an object is left out; each after the first.")
    wrong_color: Rate = Field(0.0, description="Probability that a coloured object gets another colour.")
    seed_sd: float = Field(0.0, ge=0, description="Effect of a seed on the logit of both rates.")
    prompt_sd: float = Field(0.0, ge=0, description="Effect of a prompt on the logit of both rates.")
    salt: int = Field(0, description="Another number draws everything anew: layouts, faults and effects.")
    workers: Annotated[int | None, Field(ge=1), ExecutionOption()] = Field(
        None, description="Processes that draw; one per core by default."
    )
