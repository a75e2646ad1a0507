"""Changes of a file as bytes, and things in the place of a file that are none."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from fuzz.chance import Chance


@dataclass(frozen=True)
class Link:
    """A symbolic link in the place of a file."""

    target: str


@dataclass(frozen=True)
class Folder:
    """A folder in the place of a file."""


Content = bytes | Link | Folder
Files = dict[str, Content]


def mutate_bytes(rng: Chance, data: bytes) -> bytes:
    """One to four small changes."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        data = _once(rng, data)
    return data


def _once(rng: Chance, data: bytes) -> bytes:
    if not data:
        rng.note("bytes into an empty file")
        return rng.randbytes(rng.choice([1, 8, 200]))
    at = rng.choice(
        [rng.randrange(len(data)), rng.randrange(min(len(data), 64)), max(0, len(data) - rng.randint(1, 64))]
    )
    at = min(at, len(data) - 1)
    what = rng.randrange(10)
    if what <= 2:
        rng.note(f"a bit flipped at {at}")
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if what == 3:
        rng.note(f"cut off at {at}")
        return data[:at]
    if what == 4:
        size = rng.choice([1, 2, 7, 100])
        rng.note(f"{size} bytes inserted at {at}")
        return data[:at] + rng.randbytes(size) + data[at:]
    if what == 5:
        size = rng.choice([1, 4, 50])
        rng.note(f"{size} bytes removed at {at}")
        return data[:at] + data[at + size :]
    if what == 6:
        size = rng.choice([4, 16, 200])
        rng.note(f"{size} bytes repeated at {at}")
        return data[: at + size] + data[at:]
    if what == 7:
        value = rng.choice([0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, 0x7FF0000000000000])
        number = struct.pack("<Q", value)[: rng.choice([2, 4, 8])]
        rng.note(f"{number.hex()} written at {at}")
        return data[:at] + number + data[at + len(number) :]
    if what == 8:
        odd = rng.choice(
            [b"\xff\xfe", b"\x00" * 16, b"\xc3\x28", b"\xed\xa0\x80", b"\x1b[2J", b"\x80abc", b"\xef\xbb\xbf"]
        )
        rng.note(f"{odd!r} inserted at {at}")
        return data[:at] + odd + data[at:]
    rng.note("bytes appended")
    return data + rng.choice([b"\x00", b"\n", rng.randbytes(30), data[:100]])


def replaced_file(rng: Chance, files: Files, name: str) -> None:
    """Put something that is no such file in the place of one, or remove it."""
    what = rng.choice(
        ["empty", "zeros", "random", "missing", "folder", "loop", "nowhere", "endless", "elsewhere", "swapped"]
    )
    rng.note(f"{name}: {what}")
    if what == "missing":
        del files[name]
    elif what == "swapped":
        files[name] = files[rng.choice(sorted(files))]
    else:
        files[name] = {
            "empty": b"",
            "zeros": b"\x00" * rng.choice([1, 100, 5000]),
            "random": rng.randbytes(rng.choice([1, 10, 1000])),
            "folder": Folder(),
            "loop": Link(name),
            "nowhere": Link("not-there"),
            "endless": Link("/dev/zero") if rng.one_in(8) else Link("/dev/null"),
            "elsewhere": Link(".."),
        }[what]


def zeros_deflated(size: int) -> bytes:
    """The deflate stream of so many zeros, rounded up to whole MiB, made without deflating them all."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(b"\x00" * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    return first * -(-size // MIB) + packer.flush(zlib.Z_FINISH)


MIB = 1 << 20
