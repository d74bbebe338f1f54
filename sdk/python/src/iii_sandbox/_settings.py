"""Where the server is and how to talk to it: arguments first, then the environment, as the command line reads it."""
from __future__ import annotations

import os
import ssl
import urllib.parse
from dataclasses import dataclass

DEFAULT_URL = "http://localhost:3111"
DEFAULT_TIMEOUT_MS = 30_000
DEFAULT_RETRIES = 2
URL_VARIABLE, TOKEN_VARIABLES, CA_VARIABLE = "III_SANDBOX_URL", ("III_SANDBOX_TOKEN", "III_AUTH_TOKEN"), "III_CA_CERT"


def _from_environment(*names: str) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def address_of(url: str) -> str:
    """Scheme, host and port."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@dataclass(frozen=True, repr=False)
class ClientConfig:
    """base_url: III_SANDBOX_URL, or http://localhost:3111. token: III_SANDBOX_TOKEN or III_AUTH_TOKEN; "" sends none. ca_cert: III_CA_CERT, a file
    with the certificates that the server's is verified with. timeout_ms: for each phase of a request; commands, pulls and copies may take longer,
    and streams have no end of their own. max_retries: of calls that may be repeated."""

    base_url: str = ""
    token: str | None = None
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    max_retries: int = DEFAULT_RETRIES
    ca_cert: str | None = None

    def __post_init__(self) -> None:
        url = self.base_url or _from_environment(URL_VARIABLE) or DEFAULT_URL
        if "@" in urllib.parse.urlsplit(url).netloc:
            raise ValueError("base_url: a user and password in it would be shown in logs and errors; use token")
        object.__setattr__(self, "base_url", url.rstrip("/"))
        object.__setattr__(self, "token", _from_environment(*TOKEN_VARIABLES) if self.token is None else self.token)
        object.__setattr__(self, "ca_cert", _from_environment(CA_VARIABLE) if self.ca_cert is None else self.ca_cert)

    def tls(self) -> ssl.SSLContext | bool:
        """Reading the certificates of authorities takes longer than a call: only where they are needed."""
        return ssl.create_default_context(cafile=self.ca_cert or None) if self.base_url.startswith("https:") else False

    def __repr__(self) -> str:
        return f"ClientConfig({self.base_url!r}, token={'set' if self.token else 'none'})"
