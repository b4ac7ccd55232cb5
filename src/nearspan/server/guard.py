"""The guard: checks every request before anything reads it, and gives every answer its security headers."""

import asyncio
from collections.abc import Collection
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nearspan.server.access import is_allowed
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
LINGER = 2.0  # seconds for which the rest of a refused body is thrown away, so that the client reads the refusal


class Guard:
    """Reads a request's body within the limits and hands it on; refuses what is beyond them with JSON and 4xx.

    Where the client leaves before it has its answer, whatever works on that is cancelled.

    `hosts` are the names that the server answers to.
    """

    def __init__(self, app: ASGIApp, limits: Limits, hosts: Collection[str]) -> None:
        self.app, self.limits, self.hosts = app, limits, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        is_answered = False

        async def answer(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            is_answered = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check_host(headers.get("host", ""), scope)
            body = await self._read_body(headers, receive)
        except Refusal as refusal:
            await self._refuse(refusal, receive, answer)
            return
        if body is None:  # the client has gone
            return
        unread = [{"type": "http.request", "body": body, "more_body": False}]
        leaving = asyncio.ensure_future(receive())  # ends when the client leaves, or has its answer

        async def receive_body() -> Message:
            return unread.pop() if unread else await asyncio.shield(leaving)

        serving = asyncio.ensure_future(self.app(scope, receive_body, answer))
        try:
            await asyncio.wait({serving, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done() or is_answered:
                await serving
        finally:
            serving.cancel()  # nobody waits for it any more
            leaving.cancel()

    def _check_host(self, host: str, scope: Scope) -> None:
        address, _ = scope.get("server") or ("", None)
        if not is_allowed(host, self.hosts, address):
            allow = "its own name or address, or one that it was started with (--allow-host)"
            raise Refusal(421, f"this server does not answer to the host {host[:200]!r}: use {allow}")

    async def _read_body(self, headers: Headers, receive: Receive) -> bytes | None:
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
