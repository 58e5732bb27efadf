"""Options of the generator and of the judge."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from t2i_core.api.options import ExecutionOption, Options
from t2i_torch_support.pair_questions import TEMPLATE, check_template

OPENAI = "https://api.openai.com/v1"

DALLE_HOST = "oaidalleapiprodscus.blob.core.windows.net"
"""Hosts of DALL-E's images, which OpenAI returns as addresses."""

HostName = Annotated[str, Field(pattern=r"^(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(:[0-9]{1,5})?$")]


def is_local(url: str) -> bool:
    """Return whether a server is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"


_IN_DOLLARS = " in US dollars, for the plan, --max-cost and the manifest. Default: not known."


class ServerOptions(Options):
    """Options of the server and of requests to it."""

    base_url: Annotated[str, AfterValidator(lambda url: url.rstrip("/"))] = Field(
        OPENAI, description="Base address of the server's API; usually ends in /v1."
    )
    extra_body: dict[str, Any] = Field(
        {},
        description="Further fields of every request that the server supports (steps, top_k).",
    )
    api_key_env: Annotated[str, ExecutionOption()] = Field(
        "OPENAI_API_KEY",
        description="Environment variable that holds the key; servers other than OpenAI's may need none.",
    )
    concurrency: Annotated[int, ExecutionOption()] = Field(
        8, ge=1, description="Number of concurrent requests; --batch-size overrides it."
    )
    requests_per_minute: Annotated[float | None, ExecutionOption()] = Field(
        None, gt=0, description="Maximum number of requests per minute, including retries, evenly spaced."
    )
    timeout: Annotated[float, ExecutionOption()] = Field(
        180, gt=0, description="Time limit in seconds from sending a request to the last byte of its answer."
    )
    retries: Annotated[int, ExecutionOption()] = Field(
        5, ge=0, description="Number of retries after 429, 5xx, a broken connection or no answer."
    )
    backoff: Annotated[float, ExecutionOption()] = Field(
        1,
        gt=0,
        description="After try n, t2i waits a random time of at most this many seconds x 2^(n - 1), in addition "
        "to the time that the server requests.",
    )
    longest_wait: Annotated[float, ExecutionOption()] = Field(
        120,
        gt=0,
        description="Maximum wait in seconds between tries; if the server requests more, the request fails.",
    )
    max_answer_mb: Annotated[float, ExecutionOption()] = Field(
        64, gt=0, description="Maximum size of an answer in MB after decompression; a larger one is a failure."
    )
    price_in: Annotated[float | None, ExecutionOption()] = Field(
        None, ge=0, allow_inf_nan=False, description=f"Price of a million input tokens{_IN_DOLLARS}"
    )
    price_out: Annotated[float | None, ExecutionOption()] = Field(
        None, ge=0, allow_inf_nan=False, description=f"Price of a million output tokens{_IN_DOLLARS}"
    )


class ChatOptions(ServerOptions):
    """Options of requests to the chat endpoint."""

    temperature: float | None = Field(None, ge=0, le=2, description="Sampling temperature. Default: the server's.")
    max_tokens: int = Field(
        1024, ge=1, description="Maximum number of tokens of an answer; reasoning models need more."
    )
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_tokens", description="The server's name for max_tokens; OpenAI's reasoning models use the second."
    )


REWRITE = (
    "Rewrite this prompt for a text-to-image model: describe the same scene in more detail, in one paragraph. "
    "Keep every object, number, colour and position that it names, and add no others. Answer with the new prompt "
    "only.\n\n{prompt}"
)
"""The request to rewrite a prompt."""


def _check_rewriting(template: str) -> str:
    """Return a template of the request to rewrite a prompt. Raises ValueError if it does not show the prompt."""
    if template.count("{prompt}") != 1:
        raise ValueError("must contain {prompt} once")
    return template


PARAPHRASE = (
    "Say this prompt for a text-to-image model in other words. Keep its meaning, its length and every object, "
    "number, colour and position that it names, and add nothing. Texts in quotes stay as they are. Answer with "
    "the new prompt only.\n\n{prompt}"
)
"""The request to paraphrase a prompt."""

TRANSLATE = (
    "Translate this prompt for a text-to-image model into {language}. Texts in quotes stay as they are. Answer "
    "with the translation only.\n\n{prompt}"
)
"""The request to translate a prompt."""


class RewriteOptions(ChatOptions):
    """Options of the requests that rewrite prompts."""

    model: str = Field(description="Name of the chat model on the server.")
    template: Annotated[str, AfterValidator(_check_rewriting)] = Field(
        REWRITE, description="The request, with {prompt} for the prompt's text."
    )
    seed: int | None = Field(None, description="Seed to send. Default: no seed.")

    @property
    def filled_template(self) -> str:
        """The request with the place of the prompt alone."""
        return self.template


class TranslateOptions(RewriteOptions):
    """Options of the requests that translate prompts."""

    language: str = Field(description="The language, in English (Spanish).", min_length=1)
    template: Annotated[str, AfterValidator(_check_rewriting)] = Field(
        TRANSLATE, description="The request, with {prompt} for the prompt's text and {language}."
    )

    @property
    def filled_template(self) -> str:
        """The request with the place of the prompt alone."""
        return self.template.replace("{language}", self.language)


class ImageOptions(ServerOptions):
    """Options of image requests."""

    size: str | None = Field(None, description="Size as the server writes it (1024x1024). Default: the server's.")
    quality: str | None = Field(None, description="Quality as the server names it. Default: the server's.")
    response_format: Literal["b64_json", "url"] | None = Field(
        None, description="Form of the images in answers; both work. Default: the server's."
    )
    send_seed: bool = Field(
        False,
        description="Send the seed, if the server supports it (OpenAI's does not). Otherwise a seed only numbers "
        "the samples.",
    )
    image_hosts: Annotated[tuple[HostName, ...], ExecutionOption()] = Field(
        (DALLE_HOST,),
        description="Further hosts from which t2i downloads images that the server returns as addresses: HOST, "
        "*.DOMAIN, HOST:PORT. Private addresses are never allowed.",
    )
    price_per_image: Annotated[float | None, ExecutionOption()] = Field(
        None, ge=0, allow_inf_nan=False, description=f"Price of an image{_IN_DOLLARS}"
    )
    image_tokens: Annotated[int | None, ExecutionOption()] = Field(
        None,
        ge=0,
        description="The most output tokens of one image, if they have a price, for the plan and --max-cost. "
        "Default: not known.",
    )


class JudgeOptions(ChatOptions):
    """Options of the judge."""

    template: Annotated[str, AfterValidator(check_template)] = Field(
        TEMPLATE,
        description="The question, with {prompt}, {first}, {second} (the images) and {definitions}; it must ask "
        "for [[A]], [[B]], [[C]] (tie) or [[D]] (both bad).",
    )
    with_definitions: bool = Field(
        True, description="Show the definitions that come with a question, if there are any."
    )
    detail: Literal["high", "low", "auto"] = Field(
        "high", description="Level of detail at which the model reads images."
    )
    probabilities: bool = Field(
        False,
        description="Ask for the probability of each choice of a question (capability answer). The server must "
        "support logprobs; OpenAI's reasoning models do not.",
    )
    image_tokens: Annotated[int | None, ExecutionOption()] = Field(
        None,
        ge=0,
        description="The most tokens that the server counts for one image that it is shown, for the plan and "
        "--max-cost. Default: not known.",
    )
    seed: int | None = Field(None, description="Seed to send, plus the number of the repeat. Default: no seed.")
