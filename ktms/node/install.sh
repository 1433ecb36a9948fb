#!/bin/sh
# Makes this machine a node of a KTMS gateway, for this user and without administrator's rights.
#
#   curl -fsS https://GATEWAY/node/v1/install.sh | KTMS_NODE_KEY=ktms_node_… sh -s -- --gateway https://GATEWAY
#
# It only finds a Python (or installs a pinned one under ~/.ktms), fetches the agent from the gateway, compares its
# SHA-256 with the one below, and lets the agent do the rest: `ktms.node.install` in that file says what that is.
# All of it is one function called on the last line: of a download that was cut off nothing runs.

ktms_install() {
  set -eu
  umask 077

  version='@VERSION@'
  wheel='@WHEEL@'
  wheel_sha256='@WHEEL_SHA256@'

  gateway=''
  home="${HOME:?}/.ktms"
  is_dry=''
  instead=''
  previous=''
  for word in "$@"; do
    case $previous in
      --gateway) gateway=$word ;;
      --home) home=$word ;;
    esac
    case $word in
      -h | --help)
        usage
        return 0
        ;;
      --gateway=*) gateway=${word#*=} ;;
      --home=*) home=${word#*=} ;;
      --dry-run) is_dry=yes ;;
      --doctor) instead=doctor ;;
      --uninstall) instead=uninstall ;;
    esac
    previous=$word
  done
  case $home in
    /*) ;;
    *) home=$PWD/$home ;;
  esac

  # What is installed knows best how it is looked into, and how it is removed.
  if [ -n "$instead" ] && [ -x "$home/venv/bin/ktms-node" ]; then
    without "$instead" "$@"
    return
  fi
  [ "$instead" != doctor ] || fail 'no node is installed here, so there is nothing to look into'
  [ -n "$gateway" ] || fail 'name the gateway: --gateway https://…'
  case $gateway in
    http://* | https://*) ;;
    *) fail "--gateway wants a URL with http or https, not $gateway" ;;
  esac
  while [ "$gateway" != "${gateway%/}" ]; do
    gateway=${gateway%/}
  done

  work=$(mktemp -d "${TMPDIR:-/tmp}/ktms-node.XXXXXX") || fail 'no temporary folder can be made'
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT HUP TERM

  python=$(find_python)
  if [ -z "$python" ]; then
    pin_python
    if [ -n "$is_dry" ]; then
      say "would install Python $python_version in $home/programs/python, from $python_url"
      say 'the rest is planned by the agent, which needs that Python'
      return 0
    fi
    install_python
  fi

  fetch "$gateway/node/v1/agent.whl" "$work/$wheel" || fail "the agent cannot be fetched from $gateway"
  is_sha256 "$work/$wheel" "$wheel_sha256" ||
    fail "the agent from $gateway is not the one of this script (release $version): fetch the script again"

  unset PYTHONHOME
  code=0
  KTMS_NODE_WHEEL="$work/$wheel" PYTHONPATH="$work/$wheel" PYTHONDONTWRITEBYTECODE=1 \
    "$python" -P -s -m ktms.node.install "$@" </dev/null || code=$?
  return "$code"
}

usage() {
  cat <<'END'
Makes this machine a node of a KTMS gateway. Everything lands in ~/.ktms; no administrator's rights are needed.

  curl -fsS URL/node/v1/install.sh | KTMS_NODE_KEY=ktms_node_… sh -s -- --gateway URL --model qwen3:4b

  --gateway URL        the gateway
  --key-file FILE      file with the node key, in place of the variable KTMS_NODE_KEY
  --key KEY            the node key; every user of this machine may read it meanwhile
  --model NAME         a model to serve (repeat); default: all that the engine has
  --engine KIND        ollama, vllm, llamacpp or tgi; default: what runs here, else Ollama, installed if need be
  --engine-url URL     where the engine answers
  --tunnel HOW         cloudflare (trials), cloudflare=TOKENFILE (a tunnel of yours, with --public-url), none
  --public-url URL     where the gateway reaches this machine; `auto` for its own address
  --tls on|off|insecure
                       on: TLS with a certificate that the gateway pins; insecure: TLS that it does not check
  --slots N            calls at once; `auto`: as the engine says
  --listen-port PORT   where the agent listens (8790)
  --home FOLDER        in place of ~/.ktms
  --dry-run            print every step and do none
  --foreground         no service: run the agent here until it is told to stop
  --doctor             say what is wrong with the node of this machine
  --uninstall          remove all of it; an engine that was here before stays
  --yes                do not ask before removing

Run again with other options it changes what is different; what is not named stays as it was.
END
}

say() { printf '%s\n' "ktms-node: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Run a command of the installed agent with all words but the option that is now the command.
without() {
  command=$1
  shift
  for word in "$@"; do
    shift
    [ "$word" = "--$command" ] || set -- "$@" "$word"
  done
  "$home/venv/bin/ktms-node" "$command" "$@" </dev/null
}

# Python 3.11 or newer that can do TLS and make environments. macOS: /usr/bin/python3 is never run: it is 3.9, or a
# stub that opens a dialogue.
find_python() {
  for name in python3 python3.14 python3.13 python3.12 python3.11 \
    /opt/homebrew/bin/python3 /usr/local/bin/python3 /usr/bin/python3 \
    /Library/Frameworks/Python.framework/Versions/Current/bin/python3 "$home/programs/python/bin/python3"; do
    found=$(command -v "$name" 2>/dev/null) || continue
    [ "$(uname -s)" != Darwin ] || [ "$found" != /usr/bin/python3 ] || continue
    if "$found" -c 'import ensurepip, ssl, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      printf '%s' "$found"
      return
    fi
  done
}

# Python 3.14.7 of python-build-standalone 20260814, as listed with these hashes by
# astral-sh/uv, crates/uv-python/download-metadata.json, of 2026-08-21.
pin_python() {
  python_version=3.14.7
  case $(uname -s) in
    Darwin) system=apple-darwin ;;
    Linux)
      system=unknown-linux-gnu
      for loader in /lib/ld-musl-*.so.1; do
        [ ! -e "$loader" ] || system=unknown-linux-musl
      done
      ;;
    *) fail "this is neither macOS nor Linux but $(uname -s): a node cannot be installed here" ;;
  esac
  cpu=$(uname -m)
  # A shell under Rosetta says x86_64 on Apple silicon.
  [ "$(sysctl -n hw.optional.arm64 2>/dev/null)" != 1 ] || cpu=aarch64
  [ "$cpu" != arm64 ] || cpu=aarch64
  case $cpu-$system in
    aarch64-apple-darwin) python_sha256=423717c485b9ee7822590b9d973c1b5fb2cda0fe43448ab82a3d44f823bd329c ;;
    x86_64-apple-darwin) python_sha256=e085b44e21d9c60acd866680747e1f82800cf9a1630a369da1723976d87bead1 ;;
    aarch64-unknown-linux-gnu) python_sha256=86dfb106b303fa6a1991f7da42ced3e11576f777be299b3162e06617b6d22542 ;;
    x86_64-unknown-linux-gnu) python_sha256=cefba034445d2875408d1fd4d5700ae6731563aeb54dcb39fd8164ab5c457533 ;;
    aarch64-unknown-linux-musl) python_sha256=1bdbb1d5267120b5ba8531332be695693ba49567d28c40dd670545b6a25b70a7 ;;
    x86_64-unknown-linux-musl) python_sha256=d92793e7c75f88e0ebfe3f6dc9a80b1571e287537938c536b07c60f9c23d6360 ;;
    *) fail "no Python 3.11 or newer is here, and none is known for $cpu: install one, with its venv module" ;;
  esac
  python_url=https://github.com/astral-sh/python-build-standalone/releases/download/20260814
  python_url=$python_url/cpython-$python_version%2B20260814-$cpu-$system-install_only_stripped.tar.gz
}

install_python() {
  say "no Python 3.11 or newer is here: installing $python_version in $home/programs/python"
  fetch "$python_url" "$work/python.tar.gz" || fail "Python cannot be fetched from $python_url"
  is_sha256 "$work/python.tar.gz" "$python_sha256" || fail "$python_url has not the SHA-256 that is expected of it"
  mkdir -p "$home/programs"
  rm -rf "$home/programs/.python" "$home/programs/python"
  mkdir "$home/programs/.python"
  tar -xzf "$work/python.tar.gz" -C "$home/programs/.python" || fail 'Python cannot be unpacked: is the disk full?'
  mv "$home/programs/.python/python" "$home/programs/python"
  rm -rf "$home/programs/.python"
  python=$(find_python)
  [ -n "$python" ] || fail "the Python in $home/programs/python does not run here"
}

fetch() {
  if has curl; then
    curl -fsSL --connect-timeout 20 --retry 2 -o "$2" "$1"
  elif has wget; then
    wget -q -T 60 -O "$2" "$1"
  else
    fail 'neither curl nor wget is here: install one of them'
  fi
}

is_sha256() {
  if has sha256sum; then
    digest=$(sha256sum "$1")
  elif has shasum; then
    digest=$(shasum -a 256 "$1")
  elif has openssl; then
    digest=$(openssl dgst -sha256 -r "$1")
  else
    fail 'none of sha256sum, shasum and openssl is here: install one of them'
  fi
  [ "${digest%% *}" = "$2" ]
}

ktms_install "$@"
