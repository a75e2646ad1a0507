"""Write requirements-lock.txt: every pin of constraints.txt with the sha256 of its files.

pip says which file it would install, and the hash of that file, without installing it (`pip install --dry-run
--report`). It is asked once for this machine and once for every Python and platform below, so that one lock serves them
all. torch for Linux is the exception: where this machine has a build without CUDA, such as 2.13.0+cpu, the lock has
that build and not the one with CUDA, which needs packages that are not pinned.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
PINS = HERE / "constraints.txt"
LOCK = HERE / "requirements-lock.txt"
WANTED = (f"{HERE}[cluster,dev,docs]", "hatchling", "editables")
"""What make installs, and what builds it."""
PYTHONS = ("3.11.9", "3.12.9")
PLATFORMS = {
    "Linux x86_64": ("linux_x86_64", *(f"manylinux{one}_x86_64" for one in ("1", "2010", "2014", "_2_27", "_2_28"))),
    "macOS arm64": ("macosx_14_0_arm64",),
}


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    pins = dict(re.findall(r"^([\w.-]+)==([\w.+!-]+)$", PINS.read_text(), re.MULTILINE))
    here = asked("--constraint", str(PINS), *WANTED)
    require_complete(pins, versions(here))
    hashes: dict[str, set[str]] = {canonical(name): set() for name in pins}
    collect(hashes, here)
    only_here = {name for name, version in versions(here).items() if "+" in version}
    for python in PYTHONS:
        for platform, tags in PLATFORMS.items():
            found = foreign(python, tags)
            print(f"Python {python}, {platform}: {len(found)} files", flush=True)
            others = only_here if platform.startswith("Linux") else set()
            collect(hashes, [one for one in found if canonical(one["metadata"]["name"]) not in others])
    LOCK.write_text(written(pins, hashes))
    print(f"{len(pins)} pins, {sum(map(len, hashes.values()))} hashes: {LOCK.name}")
    return 0


def asked(*words: str) -> list[Any]:
    """The files that pip would install."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*command, "--report", file.name, *words], check=True)
        return json.loads(Path(file.name).read_text())["install"]


def foreign(python: str, tags: tuple[str, ...]) -> list[Any]:
    """The files for another Python and platform."""
    with tempfile.TemporaryDirectory() as unused:
        where = ["--target", unused, "--python-version", python, "--only-binary=:all:", "--no-deps"]
        platforms = [word for tag in tags for word in ("--platform", tag)]
        return asked(*where, *platforms, "--requirement", str(PINS))


def versions(files: list[Any]) -> dict[str, str]:
    return {canonical(one["metadata"]["name"]): one["metadata"]["version"] for one in files}


def require_complete(pins: dict[str, str], chosen: dict[str, str]) -> None:
    """End if something would be installed that is not pinned."""
    known = set(map(canonical, pins)) | {"gvdn"}
    missing = sorted(f"{name}=={version}" for name, version in chosen.items() if name not in known)
    if missing:
        raise SystemExit(f"expected a pin for every package, {PINS.name} has none for these; add: {' '.join(missing)}")


def collect(hashes: dict[str, set[str]], files: list[Any]) -> None:
    for one in files:
        if (name := canonical(one["metadata"]["name"])) in hashes:
            hashes[name].add(one["download_info"]["archive_info"]["hashes"]["sha256"])


def written(pins: dict[str, str], hashes: dict[str, set[str]]) -> str:
    lines = ["# Made by make lock from constraints.txt: its pins with the sha256 of their files."]
    for name, version in pins.items():
        lines += [
            " \\\n    ".join(
                [f"{name}=={version}", *(f"--hash=sha256:{one}" for one in sorted(hashes[canonical(name)]))]
            )
        ]
    return "\n".join(lines) + "\n"


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
