"""Access: the names that the server answers to, and the tokens for reading and editing."""

import re
from collections.abc import Collection, Iterable
from hmac import compare_digest
from ipaddress import ip_address
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBasic, HTTPBasicCredentials, HTTPBearer

from nearspan.errors import ConfigError
from nearspan.server.limits import Refusal

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_ADDRESS = re.compile(r"[\d.]+|\[[\da-f:.]+\]")

Credentials = Annotated[
    HTTPAuthorizationCredentials | None,
    Depends(HTTPBearer(auto_error=False, description="printed when the server starts")),
]

Password = Annotated[
    HTTPBasicCredentials | None,
    Depends(HTTPBasic(auto_error=False, description="any user, with the token as the password")),
]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def allowed_hosts(host: str, more: Iterable[str] = ()) -> frozenset[str]:
    """The names that a server on this address answers to: its own, those of loopback, and more.

    >>> sorted(allowed_hosts("10.0.0.5", ["Ner.Example"]))
    ['10.0.0.5', '127.0.0.1', '[::1]', 'localhost', 'ner.example']
    """
    for name in more:
        if not re.fullmatch(r"[\w.-]+|\[[\da-fA-F:.]+\]", name):
            raise ConfigError(f"{name!r} is no host: give its name alone, without http:// and without a port")
    return LOOPBACK | {name.lower() for name in (f"[{host}]" if ":" in host else host, *more)}


def is_allowed(header: str, hosts: Collection[str], address: str) -> bool:
    """Whether the server answers to a Host header: a name of the list, or the very address that was connected to.

    A page of another host can have its name point here (DNS rebinding), but it comes with that name.

    >>> is_allowed("LocalHost:8000", LOOPBACK, "10.0.0.5"), is_allowed("10.0.0.5:8000", LOOPBACK, "10.0.0.5")
    (True, True)
    >>> is_allowed("rebound.example", LOOPBACK, "10.0.0.5"), is_allowed("[::1]", LOOPBACK, "10.0.0.5")
    (False, True)
    """
    name = re.sub(r":\d*$", "", header.lower())
    return name in hosts or (_ADDRESS.fullmatch(name) is not None and name.strip("[]") == address)


class Tokens:
    """The token for editing, which reads too, and the one for reading; without that one everybody may read."""

    def __init__(self, token: str, read_token: str = "") -> None:
        if not token:
            raise ConfigError("a server needs a token that is not empty")
        if not all(re.fullmatch("[!-~]*", each) for each in (token, read_token)):
            raise ConfigError("the token goes in a header: use letters, digits and signs of ASCII only, and no blanks")
        self.token, self.read_token = token, read_token

    async def check_reader(self, credentials: Credentials) -> None:
        """Refuse to read without a token."""
        if not (_match(credentials, self.token) or _match(credentials, self.read_token)):
            raise Refusal(401, "reading needs the server's token: Authorization: Bearer TOKEN")

    async def check_editor(self, credentials: Credentials) -> None:
        """Refuse to edit without the token for that."""
        if _match(credentials, self.token):
            return
        if self.read_token and _match(credentials, self.read_token):
            raise Refusal(403, "this token is for reading only: editing needs the other one")
        raise Refusal(401, "editing needs the server's token: Authorization: Bearer TOKEN")

    async def check_tool(self, credentials: Credentials, password: Password) -> None:
        """Refuse an annotation tool without the token for editing, as a bearer's or as a password."""
        is_password = password is not None and compare_digest(password.password.encode(), self.token.encode())
        if not (is_password or _match(credentials, self.token)):
            raise Refusal(401, "an annotation tool needs the server's token: http://nearspan:TOKEN@HOST:PORT/...")

    async def check_classifier(self, classifier: str) -> None:
        """Refuse a tool that can send nothing but an address, where that does not hold the token for editing."""
        if not compare_digest(classifier.encode(), self.token.encode()):
            raise Refusal(401, "an external recommender needs the server's token: http://HOST:PORT/inception/TOKEN")


def _match(credentials: HTTPAuthorizationCredentials | None, token: str) -> bool:
    """Whether a request carries the token; compared in constant time."""
    return credentials is not None and compare_digest(credentials.credentials.encode(), token.encode())
