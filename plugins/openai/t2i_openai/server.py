"""One server: its client, retries, rate limit and errors.

The client is the package `openai`. Its own retries are off, because this module counts retries, uses full jitter,
keeps the rate limit and applies one time limit up to the last byte.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx2
import openai
from t2i_core.api.errors import BadModel
from t2i_core.api.options import read_secret
from t2i_core.api.text import fit_one_line

from .http_limits import ACCEPTED, limit_size, refuse_other_servers, strip_url
from .options import ServerOptions
from .options import is_local as is_local
from .replies import (
    CONTENT_POLICY,
    Refused,
    Reply,
    Unreadable,
    UnusableReply,
    bracket,
    find_codes,
    find_message,
    is_refusal,
)

AnswerT = TypeVar("AnswerT")

PATIENCE = 20
"""Number of consecutive requests without any answer after which the run stops."""

_NO_KEY = "none"
"""Key for servers that need none, because the client requires one."""

_AGAIN = {408, 409, 425, 429}
"""Status codes below 500 of temporary errors."""


_log = logging.getLogger(__name__)


class Failed(Exception):
    """Raised if there is no answer, with the reason."""


class Server:
    """Sends requests, retries them if that may help, and counts requests, tokens and cost.

    Raises:
        Refused: The server refuses one request because of its content.
        Failed: One request has no answer after all tries.
        UnusableReply: The answer to one request is unusable, and a retry does not help.
        BadModel: No request can succeed: wrong key, unknown model, no credit, or no server.
    """

    def __init__(self, model: str, options: ServerOptions, at_once: int | None, offline: bool) -> None:
        if offline and not is_local(options.base_url):
            raise BadModel(f"'openai:{model}' needs the server {options.base_url}, which --offline forbids")
        self.offline = offline
        self.model = model
        self.options = options
        self.at_once = at_once or options.concurrency
        self.most_bytes = int(options.max_answer_mb * 1e6)
        self._key = read_secret(options.api_key_env) or _NO_KEY
        self._told: set[tuple[int, str]] = set()
        self._client: openai.AsyncOpenAI | None = None
        self._next_turn = 0.0
        self._unanswered = 0
        self._random = random.Random()
        self._served: set[str] = set()
        self._counts = {"requests": 0, "retries": 0, "refusals": 0, "tokens_in": 0, "tokens_out": 0}
        self._cost = 0.0

    @property
    def settings(self) -> dict[str, Any]:
        """Entries for the manifest: the model's name on the server, and the counts since the start."""
        return {
            "model": self.model,
            "served_as": sorted(self._served),
            **self._counts,
            "cost": round(self._cost, 6),
        }

    @property
    def client(self) -> openai.AsyncOpenAI:
        """The client; created at first use, closed by `disconnect`."""
        if self._client is None:
            self._client = openai.AsyncOpenAI(
                api_key=self._key,
                base_url=self.options.base_url,
                max_retries=0,
                timeout=None,
                default_headers=ACCEPTED,
                http_client=openai.DefaultAsyncHttpxClient(
                    event_hooks={
                        "request": [refuse_other_servers(self.options.base_url)],
                        "response": [limit_size(self.most_bytes)],
                    }
                ),
            )
        return self._client

    async def disconnect(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def ask(
        self, send: Callable[[openai.AsyncOpenAI], Awaitable[AnswerT]], elsewhere: bool = False
    ) -> AnswerT:
        """Send one request, with retries, until it is answered, refused or failed.

        If `elsewhere` is true, the request goes to another server (to download a file), whose errors do not
        concern this one.
        """
        for tries in range(1, self.options.retries + 2):
            client = self.client  # creating it takes a while, which must not count as time of the request
            await self._turn()
            self._counts["requests"] += 1
            asked_to_wait = 0.0
            try:
                async with asyncio.timeout(self.options.timeout):
                    answer = await send(client)
            except TimeoutError:
                trouble = f"no answer within {self.options.timeout:g} s"
            except Unreadable as error:
                trouble = str(error)
            except (Refused, UnusableReply):
                self._unanswered = 0
                raise
            except openai.APIStatusError as error:
                trouble = self._handle_error(error, elsewhere)
                asked_to_wait = _retry_after(error.response.headers)
            except openai.APIConnectionError as error:
                trouble = f"the connection to {strip_url(error.request.url)} failed ({_cause(error)})"
            else:
                self._unanswered = 0
                return answer
            wait = asked_to_wait + self._random.uniform(0, self.options.backoff * 2 ** (tries - 1))
            if tries > self.options.retries:
                break
            if asked_to_wait > self.options.longest_wait:
                trouble = f"{trouble}; it asks to wait {asked_to_wait:g} s"
                break
            self._counts["retries"] += 1
            await asyncio.sleep(min(wait, self.options.longest_wait))
        if not elsewhere:
            self._count_unanswered(trouble)
        raise Failed(f"{trouble} ({tries} {'tries' if tries > 1 else 'try'})")

    def count_usage(self, reply: Reply, price: float = 0.0) -> dict[str, Any]:
        """Count the tokens and the cost of an answer, and return them as plain data.

        `price` is the cost in addition to the tokens.
        """
        usage, options = reply.usage, self.options
        tokens_in, tokens_out = (usage.tokens_in, usage.tokens_out) if usage else (0, 0)
        cost = price + (tokens_in * options.price_in + tokens_out * options.price_out) / 1e6
        served = {"served_as": reply.model} if reply.model else {}
        self._served.update(served.values())
        self._counts["tokens_in"] += tokens_in
        self._counts["tokens_out"] += tokens_out
        self._cost += cost
        return {**served, "tokens_in": tokens_in, "tokens_out": tokens_out, "cost": round(cost, 6)}

    def count_refusal(self) -> None:
        """Count a refusal."""
        self._counts["refusals"] += 1

    async def _turn(self) -> None:
        """Wait until the rate limit allows the next request; requests keep their order."""
        if self.options.requests_per_minute is not None:
            turn = max(time.monotonic(), self._next_turn)
            self._next_turn = turn + 60 / self.options.requests_per_minute
            await asyncio.sleep(turn - time.monotonic())

    def _handle_error(self, error: openai.APIStatusError, elsewhere: bool) -> str:
        """Raise the exception for a final error; return the reason if a retry may help.

        Reasons hold the status and the error's codes. The error's free text may come from a service behind the
        server; t2i shows it to the user once and never stores it. Nothing is raised `from` the error, which holds
        that text.
        """
        status, said = error.status_code, find_codes(error.body)
        trouble = f"the server answered {status}{bracket(said)}"
        self._show(status, said, find_message(error.body or ""))
        if (status in _AGAIN and "quota" not in str(error.code)) or status >= 500:
            return trouble
        self._unanswered = 0
        if elsewhere:
            raise Failed(f"the image cannot be downloaded: {trouble}") from None
        if is_refusal(error.body):
            raise Refused(said or CONTENT_POLICY) from None
        url = self.options.base_url
        if status == 401:  # the text may hold parts of the key
            variable = f"the environment variable {self.options.api_key_env}"
            raise BadModel(
                f"{url} needs a key; set {variable} (401)"
                if self._key == _NO_KEY
                else f"{url} does not accept the key in {variable} (401)"
            ) from None
        if "quota" in str(error.code) or "billing" in str(error.code) or status == 402:
            raise BadModel(f"{url}: the account has no credit{bracket(said)}; answers so far are kept") from None
        if status in (403, 404):
            address = "; check base_url too, which usually ends in /v1" if status == 404 else ""
            reason = f"{status}: {said}" if said else f"{status}"
            raise BadModel(f"{url} does not offer model {self.model!r} to this key ({reason}){address}") from None
        raise Failed(trouble) from None

    def _count_unanswered(self, trouble: str) -> None:
        """Raise BadModel if the server has not answered several requests in a row."""
        self._unanswered += 1
        if self._unanswered >= PATIENCE:
            raise BadModel(
                f"{self.options.base_url}: {PATIENCE} requests in a row were not answered, the last one: "
                f"{trouble}; answers so far are kept"
            )

    def _show(self, status: int, codes: str, text: str) -> None:
        """Show a server's text about an error on the terminal, only the first time."""
        # the text of 401 may hold parts of the key
        if text and status != 401 and (status, codes) not in self._told:
            self._told.add((status, codes))
            _log.warning("%s answered %d and says: %s", self.options.base_url, status, fit_one_line(text))


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that the server asks to wait; headers give milliseconds, seconds or a date."""
    try:
        if (milliseconds := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(milliseconds) / 1000)
        seconds = headers.get("retry-after", "0")
        try:
            return max(0.0, float(seconds))
        except ValueError:
            return max(0.0, parsedate_to_datetime(seconds).timestamp() - time.time())
    except (ValueError, OverflowError):  # neither: ignore the header
        return 0.0


def _cause(error: BaseException) -> str:
    """Return the cause of the client's `Connection error.`, without content that the server sent."""
    connected = True
    while error.__cause__ is not None:
        error = error.__cause__
        connected = connected and not isinstance(error, OSError | httpx2.ConnectError)
    own = "" if connected else str(error)
    return f"{type(error).__name__}: {own}" if own else type(error).__name__
