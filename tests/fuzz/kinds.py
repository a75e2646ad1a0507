"""The kinds of input: how a case is made of a valid one, and how it is read and judged."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import pickle
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import scipy.sparse as sp
from commands import run_inside
from fuzz import samples
from fuzz.chance import Chance
from fuzz.invariants import (
    Invalid,
    check_graph,
    check_printed,
    check_probabilities,
    check_receipt,
    check_record,
    check_same_content,
    check_spec,
    require,
)
from fuzz.mutate_arrays import (
    Arrays,
    Runs,
    arrays_of,
    mutate_array,
    mutate_npz,
    mutate_safetensors,
    npy_of,
    npy_with_header,
)
from fuzz.mutate_bytes import Files, mutate_bytes, replaced_file
from fuzz.mutate_json import mutate_content, mutate_json, odd_text, toml_of
from fuzz.mutate_tables import mutate_csv, mutate_parquet
from fuzz.samples import GRAPH

import gvdn
from gvdn.data import load_graph, published, read_ids
from gvdn.data.catalogue import DATASETS
from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split
from gvdn.methods.files import load_model
from gvdn.parts.group import Alone
from gvdn.parts.jobs import Answer, Diagnose, Fit
from gvdn.parts.manifest import read_manifest, require_files
from gvdn.parts.model import read_model
from gvdn.parts.prepare import Shares
from gvdn.perturbations import load_receipt, replay
from gvdn.study import Record, load_spec, read_records, records_by_key
from gvdn.study.store import as_line

COMMANDS = 12
"""One case in so many goes through the command line too."""


@dataclass(frozen=True)
class Kind:
    """A kind of input.

    Attributes:
        share: of all cases, relative to the others.
        make: the files of a case, from its generator.
        read: reads them as a user would; a GvdnError is a refusal, Invalid is a finding, and so is all else.
    """

    name: str
    share: int
    make: Callable[[Chance], Files]
    read: Callable[[Chance, Path, Files], None]


def command(folder: Path, *words: object) -> None:
    """A command that refuses in one line, or whose output no terminal obeys."""
    done = run_inside(folder, *words)
    if done.returncode == 0:
        check_printed(done.stdout + done.stderr)
        return
    require(done.returncode == 2, f"gvdn {words[0]} ended with {done.returncode}: {done.stderr[-300:]}")
    check_printed(done.stderr, lines=1)
    raise InvalidInput(done.stderr)


def _one_file(rng: Chance, files: Files, change: Callable[[Chance, str, bytes], bytes]) -> Files:
    """The files with one of them changed, rarely with something else in its place."""
    files = dict(files)
    name = rng.choice(sorted(files))
    content = files[name]
    if rng.one_in(25) or not isinstance(content, bytes):
        replaced_file(rng, files, name)
    else:
        rng.note(name)
        files[name] = change(rng, name, content)
    return files


# ---- graphs in npz


@cache
def _graphs() -> list[Files]:
    return samples.graph_files()


def _make_npz(rng: Chance) -> Files:
    files = rng.choice(_graphs())
    return _one_file(rng, files, lambda rng, _, data: mutate_npz(rng, data, _graph_arrays))


def _graph_arrays(rng: Chance, arrays: Arrays) -> None:
    """Changes that only make sense in a graph: loops, one direction, columns, words that are huge in number."""
    what = rng.choice(
        ["loop", "one way", "wide", "both features", "labels", "shape", "stored zero", "column twice", "named"]
    )
    rng.note(f"graph: {what}")
    if what in ("loop", "one way"):
        node, other = (0, 0) if what == "loop" else (3, 9)
        with contextlib.suppress(TypeError):  # an earlier change made no numbers of them
            arrays["adj_indices"] = np.where(
                np.arange(len(arrays["adj_indices"])) == node, other, arrays["adj_indices"]
            )
    elif what == "wide":
        arrays["x_shape"] = np.array([samples.NODES, rng.choice([10**6, 10**9, 2**31, 2**40, 10**15])])
    elif what == "shape":
        arrays["x_shape"] = np.array(rng.choice([[5], [24, 5, 1], [-1, 5], [24.5, 5.5], [2**40, 5], [24, 0], [0, 0]]))
    elif what == "both features":
        arrays["x"] = np.ones((samples.NODES, 2))
    elif what == "labels":
        arrays["y"] = np.full(samples.NODES, rng.choice([2**64 - 1, 2**40, 10**7]), dtype=np.uint64)
    elif what == "named":
        key = rng.choice(["name", "class_names", "feature_names"])
        words = [rng.word()[:100], *map(str, range(2 if key == "class_names" else 4))]
        arrays[key] = np.array(words[0] if key == "name" else words)
    elif what == "stored zero" and "x_data" in arrays:
        arrays["x_data"] = np.zeros_like(arrays["x_data"])
    elif "x_indices" in arrays and np.size(arrays["x_indices"]):
        arrays["x_indices"] = np.zeros_like(arrays["x_indices"])


def _read_npz(rng: Chance, folder: Path, files: Files) -> None:
    graph = load_graph(rng.choice([folder, folder / "graph.npz"]))
    check_graph(graph)
    content = files.get("graph.npz")
    if isinstance(content, bytes):
        check_same_content(graph, arrays_of(content))
    named = {graph.name, *graph.class_names} - {"ring", "dense", "bare", "a", "b", "c", "0", "1", "2"}
    if named or rng.one_in(COMMANDS):
        command(folder, "data", "info", "graph.npz", *rng.choice([(), ("--json",)]))


# ---- tables


@cache
def _tables() -> list[Files]:
    return samples.table_files()


@cache
def _parquets() -> list[Files]:
    return samples.parquet_files()


def _make_tables(rng: Chance) -> Files:
    def change(rng: Chance, name: str, data: bytes) -> bytes:
        return mutate_json(rng, data) if name.endswith(".json") else mutate_csv(rng, data, zipped=name.endswith(".gz"))

    return _one_file(rng, rng.choice(_tables()), change)


def _make_parquet(rng: Chance) -> Files:
    return _one_file(rng, rng.choice(_parquets()), lambda rng, _, data: mutate_parquet(rng, data))


@cache
def _columns() -> gvdn.graph.Columns:
    return samples.rich_columns()


def _read_tables(rng: Chance, folder: Path, files: Files) -> None:
    graph = load_graph(folder, columns=_columns()) if rng.one_in(4) else load_graph(folder)
    check_graph(graph)
    (ids,) = [folder / name for name in files if name.startswith("ids.")] or [folder / "ids.csv"]
    named = read_ids(ids, like=graph)
    require(named.ndim == 1 and (named.dtype.kind == "U") == (graph.ids.dtype.kind == "U"), "ids of another kind")
    if (folder / "split.csv").exists():
        split = Split.load(folder / "split.csv", graph)
        every = np.concatenate([split.train, split.val, split.test])
        require(len(set(every.tolist())) == len(every) and every.max() < graph.num_nodes, "split: not disjoint")
    if rng.one_in(COMMANDS):
        command(folder, "data", "info", ".")


# ---- receipts


@cache
def _receipts() -> list[Files]:
    return samples.receipt_files()


def _make_receipt(rng: Chance) -> Files:
    def change(rng: Chance, name: str, data: bytes) -> bytes:
        return mutate_json(rng, data) if name.endswith(".json") else mutate_npz(rng, data)

    return _one_file(rng, rng.choice(_receipts()), change)


def _read_receipt(rng: Chance, folder: Path, files: Files) -> None:
    done = replay(GRAPH, load_receipt(folder))
    check_receipt(done.receipt, GRAPH)
    check_graph(done.graph)
    if rng.one_in(COMMANDS):
        gvdn.graph.write_npz(GRAPH, folder / "clean.npz")
        command(folder, "replay", "clean.npz", ".", "-o", rng.choice(["again", "a[/b]", "a b/c"]))


# ---- models


@cache
def _models() -> list[Files]:
    return samples.model_files()


def _make_model(rng: Chance) -> Files:
    whole = rng.choice(_models())

    def change(rng: Chance, name: str, data: bytes) -> bytes:
        if not name.endswith(".json"):
            return mutate_safetensors(rng, data)
        return _other_settings(rng, data) if rng.one_in(3) else mutate_json(rng, data)

    files = _one_file(rng, whole, change)
    return sealed(rng, whole, files) if rng.one_in(2) else files


def _other_settings(rng: Chance, data: bytes) -> bytes:
    """A model.json with a setting, or a number of the network's shape, that is not the weights'."""
    content = json.loads(data)
    owner = rng.choice([content["settings"], content["settings"], content])
    name = rng.choice(sorted(owner))
    owner[name] = rng.choice([rng.number(), rng.number(), rng.json_value()])
    rng.note(f"{name} = {str(owner[name])[:30]}")
    return json.dumps(content).encode()


def sealed(rng: Chance, whole: Files, files: Files) -> Files:
    """The files of an author who means harm: where a JSON holds the sha256 of a changed file, it holds the new one."""
    for name, content in files.items():
        before = whole.get(name)
        if isinstance(content, bytes) and isinstance(before, bytes) and content != before:
            old, new = (hashlib.sha256(data).hexdigest().encode() for data in (before, content))
            for other, text in files.items():
                if other != name and isinstance(text, bytes) and old in text:
                    rng.note(f"{other} holds the sha256 of the changed {name}")
                    files[other] = text.replace(old, new)
                    return files
    return files


def _read_model(rng: Chance, folder: Path, files: Files) -> None:
    model: Any = load_model(folder)
    check_probabilities(model.predict_proba(GRAPH), GRAPH.num_nodes, len(model.class_names_))
    repr(model)
    if model.capabilities.recovers and "recovery_epochs" in model.get_params() and rng.one_in(3):
        new = model.set_params(recovery_epochs=1).recover(GRAPH)
        check_probabilities(new.predict_proba(GRAPH), GRAPH.num_nodes, len(model.class_names_))
    if rng.one_in(COMMANDS):
        gvdn.graph.write_npz(GRAPH, folder / "clean.npz")
        command(folder, "predict", ".", "clean.npz", "-o", "out.csv")
    for whole in _models():
        damaged = files.get("model.json") == whole["model.json"] and files != whole
        require(not damaged, "weights that are not those of model.json were accepted")


# ---- a graph in parts, and a model that was trained on them


@cache
def _parts() -> Files:
    return samples.parts_files()


def _make_parts(rng: Chance) -> Files:
    whole = _parts()

    def change(rng: Chance, name: str, data: bytes) -> bytes:
        if name.endswith(".json"):
            return mutate_json(rng, data)
        return mutate_parquet(rng, data) if name.endswith(".parquet") else mutate_safetensors(rng, data)

    files = _one_file(rng, whole, change)
    return _with_sizes(sealed(rng, whole, files)) if rng.one_in(2) else files


def _with_sizes(files: Files) -> Files:
    """The bytes of the files as the manifest has them, where it can still be read."""
    with contextlib.suppress(ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        content = json.loads(files["manifest.json"])
        for name, said in content["files"].items():
            said[1] = len(files[samples.flat_name(Path(name))])
        files["manifest.json"] = json.dumps(content).encode()
    return files


def _read_parts(rng: Chance, folder: Path, files: Files) -> None:
    parts, model = samples.laid_out(folder)
    manifest = read_manifest(parts)
    require_files(manifest)
    known = read_model(model)
    known.require_parts(manifest)
    out = folder / "out"
    out.mkdir()
    Answer(model, parts, out).run(Alone())
    for number in range(manifest.parts):
        table = pq.read_table(out / f"part-{number}.parquet")
        probs = np.column_stack([table[f"p_{name}"].to_numpy() for name in known.class_names])
        check_probabilities(probs, manifest.shares[number].nodes, len(known.class_names))
    if known.trusting and rng.one_in(2):
        (folder / "found").mkdir()
        told = Diagnose(model, parts, folder / "found").run(Alone())
        assert 0 < told["p_value"] <= 1
        assert told["nodes"] == manifest.nodes
    if rng.one_in(3):
        (folder / "new").mkdir()
        settings = {"hidden": 2, "epochs": 1, "trust": False}
        Fit(parts, folder / "new", settings, 0, Shares(train=0.5)).run(Alone())


# ---- records and specs


@cache
def _records() -> bytes:
    return samples.record_lines()


def _make_records(rng: Chance) -> Files:
    lines = _records().splitlines(keepends=True)
    files: Files = {"mine.jsonl": b"".join(lines)}
    if rng.one_in(25):
        replaced_file(rng, files, "mine.jsonl")
        return files
    if rng.one_in(6):
        return {"mine.jsonl": mutate_bytes(rng, b"".join(lines))}
    at = rng.randrange(len(lines))
    if rng.one_in(8):
        lines[at] = mutate_json(rng, lines[at])
    else:
        content = mutate_content(rng, json.loads(lines[at]))
        lines[at] = json.dumps(_with_key(rng, content)).encode()
    lines[at] += b"\n"
    return {"mine.jsonl": b"".join(lines)}


def _with_key(rng: Chance, content: Any) -> Any:
    """Mostly with the key that belongs to the changed content, as somebody who means harm would write it."""
    if isinstance(content, dict) and not rng.one_in(4):
        try:
            cell = gvdn.study.Cell(**{"method": "", **content["cell"]})
            content["key"] = cell.key(gvdn.study.Mode(content["mode"]))
        except (TypeError, ValueError, KeyError, AttributeError, InvalidInput):
            pass
    return content


def _read_records(rng: Chance, folder: Path, files: Files) -> None:
    records = read_records(folder / "mine.jsonl")
    by_key = records_by_key(folder)
    for record in records:
        check_record(record, Record.from_json(json.loads(as_line(record))))
        require(record.key in by_key, "a record is not found by its key")
    if rng.one_in(COMMANDS):
        (folder / "mine.toml").write_text(toml_of(samples.SPEC))
        command(folder, "bench", rng.choice(["plan", "show"]), "mine.toml", "--records", ".")


def _make_spec(rng: Chance) -> Files:
    if rng.one_in(25):
        files: Files = {"mine.toml": toml_of(samples.SPEC).encode()}
        replaced_file(rng, files, "mine.toml")
        return files
    if rng.one_in(6):
        return {"mine.toml": mutate_bytes(rng, toml_of(samples.SPEC).encode())}
    if rng.one_in(8):
        return {"mine.toml": odd_text(rng, toml_of(samples.SPEC))}
    content = mutate_content(rng, json.loads(json.dumps(samples.SPEC)))
    text = toml_of(content) if isinstance(content, dict) else str(content)
    if rng.one_in(12):
        text += rng.choice(
            ["a = " + "[" * 5000, "a = " + "[" * 200_000, "[" * 2000, "a." * 50_000 + "a = 1", "x = " + "9" * 5000]
        )
        rng.note("deep or long TOML")
    return {"mine.toml": text.encode("utf-8", "surrogatepass")}


def _read_spec(rng: Chance, folder: Path, files: Files) -> None:
    spec = load_spec(folder / "mine.toml")
    check_spec(spec)
    if rng.one_in(COMMANDS):
        command(folder, "bench", "plan", "mine.toml", "--records", "nowhere")


# ---- what stopped runs leave


@cache
def _trainings() -> list[samples.Stopped]:
    return samples.stopped_trainings()


@cache
def _attack() -> samples.Stopped:
    return samples.stopped_attack()


def _make_training(rng: Chance) -> Files:
    which = rng.randrange(len(_trainings()))
    files = _one_file(rng, _trainings()[which].files, lambda rng, _, data: mutate_safetensors(rng, data))
    return files | {"which": str(which).encode()}


def _read_training(rng: Chance, folder: Path, files: Files) -> None:
    which = int((folder / "which").read_text())
    model = _trainings()[which].go_on(folder / "run.progress.safetensors")
    check_probabilities(model.predict_proba(GRAPH), GRAPH.num_nodes, GRAPH.num_classes)
    history = model.outcome_.history
    require(len(history) == 22, f"a history of {len(history)} epochs, expected 22")
    finite = all(
        isinstance(losses, dict)
        and all(type(value) in (int, float) and math.isfinite(value) for value in losses.values())
        for losses in history
    )
    require(finite, "a history that is not of finite numbers")
    require(type(model.outcome_.epoch) is int and 0 <= model.outcome_.epoch < 22, "an epoch that was not trained")


def _make_attack(rng: Chance) -> Files:
    return _one_file(rng, _attack().files, lambda rng, _, data: mutate_json(rng, data))


def _read_attack(rng: Chance, folder: Path, files: Files) -> None:
    done = _attack().go_on(folder / "run.progress.json")
    check_receipt(done.receipt, samples.BINARY)
    check_graph(done.graph)
    require(len(done.receipt.changes.added) + len(done.receipt.changes.removed) <= 12, "more flips than were allowed")


# ---- published files


@cache
def _published() -> dict[str, Files]:
    return {
        "cora": samples.planetoid_files(),
        "coauthor-cs": samples.benchmark_files(),
        "flickr": samples.graphsaint_files(),
        "minesweeper": samples.platonov_files(),
        "ogbn-arxiv": samples.ogb_files(),
        "ogbn-arxiv in its archive": samples.ogb_archives(),
    }


def _make_published(rng: Chance) -> Files:
    name = rng.choice(sorted(_published()))
    files = _one_file(rng, _published()[name], _change_published)
    return files | {"which": name.encode()}


def _change_published(rng: Chance, name: str, data: bytes) -> bytes:
    if name.endswith(".npz"):
        return mutate_npz(rng, data)
    if name.endswith(".json"):
        return mutate_json(rng, data)
    if name.endswith(".csv.gz"):
        return mutate_csv(rng, data, zipped=True)
    if name.endswith(".zip"):
        return mutate_bytes(rng, data)
    if name.endswith(".index"):
        return rng.choice(
            [mutate_bytes(rng, data), b"599\n599\n", b"-1\n598\n", b"1e9\n5\n", b"600\n601\n", b"\x00", b"a\n"]
        )
    if name.endswith(".npy"):
        array = np.load(samples.io.BytesIO(data))
        return rng.choice(
            [mutate_bytes, lambda r, d: npy_of(mutate_array(r, name, array)), lambda r, d: npy_with_header(r, array)]
        )(rng, data)
    return _pickled(rng, data)


PICKLES = [
    b"",
    b".",
    b"\x80\x04N.",
    b"(" * 100_000 + b".",
    b"\x80\x04" + b"]" * 100_000 + b".",
    b"r\xff\xff\xff\x7f.",
    b"\x80\x04]r\xff\xff\xff\x3f.",
    b"\x96\x00\x00\x00\x00\x00\x01\x00\x00.",
    b"cos\nsystem\n(S'true'\ntR.",
    b'cbuiltins\neval\n(S\'setattr(__import__("sys"), "gvdn_fuzz_code_ran", True)\'\ntR.',
    b"cnumpy.testing._private.utils\nrunstring\n(S'import sys; sys.gvdn_fuzz_code_ran = True'\n}tR.",
    b"cnumpy\nload\n(S'/dev/zero'\ntR.",
    b"cscipy.sparse\ncsr_matrix\n((I1000000000\nI1000000000\nttR.",
    b"cnumpy\nzeros\n((I1000000000\nI1000\nttR.",
]


def _pickled(rng: Chance, data: bytes) -> bytes:
    """A pickle of something else, of a damaged matrix, or of what runs code."""
    what = rng.randrange(6)
    if what == 0:
        return mutate_bytes(rng, data)
    if what == 1:
        rng.note("runs code")
        return pickle.dumps(Runs(), protocol=rng.choice([0, 2, 4]))
    if what == 2:
        odd = rng.choice(PICKLES)
        rng.note(f"pickle {odd[:40]!r}")
        return odd
    content = pickle.loads(data)  # noqa: S301  our own sample
    if isinstance(content, dict):
        key = rng.choice([0, 1, 598, 600, -1, 10**12, "a", None, 1.5, (1, 2)])
        value = rng.choice([[0], [599, 600], [-1], ["a"], [1.5], 7, None, [[1]], [10**20], "ab", [0] * 10_000])
        rng.note(f"graph[{key!r}] = {value!r}"[:60])
        return pickle.dumps(defaultdict(list, content | {key: value}) if rng.one_in(2) else {key: value})
    if sp.issparse(content) and rng.one_in(2):
        part = rng.choice(["indptr", "indices", "data"])
        damaged = content.copy()
        setattr(damaged, part, mutate_array(rng, part, getattr(damaged, part)))
        return pickle.dumps(damaged)
    dense = content.toarray() if sp.issparse(content) else content
    changed = mutate_array(rng, "matrix", dense)
    return pickle.dumps(Runs() if changed.dtype.hasobject else changed)


def _read_published(rng: Chance, folder: Path, files: Files) -> None:
    """By name, as a user would, and by the reader beneath, which a checksum may stand before."""
    name = (folder / "which").read_text()
    (folder / "which").unlink()
    if name == "ogbn-arxiv":
        raw = samples.ogb_laid_out(folder)
    if rng.one_in(3) or name not in DATASETS:
        os.environ["GVDN_DATA"] = str(folder)
        os.environ["GVDN_CACHE"] = str(folder / "cache")
        try:
            graph: Graph = load_graph(name.split()[0])
        finally:
            del os.environ["GVDN_DATA"]
    elif name == "ogbn-arxiv":
        graph = published.ogb.read_ogb(raw)
    elif name == "minesweeper":
        graph = published.read_platonov(folder / "minesweeper.npz")
    elif name == "cora":
        graph = published.read_planetoid(folder, DATASETS[name].stem)
    elif name == "flickr":
        graph = published.read_graphsaint(folder)
    else:
        graph = published.read_gnn_benchmark(folder / "ms_academic_cs.npz")
    check_graph(graph)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("npz", 30, _make_npz, _read_npz),
        Kind("tables", 14, _make_tables, _read_tables),
        Kind("parquet", 8, _make_parquet, _read_tables),
        Kind("receipt", 14, _make_receipt, _read_receipt),
        Kind("model", 12, _make_model, _read_model),
        Kind("parts", 8, _make_parts, _read_parts),
        Kind("records", 8, _make_records, _read_records),
        Kind("spec", 8, _make_spec, _read_spec),
        Kind("training", 4, _make_training, _read_training),
        Kind("attack", 4, _make_attack, _read_attack),
        Kind("published", 8, _make_published, _read_published),
    )
}

__all__ = ["KINDS", "Invalid", "Kind"]
