"""The options of the installer, and what they ask for.

What is not named stays as it was: `changes` holds only what was. Not here: whether it can be done (`plan.py`).
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.home import FOLDER, NodeHome
from ktms.node.install.refused import Refused
from ktms.node.settings import LISTEN_PORT, Tls, Tunnel
from ktms.node.settings_rules import is_plain_url

KEY_VARIABLE = "KTMS_NODE_KEY"

AUTO = "auto"
"""Takes an option back: the agent finds it out."""

ENGINES = (EngineKind.OLLAMA, EngineKind.VLLM, EngineKind.LLAMACPP, EngineKind.TGI)

SLOTS_MAX = 1024
"""As many as an announcement may say."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the owner asks for. `changes`: members of the settings, by name, and their values.

    `engine` and `engine_url` None: what runs here.
    """

    home: NodeHome
    changes: Mapping[str, object] = field(default_factory=dict)
    engine: EngineKind | None = None
    engine_url: str | None = None
    is_dry: bool = False
    in_foreground: bool = False
    is_sure: bool = False


def add(parser: argparse.ArgumentParser) -> None:
    """Give a parser the options of an installation."""
    parser.add_argument("--gateway", metavar="URL", help="the gateway")
    parser.add_argument(
        "--key-file", type=Path, metavar="FILE", help=f"file with the node key (or {KEY_VARIABLE})"
    )
    parser.add_argument("--key", help="the node key; every user of this machine may read it meanwhile")
    parser.add_argument("--model", action="append", metavar="NAME", help="a model to serve (repeat)")
    parser.add_argument("--engine", choices=[kind.value for kind in ENGINES], help="default: what runs here")
    parser.add_argument("--engine-url", metavar="URL", help="where the engine answers")
    parser.add_argument("--tunnel", metavar="HOW", help="cloudflare, cloudflare=TOKENFILE, none")
    parser.add_argument("--public-url", metavar="URL", help=f"where the gateway reaches this machine; {AUTO}")
    parser.add_argument("--tls", choices=[tls.value for tls in Tls], help="TLS between gateway and this machine")
    parser.add_argument("--slots", metavar="N", help=f"calls at once; {AUTO}: as the engine says")
    parser.add_argument("--listen-port", type=int, metavar="PORT", help=f"where the agent listens ({LISTEN_PORT})")
    parser.add_argument("--home", type=Path, metavar="FOLDER", help=f"in place of ~/{FOLDER}")
    parser.add_argument("--dry-run", action="store_true", help="print every step and do none")
    parser.add_argument("--foreground", action="store_true", help="no service: run the agent here")
    parser.add_argument("--yes", action="store_true", help="do not ask before removing")


def asked_of(
    options: argparse.Namespace, variables: Mapping[str, str], read: Callable[[Path], str | None]
) -> Asked:
    """Read the options.

    Raises:
        Refused: one of them says something impossible.
    """
    changes: dict[str, object] = {}
    if options.gateway is not None:
        changes["gateway"] = _url("--gateway", options.gateway).rstrip("/")
    key = _key(options, variables, read)
    if key is not None:
        changes["node_key"] = key
    if options.model:
        changes["models"] = tuple(map(_model, dict.fromkeys(options.model)))
    if options.tunnel is not None:
        changes |= _tunnel(options.tunnel, read)
    if options.public_url is not None:
        is_auto = options.public_url == AUTO
        changes["public_url"] = None if is_auto else _url("--public-url", options.public_url).rstrip("/")
    if options.tls is not None:
        changes["tls"] = Tls(options.tls)
    if options.slots is not None:
        changes["slots"] = None if options.slots == AUTO else _count("--slots", options.slots, SLOTS_MAX)
    if options.listen_port is not None:
        changes["listen_port"] = _count("--listen-port", str(options.listen_port), 65535)
    return Asked(
        home=NodeHome(_folder(options.home)),
        changes=changes,
        engine=None if options.engine is None else EngineKind(options.engine),
        engine_url=None if options.engine_url is None else _url("--engine-url", options.engine_url).rstrip("/"),
        is_dry=options.dry_run,
        in_foreground=options.foreground,
        is_sure=options.yes,
    )


def _folder(named: Path | None) -> Path:
    """Give the agent's folder; files of services hold its path, in one line of UTF-8."""
    folder = (named or Path.home() / FOLDER).absolute()
    if not str(folder).isprintable():
        raise Refused(f"the folder {str(folder)!a} has signs that no service takes", "name another with --home")
    return folder


def _model(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise Refused(f"there is no model {name!a}", "name one with --model, or none for all that the engine has")
    return name


def _key(
    options: argparse.Namespace, variables: Mapping[str, str], read: Callable[[Path], str | None]
) -> Secret | None:
    if options.key_file is not None:
        text = read(options.key_file)
        if text is None:
            raise Refused(f"the key file {options.key_file} cannot be read", "name another with --key-file")
    else:
        text = options.key or variables.get(KEY_VARIABLE)
    if not text:
        return None
    key = text.strip()
    # It becomes a header; what is wrong with it otherwise is for the gateway to say.
    if not key.isascii() or not key.isprintable() or " " in key or not key:
        raise Refused("that is no node key", "have one made with: ktms admin nodes create")
    return Secret(key)


def _tunnel(text: str, read: Callable[[Path], str | None]) -> dict[str, object]:
    how, equals, file = text.partition("=")
    if text == Tunnel.NONE.value:
        return {"tunnel": Tunnel.NONE, "tunnel_token_file": None}
    if how != "cloudflare" or (equals and not file):
        raise Refused(f"there is no tunnel {text!r}", "say cloudflare, cloudflare=TOKENFILE or none")
    if not equals:
        return {"tunnel": Tunnel.QUICK, "tunnel_token_file": None}
    path = Path(file).absolute()
    if not (read(path) or "").strip():
        raise Refused(f"{path} holds no token", "put the tunnel's token into a file (mode 0600) and name that")
    return {"tunnel": Tunnel.NAMED, "tunnel_token_file": str(path)}


def _url(option: str, text: str) -> str:
    if not is_plain_url(text):
        raise Refused(f"{option} {text} is no plain URL", "say http://… or https://…, without user name or query")
    return text


def _count(option: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= most):
        raise Refused(f"{option} {text} is out of range", f"say a number from 1 to {most}")
    return int(text)
