"""The generator: sends one request to the images endpoint per image."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from openai import AsyncOpenAI
from t2i_core.api import Setup
from t2i_core.api.failure import Failure
from t2i_core.api.generator import Generated, ImageRequest
from t2i_core.files.image_file import DamagedImage, decode

from .concurrency import run_concurrently
from .image_fetch import ImageFetcher, web_address
from .options import ImageOptions
from .prices import limit_image_cost
from .replies import ImageData, ImagesReply, Refused, UnusableReply, read
from .server import Failed, Server, is_local


class ImageServer:
    """Generates images with one model of a server."""

    def __init__(self, setup: Setup[ImageOptions]) -> None:
        self.options = setup.options
        self.server = Server(setup.argument or "", setup)
        hosts = () if setup.offline else setup.options.image_hosts
        self.images = ImageFetcher(setup.options.base_url, hosts, self.server.most_bytes)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings for the manifest."""
        return self.server.settings

    def generate(self, requests: Iterable[ImageRequest]) -> Iterator[tuple[ImageRequest, Generated | Failure]]:
        """Yield each request with its image as soon as it arrives."""
        return run_concurrently(requests, self._draw, self.server.at_once, self._disconnect)

    async def _draw(self, request: ImageRequest) -> Generated | Failure:
        try:
            most = limit_image_cost(self.options, request.prompt.text)
            reply = await self.server.ask(lambda client: self._send(client, request), most)
            used = self.server.count_usage(reply)
            image = reply.data[0]
            pixels = await asyncio.to_thread(decode, await self._file(image), "the server's image")
        except Refused as refusal:
            self.server.count_refusal()
            return Failure(f"refused by the server: {refusal}", final=True)
        except (Failed, UnusableReply, DamagedImage) as error:
            return Failure(str(error))
        record = {**used, "seed_sent": self.options.send_seed}
        if image.revised_prompt:
            record["revised_prompt"] = image.revised_prompt
        return Generated(pixels, record)

    async def _send(self, client: AsyncOpenAI, request: ImageRequest) -> ImagesReply:
        options = self.options
        asked = {"size": options.size, "quality": options.quality, "response_format": options.response_format}
        # the library's types list the sizes and qualities of its own models; other servers have others
        given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
        seed = {"seed": request.noise_seed} if options.send_seed else {}
        answer = await client.images.with_raw_response.generate(
            model=self.server.model,
            prompt=request.prompt.text,
            n=1,
            extra_body={**seed, **options.extra_body},
            **given,
        )
        return read(ImagesReply, answer.content)

    async def _file(self, image: ImageData) -> bytes:
        """Return the bytes of the image file, from the answer or from the address in the answer."""
        if image.b64_json:
            try:
                return base64.b64decode(image.b64_json, validate=True)
            except binascii.Error as error:
                raise UnusableReply(f"the server's image is not base64: {error}") from error
        if not image.url:
            raise UnusableReply("the answer holds neither an image nor the address of an image")
        address = image.url
        host = web_address(address).host
        if self.server.offline and not is_local(address):
            raise UnusableReply(
                f"the image lies on {host}, which cannot be asked offline; "
                "with response_format=b64_json servers mostly send it along"
            )
        return await self.server.ask(lambda client: self.images.fetch(address), elsewhere=True)

    async def _disconnect(self) -> None:
        await self.server.disconnect()
        await self.images.close()
