"""The guard: checks every request before anything reads it, and gives every answer its security headers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nearspan.server.limits import Limits, Refusal

POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
LINGER = 2.0  # seconds for which the rest of a refused body is thrown away, so that the client reads the refusal


def allowed_hosts(host: str) -> frozenset[str]:
    """The names that a server on this address answers to: those of a loopback address, otherwise any (none listed).

    >>> sorted(allowed_hosts("127.0.0.2"))
    ['127.0.0.1', '127.0.0.2', '[::1]', 'localhost']
    >>> allowed_hosts("0.0.0.0")
    frozenset()
    """
    try:
        loopback = ip_address(host).is_loopback
    except ValueError:
        loopback = host.lower() == "localhost"
    return LOOPBACK | {f"[{host}]" if ":" in host else host.lower()} if loopback else frozenset()


class Guard:
    """Reads a request's body within the limits and hands it on; refuses what is beyond them with JSON and 4xx.

    `hosts` are the names that the server answers to; empty means all. On a loopback address they keep out pages of
    other hosts whose name points there (DNS rebinding), which could otherwise read the memory.
    """

    def __init__(self, app: ASGIApp, limits: Limits, hosts: Collection[str] = ()) -> None:
        self.app, self.limits, self.hosts = app, limits, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            body = await self._read_body(Headers(scope=scope), receive)
        except Refusal as refusal:
            await self._refuse(refusal, receive, answer)
            return
        if body is None:  # the client has gone
            return
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_body() -> Message:
            return unread.pop() if unread else await receive()

        await self.app(scope, receive_body, answer)

    async def _read_body(self, headers: Headers, receive: Receive) -> bytes | None:
        host = headers.get("host", "")
        if self.hosts and _without_port(host) not in self.hosts:
            raise Refusal(421, f"this server does not answer to the host {host!r}: start it on that host to open it")
        most = self.limits.body_bytes
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > most:
            raise Refusal(413, f"the request has {int(length):,} bytes; at most {most:,} are read")
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.send_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise Refusal(413, f"the request has more than {most:,} bytes; at most so many are read")
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Refusal(408, f"the request did not arrive within {self.limits.send_seconds:g} seconds") from None

    async def _refuse(self, refusal: Refusal, receive: Receive, send: Send) -> None:
        answer = JSONResponse({"error": refusal.detail}, refusal.status_code, {"connection": "close"})
        await send({"type": "http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
        await send({"type": "http.response.body", "body": answer.body, "more_body": True})
        left = 64 * self.limits.body_bytes
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        break
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _without_port(host: str) -> str:
    """A Host header without its port.

    >>> _without_port("localhost:8000"), _without_port("[::1]:8000"), _without_port("[::1]")
    ('localhost', '[::1]', '[::1]')
    """
    name, colon, port = host.rpartition(":")
    return name.lower() if colon and port.isdecimal() else host.lower()
