"""What `ktms up` prints when the gateway answers: where it is, where the key lies, what to try first. Pure."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Started:
    """Facts of a gateway that has just started.

    `command` is how the `ktms` that started it is called from where it was; `new_key` the client key where it was
    made just now.
    """

    command: str
    url: str
    version: str
    models: tuple[str, ...]
    chains: tuple[str, ...]
    notes: tuple[str, ...]
    key_file: Path
    new_key: str | None
    admin_addr: str
    data_dir: Path
    seconds: float


def banner(started: Started) -> str:
    """Write the text; ready to copy, nothing to fill in."""
    lines = [f"KTMS {started.version} answers at {started.url} (started in {started.seconds:.1f} s)", ""]
    lines += [f"  {note}" for note in started.notes]
    lines.append(f"  models      {', '.join(started.models) or 'none yet: see docs/configuration.md'}")
    if started.chains:
        lines.append(f"  chains      {', '.join(started.chains)}")
    lines.append(f"  client key  {started.key_file}" + (f"  (new: {started.new_key})" if started.new_key else ""))
    lines.append(f"  admin       {started.command} admin keys list   (gRPC on {started.admin_addr})")
    lines.append(f"  health      {started.url}/readyz   metrics {started.url}/metrics")
    lines.append(f"  data        {started.data_dir}")
    if started.models:
        lines += ["", *_first_call(started, started.models[0])]
    lines += ["", "Ctrl-C stops it; the data stays."]
    return "\n".join(lines)


def _first_call(started: Started, model: str) -> list[str]:
    """Write two ways to ask; a path is quoted as shell and Python want it, a model's name needs no quotes.

    Python's lines begin at the margin: indented, a pasted program would not run.
    """
    in_shell, in_python = shlex.quote(str(started.key_file)), json.dumps(str(started.key_file))
    return [
        "Try it:",
        "",
        f"  curl -N {started.url}/v1/chat/completions \\",
        f'    -H "Authorization: Bearer $(cat {in_shell})" \\',
        "    -H 'Content-Type: application/json' \\",
        f'    -d \'{{"model": "{model}", "stream": true, "messages": [{{"role": "user", "content": "Hello"}}]}}\'',
        "",
        "or in Python, after pip install openai:",
        "",
        "from openai import OpenAI",
        f'client = OpenAI(base_url="{started.url}/v1", api_key=open({in_python}).read().strip())',
        f'messages, model = [{{"role": "user", "content": "Hello"}}], "{model}"',
        "for event in client.chat.completions.create(model=model, stream=True, messages=messages):",
        '    print(event.choices[0].delta.content or "", end="", flush=True)',
    ]
