"""The tables and pictures of docs/speed.md, drawn from results/speed.jsonl.

    PYTHONPATH=src python benchmarks/speed_page.py

Of several records of one measurement on one kind of machine, the last one counts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from drawn_pages import filled

from gvdn.reports.figures import curves
from gvdn.reports.page import write_whole
from gvdn.reports.svg import standalone
from gvdn.reports.tables import titled

HERE = Path(__file__).parent
PAGE = "docs/speed.md"
PAPER_S = {"cora": 21, "citeseer": 22, "pubmed": 105, "amazon-photo": 41, "coauthor-cs": 95, "flickr-structure": 211}
"""Seconds of the GVDN paper on a V100; flickr there has features that flickr-structure simulates."""
STAGES = ("graph", "hash", "split", "perturb", "predict", "trust", "save", "load")

Record = dict[str, Any]
Curve = tuple[list[float], list[float], list[float]]


class Speed:
    """The records by what they measure."""

    def __init__(self, path: Path) -> None:
        found: dict[tuple[Any, ...], Record] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            asked = ("what", "dataset", "method", "nodes", "edges", "hidden", "device", "threads")
            found[tuple(record.get(name) for name in asked)] = record
        self.records = list(found.values())

    def of(self, what: str, **asked: Any) -> list[Record]:
        return [
            one
            for one in self.records
            if one["what"] == what and all(one.get(name) == value for name, value in asked.items())
        ]

    @property
    def gpu(self) -> str:
        return next(one["device"] for one in self.of("training"))

    def growth(self, *, gpu: bool) -> list[Record]:
        """The graphs with five links per node at the usual width, by size."""
        found = [one for one in self.of("growth", hidden=200) if (one["device"] == self.gpu) == gpu]
        return sorted((one for one in found if one["edges"] < 7 * one["nodes"]), key=lambda one: int(one["nodes"]))

    def large(self) -> list[Record]:
        """The other generated graphs."""
        usual = [id(one) for gpu in (True, False) for one in self.growth(gpu=gpu)]
        return [one for one in self.of("growth") if id(one) not in usual]


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *lines))


def shown(value: float) -> str:
    """Three digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.2g}"


def timed(records: Sequence[Record], name: str) -> list[Record]:
    """The records that have this time: one of `fit` alone has none of recovery."""
    return [one for one in records if name in one]


def slope(records: Sequence[Record], name: str) -> float:
    """The exponent of the growth of a time with the nodes, by least squares over the logarithms."""
    x, y = ([math.log(one[key]) for one in timed(records, name)] for key in ("nodes", name))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)


def training_table(speed: Speed) -> str:
    lines = [
        [titled(one["dataset"]), *(f"{one[name]:.2f}" for name in ("fit_s", "recover_s", "gvdn_s", "pyg_s", "ratio"))]
        + [str(PAPER_S[one["dataset"]])]
        for one in speed.of("training", epochs=500)
    ]
    return table(["", "fit, s", "recover, s", "in all, s", "PyG GCN, s", "ratio", "paper, V100, s"], lines)


def epoch_table(speed: Speed) -> str:
    lines = [
        [titled(one["dataset"]), shown(one["gvdn_ms"]), shown(one["pyg_ms"]), f"{one['ratio']:.2f}"]
        for one in speed.of("epoch")
    ]
    return table(["", "GVDN, ms", "PyG GCN, ms", "ratio"], lines)


def method_table(speed: Speed) -> str:
    lines = [
        [one["method"], str(one["epochs"]), f"{one['launched_s']:.2f}", f"{one['recorded_s']:.2f}"]
        + [
            f"{one['launched_s'] / one['recorded_s']:.1f}",
            f"{one['fixed_order_s']:.2f}",
            "yes" if one["same_bits"] else "no",
        ]
        for one in speed.of("method")
    ]
    head = ["", "epochs", "kernel by kernel, s", "recorded, s", "times", "recorded, fixed order, s", "same bits again"]
    return table(head, lines)


def growth_table(records: Sequence[Record], *, gpu: bool) -> str:
    lines = []
    for one in records:
        memory = one["gpu_fit_mib"] if gpu else one["fit_mib"] - one["peak_before_mib"]
        floor = one["floor"]["floor_s"]
        lines.append(
            [f"{one['nodes']:,}", f"{one['edges']:,}", str(one["hidden"]), shown(one["epoch_s"]), shown(floor)]
            + [
                f"{one['epoch_s'] / floor:.1f}",
                shown(one["recovery_epoch_s"]) if "recovery_epoch_s" in one else "–",
                f"{memory / 1024:.2f}",
            ]
            + [f"{memory * 1024 / one['nodes']:.1f}"]
        )
    head = [
        "nodes",
        "links",
        "h",
        "epoch of fit, s",
        "floor, s",
        "ratio",
        "epoch of recovery, s",
        "GiB",
        "KiB per node",
    ]
    return table(head, lines)


def stages_table(records: Sequence[Record]) -> str:
    lines = [["an epoch", *(shown(one["epoch_s"]) for one in records)]]
    for stage in STAGES:
        found = [one["stages"].get(stage) for one in records]
        if any(value is not None for value in found):
            lines.append([stage, *("–" if value is None else shown(value) for value in found)])
    return table(["seconds", *(f"{one['nodes']:,}" for one in records)], lines)


def floor_table(records: Sequence[Record]) -> str:
    parts = {"matrix products": "product_s", "memory": "memory_s", "noise": "noise_s", "floor": "floor_s"}
    lines = [[name, *(shown(one["floor"][key]) for one in records)] for name, key in parts.items()]
    lines += [["measured", *(shown(one["epoch_s"]) for one in records)]]
    lines += [["ratio", *(f"{one['epoch_s'] / one['floor']['floor_s']:.2f}" for one in records)]]
    return table(["seconds of an epoch", *(f"{one['nodes']:,}" for one in records)], lines)


def tables(speed: Speed) -> dict[str, str]:
    gpu, cpu = speed.growth(gpu=True), speed.growth(gpu=False)
    slopes = [
        [name, *(f"{slope(records, key):.2f}" for key in ("epoch_s", "recovery_epoch_s"))]
        for name, records in (("GPU", gpu), ("CPU", cpu))
    ]
    return {
        "training": training_table(speed),
        "epoch": epoch_table(speed),
        "methods": method_table(speed),
        "growth on a GPU": growth_table(gpu, gpu=True),
        "growth on a CPU": growth_table(cpu, gpu=False),
        "slopes": table(["exponent of the nodes", "epoch of fit", "epoch of recovery"], slopes),
        "floor on a CPU": floor_table(cpu),
        "floor on a GPU": floor_table(gpu),
        "large": large_table(speed),
        "stages on a GPU": stages_table(gpu),
        "stages on a CPU": stages_table(cpu),
    }


def large_table(speed: Speed) -> str:
    """The graphs of other shapes, with the machine of each."""
    lines = []
    for one in speed.large():
        head, _, line = growth_table([one], gpu="gpu_mib" in one).splitlines()
        lines.append(f"| {one['device']} {line}")
    return "\n".join([f"| machine {head}", "| --- " + "| --- " * head.count(" | ") + "| --- |", *lines])


def pictures(speed: Speed) -> dict[str, str]:
    panels: dict[str, dict[str, Curve]] = {}
    for name, gpu in (("one CPU core", False), (speed.gpu, True)):
        records = speed.growth(gpu=gpu)
        drawn = {"epoch of fit": "epoch_s", "epoch of recovery": "recovery_epoch_s"}
        panels[name] = {label: curve(timed(records, key), key) for label, key in drawn.items()}
        panels[name]["floor"] = curve([one["floor"] | {"nodes": one["nodes"]} for one in records], "floor_s")
    picture = curves(panels, xlabel="nodes", ylabels=["seconds"] * 2, title="Seconds of an epoch by size", log=True)
    return {"speed-growth.svg": standalone(picture)}


def curve(records: Sequence[Record], name: str) -> Curve:
    """A time by the number of nodes, without a spread."""
    return [float(one["nodes"]) for one in records], [one[name] for one in records], [0.0] * len(records)


def main() -> None:
    root = HERE.parent
    speed = Speed(root / "results" / "speed.jsonl")
    write_whole(root / PAGE, filled((root / PAGE).read_text(encoding="utf-8"), tables(speed)))
    for name, picture in pictures(speed).items():
        write_whole(root / "docs" / name, picture)


if __name__ == "__main__":
    main()
