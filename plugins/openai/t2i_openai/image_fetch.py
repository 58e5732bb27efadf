"""Download of images that a server returns as addresses, only from hosts that the user's options allow.

A server that returns an address makes this machine send a request, perhaps into the user's own network. Therefore
the host must be the server itself or listed in the option `image_hosts`, and it must be public. The connection
uses the IP address that was checked, so that DNS rebinding does not help an attacker. Each redirect is checked.
Neither keys nor cookies are sent.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import httpx2
import openai
from t2i_core.api.errors import BadModel

from .http_limits import ACCEPTED, limit_size, origin, strip_url
from .replies import UnusableReply

_MOST_REDIRECTS = 5
_NAT64 = IPv6Network("64:ff9b::/96")
_USUAL_PORTS = (80, 443)


class ImageFetcher:
    """Downloads images for one server.

    Args:
        base_url: Address of the server.
        hosts: Other allowed hosts, as in the option `image_hosts`.
        most_bytes: Largest allowed file in bytes.
    """

    def __init__(self, base_url: str, hosts: tuple[str, ...], most_bytes: int) -> None:
        self._base_url = base_url
        self._own = origin(httpx2.URL(base_url))
        self._hosts = hosts
        self._most_bytes = most_bytes
        self._client: httpx2.AsyncClient | None = None

    async def fetch(self, address: str) -> bytes:
        """Return the file at an address.

        Raises:
            BadModel: The host is not allowed.
            UnusableReply: The address is not a web address or in a private network, the file is too large, or
                there are too many redirects.
            openai.APIStatusError, openai.APIConnectionError: As for any request.
        """
        url = web_address(address)
        for _ in range(_MOST_REDIRECTS + 1):
            self._refuse_host(url)
            response = await self._get(url)
            if not response.has_redirect_location:
                if response.is_error:
                    raise openai.APIStatusError("", response=response, body=None)
                return response.content
            url = web_address(response.headers["Location"], url)
        raise UnusableReply("the image's address is redirected too often")

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _refuse_host(self, url: httpx2.URL) -> None:
        """Raise BadModel if the options do not allow an image's host."""
        _, host, port = origin(url)
        if host == self._own[1] and port in (self._own[2], *_USUAL_PORTS):
            return
        if any(_matches(allowed, host, port) for allowed in self._hosts):
            return
        raise BadModel(
            f"{self._base_url} keeps its images on another host, {strip_url(url)}, which is not allowed; request "
            "images in the answer itself (response_format=b64_json), or add the host to the option "
            "image_hosts"
        )

    async def _get(self, url: httpx2.URL) -> httpx2.Response:
        """Request a file at a checked IP address; the server itself needs no check, because the user named it."""
        if origin(url) == self._own:
            return await self._send(url, url)
        host = url.raw_host.decode("ascii")
        found = await _public_addresses(host, url)
        for number, each in enumerate(found, 1):
            try:
                return await self._send(url.copy_with(host=each), url)
            except openai.APIConnectionError as error:
                if number == len(found) or not isinstance(error.__cause__, httpx2.ConnectError):
                    raise
        raise AssertionError("a name has an address")

    async def _send(self, target: httpx2.URL, url: httpx2.URL) -> httpx2.Response:
        """Connect to `target` and request `url`; the certificate must be for the host of `url`."""
        if self._client is None:
            self._client = httpx2.AsyncClient(
                headers=ACCEPTED,
                timeout=None,  # the caller has one time limit for everything
                follow_redirects=False,
                event_hooks={"response": [limit_size(self._most_bytes)]},
            )
        self._client.cookies.clear()
        named = {"Host": url.netloc.decode("ascii")}
        try:
            return await self._client.get(
                target, headers=named, extensions={"sni_hostname": url.raw_host.decode("ascii")}
            )
        except httpx2.RequestError as error:
            raise openai.APIConnectionError(request=httpx2.Request("GET", url)) from error


def web_address(text: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """Return an address as the client parses it. Raises UnusableReply if it is not a web address."""
    try:
        url = base.join(text) if base is not None else httpx2.URL(text)
        if url.scheme in ("http", "https") and url.host and url.port != 0 and text.isprintable():
            return url.copy_with(username=None, password=None)
    except (httpx2.InvalidURL, ValueError):
        pass
    raise UnusableReply("the address of the image is not a web address")


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to a single machine on the public internet."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip in _NAT64:
            inner = IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if ip.teredo is not None:
            return False
    local = ip.is_private or ip.is_loopback or ip.is_link_local or ip.is_unspecified
    return ip.is_global and not (local or ip.is_multicast or ip.is_reserved)


def _matches(allowed: str, host: str, port: int) -> bool:
    """Return whether an entry of `image_hosts` matches a host: `HOST`, `*.DOMAIN`, either with `:PORT`."""
    name, _, its_port = allowed.lower().partition(":")
    if port not in ((int(its_port),) if its_port else _USUAL_PORTS):
        return False
    return host.endswith(name[1:]) and host != name[2:] if name.startswith("*.") else host == name


async def _public_addresses(host: str, url: httpx2.URL) -> list[str]:
    """Return the IP addresses of a host. Raises UnusableReply if one of them is not public."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise openai.APIConnectionError(request=httpx2.Request("GET", url)) from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not all(map(is_public, addresses)):
        raise UnusableReply(
            f"the image is at {host}, an address of this machine or of a private network, which is never allowed; "
            "request images in the answer itself (response_format=b64_json)"
        )
    return addresses
