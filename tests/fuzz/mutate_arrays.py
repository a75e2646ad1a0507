"""Changes of arrays and of the archives that hold them (npy, npz, safetensors)."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz.chance import Chance
from fuzz.mutate_bytes import mutate_bytes, zeros_deflated
from fuzz.mutate_json import mutate_json

Arrays = dict[str, np.ndarray]


class Runs:
    """What runs code when it is unpickled: it leaves a mark in `sys`, which the harness looks for."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import sys; sys.gvdn_fuzz_code_ran = True",)


# ---- arrays


def mutate_array(rng: Chance, name: str, array: np.ndarray) -> np.ndarray:
    """The array with another value, type or shape."""
    if name.endswith("indptr") and array.dtype.kind in "iu" and array.ndim == 1 and array.size and rng.one_in(2):
        return _row_starts(rng, name, array)
    if name.endswith("indices") and array.dtype.kind in "iu" and rng.one_in(3):
        return _columns(rng, name, array)
    if array.dtype.kind == "U" and rng.one_in(2):
        return _names(rng, name, array)
    changed = rng.choice([_element, _element, _type, _shape, _length, _all])(rng, name, array)
    return np.asarray(changed)


def _row_starts(rng: Chance, name: str, array: np.ndarray) -> np.ndarray:
    new = array.astype(np.int64)
    what = rng.choice(
        ["last is 0", "all 0", "huge inside", "falls", "negative", "last + 1", "last - 1", "reversed", "from 1"]
    )
    rng.note(f"{name}: {what}")
    inside = rng.randrange(len(new))
    if what == "last is 0":
        new[-1] = 0
    elif what == "all 0":
        new[:] = 0
    elif what == "huge inside":
        new[inside] = rng.choice([2**31 - 1, 2**31, 2**32, 2**62])
    elif what == "falls":
        new[inside] = max(int(new[inside]) - rng.randint(1, 5), 0)
    elif what == "negative":
        new[inside] = rng.choice([-1, -(2**31), -(2**62)])
    elif what == "last + 1":
        new[-1] += 1
    elif what == "last - 1":
        new[-1] -= 1
    elif what == "reversed":
        new = new[::-1].copy()
    else:
        new += 1
    return new.astype(array.dtype) if rng.one_in(2) and np.array_equal(new.astype(array.dtype), new) else new


def _columns(rng: Chance, name: str, array: np.ndarray) -> np.ndarray:
    what = rng.choice([2**32, 2**31, -(2**32), 2**33, 1, -1, 0.5, 1e-7, 2**63])
    rng.note(f"{name} + {what}")
    if what == 2**63:
        return array.astype(np.uint64) + np.uint64(what)
    return array.astype(np.float64 if isinstance(what, float) else np.int64) + what


def _names(rng: Chance, name: str, array: np.ndarray) -> np.ndarray:
    words = array.ravel().tolist()
    if not words:
        words = [""]
    if rng.one_in(3):
        rng.note(f"{name}: a word twice")
        words[rng.randrange(len(words))] = words[0]
    else:
        word = rng.choice([*NAMES, rng.word()])
        rng.note(f"{name}: {word[:20]!r}")
        words[rng.randrange(len(words))] = word
    return np.array(words, dtype=np.str_).reshape(array.shape if array.size else (-1,))


NAMES = ["\ud800", "a\x00", "\U0001f600"]
"""Words that only an array of text can hold."""


def _element(rng: Chance, name: str, array: np.ndarray) -> np.ndarray:
    values = array.ravel().tolist()
    value = rng.number()
    at = rng.choice([0, len(values) - 1, rng.randrange(max(len(values), 1))])
    rng.note(f"{name}[{at}] = {value!r}")
    if not values:
        return np.array([value])
    values[at] = value
    if array.dtype.kind == "f" and rng.one_in(2):
        new = array.copy().ravel()
        with np.errstate(all="ignore"):
            new[at] = min(max(float(value), -1e300), 1e300) if value == value else value
        return new.reshape(array.shape)
    try:
        return np.array(values).reshape(array.shape)
    except (OverflowError, ValueError):
        return np.array(values, dtype=object).reshape(array.shape)


TYPES = [
    "f8",
    "f4",
    "f2",
    "u8",
    "u1",
    "i1",
    "i2",
    ">i4",
    ">i8",
    ">f4",
    "?",
    "c16",
    "U8",
    "S8",
    "M8[s]",
    "m8[s]",
    "O",
    "V4",
    "g",
    "i8,f8",
]


def _type(rng: Chance, name: str, array: np.ndarray) -> np.ndarray:
    wanted = rng.choice(TYPES)
    rng.note(f"{name} as {wanted}")
    try:
        with np.errstate(all="ignore"):
            return array.astype(wanted)
    except (TypeError, ValueError, OverflowError):
        return np.zeros(array.shape, dtype=wanted)


def _shape(rng: Chance, name: str, array: np.ndarray) -> np.ndarray:
    what = rng.choice(["flat", "row", "column", "scalar", "transposed", "cube", "none", "cut"])
    rng.note(f"{name}: {what}")
    if what == "flat":
        return array.ravel()
    if what == "row":
        return array.reshape(1, -1)
    if what == "column":
        return array.reshape(-1, 1)
    if what == "scalar":
        return array.ravel()[:1].reshape(()) if array.size else np.array(0)
    if what == "transposed":
        return np.asfortranarray(array.T)
    if what == "cube":
        return array[None, None]
    if what == "none":
        return np.zeros(0, dtype=array.dtype)
    return array[..., :0] if array.ndim else np.zeros(0, dtype=array.dtype)


def _length(rng: Chance, name: str, array: np.ndarray) -> np.ndarray:
    if not array.ndim:
        rng.note(f"{name}: a list of it")
        return np.repeat(array.reshape(1), rng.choice([0, 2, 9]))
    cut = rng.choice([-1, 1, -3, 3, 200])
    rng.note(f"{name}: {abs(cut)} rows {'fewer' if cut < 0 else 'more'}")
    return array[:cut] if cut < 0 else np.concatenate([array, *[array[-1:]] * cut])


def _all(rng: Chance, name: str, array: np.ndarray) -> np.ndarray:
    value = rng.number()
    rng.note(f"{name}: all {value!r}")
    return np.full(array.shape, value) if -(2**63) <= value < 2**64 or value != value else np.full(array.shape, 1e39)


# ---- npy and npz


def npy_of(array: np.ndarray) -> bytes:
    """The bytes of an npy file; an object array is pickled, with something that runs code inside."""
    file = io.BytesIO()
    if array.dtype.hasobject:
        np.lib.format.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": array.shape})
        pickle.dump(Runs(), file)
    else:
        np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def arrays_of(npz: bytes) -> Arrays:
    with np.load(io.BytesIO(npz)) as archive:
        return {name: archive[name] for name in archive.files}


HEADERS = [
    "{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000000,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 1000000000), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (400000000, 2), }",
    "{'descr': '<f4', 'fortran_order': True, 'shape': (20, 100000000), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1000000000000), }",
    "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,), }",
    "{'descr': '<i4', 'fortran_order': False, 'shape': (True,), }",
    "{'descr': '<U1000000000', 'fortran_order': False, 'shape': (4,), }",
    "{'descr': '<i4', 'fortran_order': False, 'shape': 4, }",
    "{'descr': '<i4', 'fortran_order': False, }",
    "{'descr': 'O', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': [('a', '<i4'), ('a', '<i4')], 'fortran_order': False, 'shape': (1,), }",
    "{'descr': '<i4', 'fortran_order': False, 'shape': (" + "1, " * 200 + "), }",
    "(" * 300,
    "",
    "__import__('sys')",
]


def npy_with_header(rng: Chance, array: np.ndarray) -> bytes:
    header = rng.choice(HEADERS)
    rng.note(f"npy header {header[:70]}")
    data = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(data)) + data + array.tobytes()


def mutate_npz(rng: Chance, npz: bytes, extra: Callable[[Chance, Arrays], None] | None = None) -> bytes:
    """An npz with changed arrays, members or bytes."""
    if rng.one_in(8):
        return mutate_bytes(rng, npz)
    arrays = arrays_of(npz)
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        name = rng.choice(sorted(arrays))
        arrays[name] = mutate_array(rng, name, arrays[name])
    if extra is not None and rng.one_in(6):
        extra(rng, arrays)
    members = [(f"{name}.npy", npy_of(array)) for name, array in arrays.items()]
    if rng.one_in(4):
        members = _members(rng, members, arrays)
    packed = zip_of(members, deflated=rng.one_in(2))
    if rng.one_in(6):
        packed = _archive(rng, packed, members)
    return mutate_bytes(rng, packed) if rng.one_in(20) else packed


def zip_of(members: list[tuple[str, bytes]], *, deflated: bool = True) -> bytes:
    """As zipfile writes it, also with a name twice, and ten times as fast."""
    parts, central, offset = [], [], 0
    for name, data in members:
        encoded = name.encode("utf-8", "surrogatepass")
        body, method = data, 0
        if deflated:
            packer = zlib.compressobj(1, zlib.DEFLATED, -15)
            body, method = packer.compress(data) + packer.flush(), 8
        about = struct.pack(
            "<HHHHHIIIHH", 20, 0x800, method, 0, 33, zlib.crc32(data), len(body), len(data), len(encoded), 0
        )
        parts += [b"PK\x03\x04" + about + encoded, body]
        central.append(
            b"PK\x01\x02" + struct.pack("<H", 20) + about + struct.pack("<HHHII", 0, 0, 0, 0, offset) + encoded
        )
        offset += 30 + len(encoded) + len(body)
    size = sum(map(len, central))
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, len(members), len(members), size, offset, 0)
    return b"".join([*parts, *central, end])


def _members(rng: Chance, members: list[tuple[str, bytes]], arrays: Arrays) -> list[tuple[str, bytes]]:
    what = rng.randrange(8)
    at = rng.randrange(len(members))
    name = members[at][0]
    if what == 0:
        rng.note(f"{name} dropped")
        return members[:at] + members[at + 1 :]
    if what == 1:
        other = rng.choice(members)
        rng.note(f"{name} twice")
        return [*members, (name, other[1])]
    if what <= 3:
        return [*members[:at], (name, npy_with_header(rng, arrays[name.removesuffix(".npy")])), *members[at + 1 :]]
    if what == 4:
        rng.note(f"{name}: a pickle")
        return [*members[:at], (name, pickle.dumps(Runs())), *members[at + 1 :]]
    if what == 5:
        new = rng.choice(
            ["unknown.npy", "notes.txt", "../x.npy", "", "x", "x.npy", "folder/", rng.word()[:1000] + ".npy"]
        )
        rng.note(f"a member {new[:30]!r}")
        return [*members, (new, rng.choice([members[0][1], b"text", b""]))]
    if what == 6:
        rng.note(f"{name}: bytes of the member")
        return [*members[:at], (name, mutate_bytes(rng, members[at][1])), *members[at + 1 :]]
    new = rng.choice(members)[0]
    rng.note(f"{name} called {new}")
    return [*members[:at], (new, members[at][1]), *members[at + 1 :]]


def _archive(rng: Chance, packed: bytes, members: list[tuple[str, bytes]]) -> bytes:
    what = rng.choice(["encrypted", "bomb", "method", "sizes", "count", "bare", "nested", "comment", "pickle"])
    rng.note(f"archive: {what}")
    if what == "bomb":
        return _bomb(rng, members)
    if what == "bare":
        return rng.choice(members)[1]
    if what == "pickle":
        return pickle.dumps(Runs())
    if what == "nested":
        return zip_of([("graph.npz", packed)])
    if what == "comment":
        return packed[:-2] + struct.pack("<H", 60000) + b"x" * 60000
    changed = bytearray(packed)
    if what == "count":
        struct.pack_into("<HH", changed, len(changed) - 14, 65535, 65535)
        return bytes(changed)
    for mark, flag in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = packed.find(mark)
        if what == "encrypted":
            changed[at + flag] |= 1
        elif what == "method":
            struct.pack_into("<H", changed, at + flag + 2, rng.choice([1, 6, 9, 12, 14, 99]))
        else:
            struct.pack_into("<I", changed, at + flag + 16, rng.choice([0, 1, 2**31, 2**32 - 1]))
    return bytes(changed)


BOMBS = {size << 30: zeros_deflated(size << 30) for size in (3, 7)}
"""More than a case may take, so that a reader that unpacks them fails at once."""


def _bomb(rng: Chance, members: list[tuple[str, bytes]]) -> bytes:
    """An archive with a small member that unpacks to GiB of zeros, under a key that is read or one that is not."""
    size = rng.choice(sorted(BOMBS))
    name = rng.choice([rng.choice(members)[0], "x.npy", "unknown.npy"])
    shape = rng.choice([f"({size // 4 - 32},)", f"(24, {(size // 4 - 32) // 24})"])
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    body = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH) + BOMBS[size]
    rng.note(f"{name} unpacks to {size >> 30} GiB")
    whole = min(size + len(start), 2**32 - 1)
    rest = [member for member in members if member[0] != name]
    packed = zip_of([*rest, (name, b"")], deflated=False)
    # The empty member is last: give it the body and the sizes.
    at = packed.rfind(b"PK\x03\x04")
    encoded = name.encode("utf-8", "surrogatepass")
    central = packed.find(b"PK\x01\x02", at)
    changed = bytearray(packed[:at] + packed[at : at + 30] + encoded + body + packed[central:])
    moved = central + len(body)
    last = changed.rfind(b"PK\x01\x02")
    for place in (at + 8, last + 10):
        struct.pack_into("<H", changed, place, 8)
        struct.pack_into("<II", changed, place + 10, len(body), whole)
    struct.pack_into("<I", changed, len(changed) - 6, moved)
    return bytes(changed)


# ---- safetensors


def mutate_safetensors(rng: Chance, data: bytes) -> bytes:
    """A safetensors file with changed arrays, header or bytes."""
    size = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    what = rng.randrange(10)
    if what <= 1:
        return mutate_bytes(rng, data)
    if what == 2:
        rng.note("safetensors header length")
        return struct.pack("<Q", rng.choice([0, 1, size - 1, size + 1, 2**31, 2**62, 2**64 - 1])) + data[8:]
    if what == 3:
        text = mutate_json(rng, json.dumps(header).encode())
        return struct.pack("<Q", len(text)) + text + body
    if what == 4 and "__metadata__" in header:
        inside = rng.choice(sorted(header["__metadata__"]))
        changed = mutate_json(rng, header["__metadata__"][inside].encode())
        header["__metadata__"][inside] = changed.decode("utf-8", "replace")
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + body
    arrays = tensors_of(header, body)
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice(sorted(arrays))
        if rng.one_in(8):
            rng.note(f"{name} dropped")
            del arrays[name]
            if not arrays:
                break
        elif rng.one_in(10):
            new = rng.choice(["unknown", name + ".text", "network.x", "adam.x.y", "now.", rng.word()[:200]])
            rng.note(f"{name} also as {new[:30]!r}")
            arrays[new] = arrays[name]
        elif rng.one_in(4) and arrays[name].dtype.kind == "f":
            bit = 1 << rng.randrange(32)
            rng.note(f"a bit of {name} flipped")
            flat = np.ascontiguousarray(arrays[name]).view(np.uint8).copy().ravel()
            if flat.size:
                flat[rng.randrange(flat.size)] ^= bit & 255 or 128
            arrays[name] = flat.view(arrays[name].dtype).reshape(arrays[name].shape)
        else:
            arrays[name] = mutate_array(rng, name, arrays[name])
    return safetensors_of(arrays, header.get("__metadata__"))


NUMPY = {
    "F64": "f8",
    "F32": "f4",
    "F16": "f2",
    "I64": "i8",
    "I32": "i4",
    "I16": "i2",
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
    "U64": "u8",
}
NAMED = {np.dtype(word): name for name, word in NUMPY.items()}


def tensors_of(header: dict[str, Any], body: bytes) -> Arrays:
    found = {}
    for name, about in header.items():
        if name != "__metadata__":
            start, end = about["data_offsets"]
            found[name] = np.frombuffer(body[start:end], NUMPY[about["dtype"]]).reshape(about["shape"]).copy()
    return found


def safetensors_of(arrays: Arrays, metadata: dict[str, str] | None) -> bytes:
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    parts, offset = [], 0
    for name, array in arrays.items():
        plain = array if array.dtype in NAMED else np.nan_to_num(np.zeros(array.shape, "f4"))
        data = np.ascontiguousarray(plain).tobytes()
        header[name] = {
            "dtype": NAMED[plain.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(data)],
        }
        parts.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)
