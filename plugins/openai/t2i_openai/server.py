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
from t2i_core.api import Setup
from t2i_core.api.budget import Reservation
from t2i_core.api.errors import BadModel
from t2i_core.api.options import read_secret
from t2i_core.api.text import fit_one_line

from .http_limits import ACCEPTED, limit_size, refuse_other_servers, strip_url
from .options import ServerOptions
from .options import is_local as is_local
from .prices import find_cost
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


_UNCHARGED = {503, 529}
"""Status codes from 500 by which a server says that it did not work on a request. Others may hide its work."""

_MONEY_CHECK = 0.02
"""Seconds between looks whether an open request has left money over."""

_log = logging.getLogger(__name__)


class Failed(Exception):
    """Raised if there is no answer, with the reason."""


class Server:
    """Sends requests, retries them if that may help, and counts requests and tokens.

    Raises:
        Refused: The server refuses one request because of its content.
        Failed: One request has no answer after all tries.
        UnusableReply: The answer to one request is unusable, and a retry does not help.
        BadModel: No request can succeed: wrong key, unknown model, no credit, or no server.
    """

    def __init__(self, model: str, setup: Setup[ServerOptions]) -> None:
        options, offline = setup.options, setup.offline
        if offline and not is_local(options.base_url):
            raise BadModel(f"'openai:{model}' needs the server {options.base_url}, which --offline forbids")
        self.offline = offline
        self.model = model
        self.options = options
        self.at_once = setup.batch_size or options.concurrency
        self.most_bytes = int(options.max_answer_mb * 1e6)
        self._budget = setup.budget
        self._key = read_secret(options.api_key_env) or _NO_KEY
        self._told: set[tuple[int, str]] = set()
        self._client: openai.AsyncOpenAI | None = None
        self._next_turn = 0.0
        self._unanswered = 0
        self._random = random.Random()
        self._served: set[str] = set()
        self._counts = {"requests": 0, "retries": 0, "refusals": 0, "tokens_in": 0, "tokens_out": 0}

    @property
    def settings(self) -> dict[str, Any]:
        """Entries for the manifest: the model's name on the server, and the counts since the start."""
        return {
            "model": self.model,
            "served_as": sorted(self._served),
            **self._counts,
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
        self,
        send: Callable[[openai.AsyncOpenAI], Awaitable[AnswerT]],
        most: float = 0.0,
        elsewhere: bool = False,
    ) -> AnswerT:
        """Send one request, with retries, until it is answered, refused or failed.

        Args:
            send: Sends the request once.
            most: The most that sending it once can cost, in USD. A try without an answer counts in full, unless
                the server says that it did not work on the request.
            elsewhere: True if it goes to another server (to download a file), whose errors do not concern this
                one.
        """
        for tries in range(1, self.options.retries + 2):
            client = self.client  # creating it takes a while, which must not count as time of the request
            charge = await self._reserve(most)
            try:
                await self._turn()
            except BaseException:
                charge.settle(0)
                raise
            self._counts["requests"] += 1
            asked_to_wait = 0.0
            try:
                with charge:
                    async with asyncio.timeout(self.options.timeout):
                        answer = await _settle(charge, send(client), self.options)
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

    def count_usage(self, reply: Reply) -> dict[str, Any]:
        """Count the tokens of an answer, and return them and its cost as plain data."""
        usage = reply.usage
        tokens_in, tokens_out = (usage.tokens_in, usage.tokens_out) if usage else (0, 0)
        cost = find_cost(self.options, reply)
        served = {"served_as": reply.model} if reply.model else {}
        self._served.update(served.values())
        self._counts["tokens_in"] += tokens_in
        self._counts["tokens_out"] += tokens_out
        counted = {} if cost is None else {"cost": round(cost, 6)}
        return {**served, "tokens_in": tokens_in, "tokens_out": tokens_out, **counted}

    def count_refusal(self) -> None:
        """Count a refusal."""
        self._counts["refusals"] += 1

    async def _reserve(self, most: float) -> Reservation:
        """Reserve the money for one request; wait while requests that are open may leave some over.

        Raises:
            Failed: If the budget is spent.
        """
        while (charge := self._budget.reserve(most)) is None:
            if self._budget.is_spent:
                raise Failed("not sent, because it could exceed --max-cost")
            await asyncio.sleep(_MONEY_CHECK)
        return charge

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


async def _settle(charge: Reservation, sent: Awaitable[AnswerT], options: ServerOptions) -> AnswerT:
    """Wait for an answer, and settle the reservation if the answer, or the error, says what it has cost."""
    try:
        answer = await sent
    except openai.APIStatusError as error:
        if error.status_code < 500 or error.status_code in _UNCHARGED:
            charge.settle(0)
        raise
    except openai.APIConnectionError as error:
        if not _has_connected(error):
            charge.settle(0)
        raise
    cost = find_cost(options, answer) if isinstance(answer, Reply) else None
    if cost is not None:
        charge.settle(cost)
    return answer


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
    causes = _list_causes(error)
    outside = any(isinstance(cause, OSError | httpx2.ConnectError) for cause in causes)
    root = causes[-1] if causes else error
    return f"{type(root).__name__}: {root}" if outside and str(root) else type(root).__name__


def _has_connected(error: BaseException) -> bool:
    """Return whether the client had a connection, so that the server may have read the request."""
    return not any(isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout) for cause in _list_causes(error))


def _list_causes(error: BaseException) -> list[BaseException]:
    causes: list[BaseException] = []
    while error.__cause__ is not None:
        error = error.__cause__
        causes.append(error)
    return causes
