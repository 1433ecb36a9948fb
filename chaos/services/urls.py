"""URLs of services with passwords in them: the address inside, and the same URL by way of a proxy."""

from urllib.parse import SplitResult, urlsplit

from chaos.services.service import Address, Unavailable


def address_in(url: str, *, variable: str, default_port: int) -> Address:
    """Read where the service of this URL listens; `variable` is where the URL comes from.

    Raises:
        Unavailable: the URL names no host, or no such port. The message does not hold the URL.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise Unavailable(f"{variable} is not a URL") from error
    if not host:
        raise Unavailable(f"{variable} names no host: write it as scheme://user:password@host:port/name")
    return Address(host, port or default_port)


def rerouted(url: str, through: Address | None, *, database: str | None = None) -> str:
    """Give the URL with another address, and another database, in it; what is None stays."""
    parts = urlsplit(url)
    if through is not None:
        credentials, at, _ = parts.netloc.rpartition("@")
        parts = parts._replace(netloc=f"{credentials}{at}{through}")
    if database is not None:
        parts = parts._replace(path=f"/{database}")
    return _whole(parts)


def _whole(parts: SplitResult) -> str:
    return parts.geturl()
