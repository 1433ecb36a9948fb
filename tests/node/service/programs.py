"""A program in the background, for tests of the words with which systems are told so."""

from pathlib import Path

from ktms.node.service.background import NODE, Background

PROGRAM = Background(
    name=NODE,
    what="KTMS node",
    words=("/home/anna/.ktms/venv/bin/ktms-node", "run", "--home", "/home/anna/my node/100%"),
    variables=(("HTTPS_PROXY", "http://proxy:3128"), ("WORD", 'with "quotes" and $money')),
    stops_in_s=40,
    log=Path("/home/anna/.ktms/logs/start.log"),
)
