"""Options of the generator and of the judge."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from t2i_core.api.options import ExecutionOption, Options
from t2i_torch_support.pair_questions import TEMPLATE, check_template

OPENAI = "https://api.openai.com/v1"

DALLE_HOST = "oaidalleapiprodscus.blob.core.windows.net"
"""Where OpenAI keeps the images of DALL-E, which it gives by address."""

HostName = Annotated[str, Field(pattern=r"^(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(:[0-9]{1,5})?$")]


class ServerOptions(Options):
    """Which server is asked, and how it is treated."""

    base_url: Annotated[str, AfterValidator(lambda url: url.rstrip("/"))] = Field(
        OPENAI, description="Where the server's API begins; mostly ends in /v1."
    )
    extra_body: dict[str, Any] = Field(
        {},
        description="Further fields of every request, for what this server takes beyond OpenAI's (steps, top_k).",
    )
    api_key_env: Annotated[str, ExecutionOption()] = Field(
        "OPENAI_API_KEY",
        description="Environment variable that holds the key; servers other than OpenAI's may do without.",
    )
    concurrency: Annotated[int, ExecutionOption()] = Field(
        8, ge=1, description="Requests in flight at a time; --batch-size stands in its place."
    )
    requests_per_minute: Annotated[float | None, ExecutionOption()] = Field(
        None, gt=0, description="Send no more than this, second tries included, evenly spaced."
    )
    timeout: Annotated[float, ExecutionOption()] = Field(
        180, gt=0, description="Seconds for one request, from sending it to the last byte of the answer."
    )
    retries: Annotated[int, ExecutionOption()] = Field(
        5, ge=0, description="How often a request is tried again after 429, 5xx, a cut connection or no answer."
    )
    backoff: Annotated[float, ExecutionOption()] = Field(
        1,
        gt=0,
        description="After try n a random time is waited, of at most this many seconds x 2^(n - 1), on top of "
        "what the server asks for.",
    )
    longest_wait: Annotated[float, ExecutionOption()] = Field(
        120, gt=0, description="Most seconds between tries; a request that is asked to wait longer fails."
    )
    max_answer_mb: Annotated[float, ExecutionOption()] = Field(
        64, gt=0, description="Largest answer in MB, decompressed; a longer one is cut off and has failed."
    )
    price_in: Annotated[float, ExecutionOption()] = Field(
        0, ge=0, description="Price of a million tokens in, for the cost in the manifest."
    )
    price_out: Annotated[float, ExecutionOption()] = Field(
        0, ge=0, description="Price of a million tokens out, for the cost in the manifest."
    )


class ImageOptions(ServerOptions):
    """How images are asked for."""

    size: str | None = Field(None, description="Size as the server writes it (1024x1024); none: its default.")
    quality: str | None = Field(None, description="Quality as the server calls it; none: its default.")
    response_format: Literal["b64_json", "url"] | None = Field(
        None, description="How images come; none: the server's default. Either is understood."
    )
    send_seed: bool = Field(
        False,
        description="Send the seed, to servers that take one (OpenAI's does not). Else a seed is the number of a "
        "sample and no more.",
    )
    image_hosts: Annotated[tuple[HostName, ...], ExecutionOption()] = Field(
        (DALLE_HOST,),
        description="Hosts, beside the server's own, from which images are fetched that the server gives by "
        "address: HOST, *.DOMAIN, HOST:PORT. Never private addresses.",
    )
    price_per_image: Annotated[float, ExecutionOption()] = Field(
        0, ge=0, description="Price of an image, for the cost in the manifest."
    )


class JudgeOptions(ServerOptions):
    """How a model is asked which of two images is better."""

    template: Annotated[str, AfterValidator(check_template)] = Field(
        TEMPLATE,
        description="The question, with {prompt}, {first}, {second} (the images) and {definitions}; it must ask "
        "for [[A]], [[B]], [[C]] (tie) or [[D]] (both bad).",
    )
    with_definitions: bool = Field(
        True, description="Show the definitions that a question comes with, if it does."
    )
    detail: Literal["high", "low", "auto"] = Field("high", description="In how much detail the model sees images.")
    temperature: float | None = Field(None, ge=0, le=2, description="None: the server's default.")
    max_tokens: int = Field(1024, ge=1, description="Most tokens of an answer; reasoning models need more.")
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_tokens", description="What the server calls that; OpenAI's reasoning models take the second."
    )
    seed: int | None = Field(None, description="Seed to send, plus the number of the repeat; none: no seed.")
