"""Bytes that reach new code, by atheris: `python -m tests.fuzz.coverage [NAME]...`, each for FUZZ_SECONDS (60).

atheris is installed by `make fuzz` alone: it exists for few platforms. Each target runs in a process of its own with a
limit of memory and of seconds for one input; what was found stands under build/fuzz/NAME/, to be run again by
`python -m tests.fuzz.coverage NAME FILE`.
"""

# ruff: noqa: E501 - seeds and limits are read better in few lines
from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "build" / "fuzz"
SECONDS = int(os.environ.get("FUZZ_SECONDS", "60"))
INPUT_SECONDS = 20
INPUT_BYTES = 20_000
MEMORY_MB = 1500
_TOLD = re.compile(r"stat::number_of_executed_units: (\d+)|Done (\d+) runs")
_SEEDS = (
    b'{"items": [{"text": "a", "kind": "fact"}]}', b"items:\n  - text: a\n", b'```json\n{"title": "a", "summary": "b"}\n```',
    b"<tool_call>{\"name\": \"memoryTool\", \"arguments\": {}}</tool_call>", b"## a <!-- id: 1 -->\n- b\n", b"{{ line }}{% for x in items %}{% endfor %}",
    b"2026-03-10T12:00:00Z", b"mysql://u:p@h:3306/n?tls=on", b'{"name": "a", "mes": "b", "send_date": "June 19, 2023 4:13pm"}',
    "remember: I moved to Rome yesterday 猫".encode(), b'{"user_name": "a", "character_name": "b"}\n{"name": "a", "mes": "c"}', b"CONTEXT_VERBOSITY: 4\n",
)  # fmt: skip


def _one(name: str, arguments: list[str]) -> None:
    """Fuzz one target in this process; atheris ends it."""
    import atheris

    with atheris.instrument_imports(include=["core"]):  # what is loaded before it is not looked into
        from tests.fuzz.targets import TARGETS
    logging.getLogger("prompt_engine").disabled = True
    target = TARGETS[name]

    def tried(data: bytes) -> None:
        target.survives(data.decode("utf-8", "replace"))

    atheris.Setup(["fuzz", *arguments], tried)
    atheris.Fuzz()


def main(names: list[str]) -> int:
    """Fuzz every target that takes a text, or those named; print inputs tried and what was found."""
    from tests.fuzz.targets import TEXT_TARGETS

    failed = 0
    for name in names or [target.name for target in TEXT_TARGETS]:
        folder = FOLDER / name.replace(" ", "_")
        (folder / "corpus").mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(_SEEDS):
            (folder / "corpus" / f"seed{number}").write_bytes(seed)
        limits = [f"-max_total_time={SECONDS}", f"-timeout={INPUT_SECONDS}", f"-max_len={INPUT_BYTES}"]
        limits += [
            f"-rss_limit_mb={MEMORY_MB}",
            "-print_final_stats=1",
            f"-artifact_prefix={folder}/",
            str(folder / "corpus"),
        ]
        run = [sys.executable, "-m", "tests.fuzz.coverage", "--one", name, *limits]
        done = subprocess.run(run, check=False, capture_output=True, text=True, errors="replace")
        tried = max((int(a or b) for a, b in _TOLD.findall(done.stderr + done.stdout)), default=0)
        print(
            f"{name}: {tried} inputs, {'nothing found' if done.returncode == 0 else 'FOUND, see ' + str(folder)}",
            flush=True,
        )
        if done.returncode:
            failed += 1
            print((done.stdout + done.stderr)[-3000:], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        _one(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 3 and Path(sys.argv[2]).is_file():
        from tests.fuzz.targets import TARGETS

        print(TARGETS[sys.argv[1]].survives(Path(sys.argv[2]).read_bytes().decode("utf-8", "replace")))
    else:
        sys.exit(main(sys.argv[1:]))
