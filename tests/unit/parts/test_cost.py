"""What an epoch sends is what the cost model says, and the tables of its page are drawn from it."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from parts_runs import FOUR, SMALL
from workers import in_threads

from gvdn.graph import Graph
from gvdn.parts import cost, prepare
from gvdn.parts.jobs import Diagnose, Fit
from gvdn.parts.part import read_part


def test_the_traffic_of_an_epoch_is_two_times_the_halo_times_the_classes(awkward, divided, tmp_path):
    """Five workers with a part each; without validation and Algorithm 1 nothing else is swapped."""
    parts = divided(awkward)
    sent = []
    for epochs in (3, 8):
        job = Fit(
            parts.folder,
            tmp_path / f"m{epochs}",
            SMALL | {"epochs": epochs, "sampler": "none"},
            0,
            prepare.Shares(train=0.4, val=0.0),
        )
        job.output.mkdir()
        sent.append(sum(found["bytes_sent"] for found in in_threads(job.run, 5)))
    assert (sent[1] - sent[0]) / 5 == 2 * parts.halo * 3 * 4  # K = 3 numbers of four bytes


def test_the_cost_model_knows_what_validation_and_algorithm_1_send(awkward, divided, tmp_path):
    parts = divided(awkward)
    sent = []
    for epochs in (3, 8):
        job = Fit(parts.folder, tmp_path / f"m{epochs}", SMALL | {"epochs": epochs}, 0)
        job.output.mkdir()
        sent.append(sum(found["bytes_sent"] for found in in_threads(job.run, 5)))
    size = cost.Size(70, parts.edges, parts.features, SMALL["hidden"], 3, 5, 0.0)
    shared = 2 * 4 / 5 * 8 * (3 * parts.features + 3) * SMALL["hidden"]  # the threads of the test do not count it
    least = cost.sent_bytes(size, 5, parts.halo / 5, 0.0) - shared
    most = cost.sent_bytes(size, 5, parts.halo / 5, parts.halo / 5) - shared
    counts = sum(len(read_part(parts, number).borders) for number in range(5)) * 8  # how many rows are asked for
    assert least * 5 <= (sent[1] - sent[0]) / 5 - counts <= most * 5


@pytest.mark.parametrize("wrong", [0, 60])
def test_the_cost_model_knows_what_a_diagnosis_sends(wrong, clean, model, divided, tmp_path):
    rng = np.random.default_rng(0)
    later = Graph.from_edges(
        np.concatenate([clean.edges, rng.integers(0, 150, (wrong, 2))]), clean.features, ids=clean.ids,
        class_names=clean.class_names, feature_names=clean.feature_names,
    )  # fmt: skip
    parts = divided(later, "later", part=FOUR, like=model[0].folder)
    job = Diagnose(model[1], parts.folder, tmp_path / "found")
    job.output.mkdir()
    sent = sum(found["bytes_sent"] for found in in_threads(job.run, 4))
    new = {tuple(pair) for pair in later.edges.tolist()} - {tuple(pair) for pair in clean.edges.tolist()}
    cut = [pair for pair in new if FOUR[pair[0]] != FOUR[pair[1]]]
    ends = {(FOUR[one], other) for pair in cut for one, other in (pair, pair[::-1])}
    size = cost.Size(150, later.num_edges, clean.num_features, 8, 3, 4, 0.0)
    assert sent == pytest.approx(cost.diagnosis_bytes(size, float(parts.halo), float(len(ends))), rel=0.05)


def test_the_model_of_the_halo_is_right_for_random_ends():
    rng = np.random.default_rng(0)
    nodes, links, workers = 4000, 20_000, 4
    ends = rng.integers(nodes, size=(links, 2))
    owner = np.arange(nodes) % workers
    other = owner[ends]
    crossing = other[:, 0] != other[:, 1]
    both = np.concatenate([ends[crossing], ends[crossing][:, ::-1]])
    sent = len(np.unique(both[:, 0] * workers + owner[both[:, 1]]))
    size = cost.Size(nodes, links, 1, 1, 1, workers, float(crossing.mean()))
    assert sent / workers == pytest.approx(cost.halo(size, workers), rel=0.02)


HERE = Path(__file__).parents[3]
RECORDS = [json.loads(line) for line in (HERE / "results" / "parts.jsonl").read_text().splitlines()]


def rates() -> cost.Rates:
    found = next(one for one in RECORDS if one["what"] == "rates")
    return cost.Rates(*(found[field.name] for field in dataclasses.fields(cost.Rates)))


def measured() -> list[str]:
    """The lines of the table of 1 to 4 workers."""
    lines = []
    for one in RECORDS:
        if one["what"] == "epoch":
            workers = one["workers"]
            size = cost.Size(
                *(one[name] for name in ("nodes", "links", "features", "hidden", "classes", "parts")),
                cut=one["cut_between_workers"],
            )
            halo, sent = (sum(one[name]) / workers for name in ("halo_between_workers", "bytes_sent"))
            cells = [
                f"{workers}",
                f"{size.cut:.1%}",
                f"{halo:,.0f}",
                f"{cost.halo(size, workers):,.0f}",
                f"{sent:,.0f}",
                f"{sum(one['bytes_model']) / workers:,.0f}",
                f"{sum(one['cpu_s']) / workers:.3f}",
                f"{cost.computing_seconds(size, workers, rates()):.3f}",
                f"{one['wall_s']:.2f}",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def sizes() -> list[str]:
    """The lines of the table from tables to answers."""
    lines = []
    for nodes in (10**6, 2 * 10**6, 10**7):
        steps = {one["what"]: one for one in RECORDS if one.get("nodes") == nodes and one["what"].startswith("size")}
        divided, trained, asked = (steps[f"size: {name}"] for name in ("partition", "train", "predict"))
        size = cost.Size(nodes, 5 * nodes, 32, trained["hidden"], 8, trained["parts"], cut=divided["cut_share"] / 2)
        cells = [
            f"{nodes:,}",
            f"{5 * nodes:,}",
            f"{divided['seconds']:.0f} s",
            f"{divided['peak_mib'] / 2**10:.2f} GiB",
            f"{trained['seconds']:.0f} s",
            f"{asked['seconds']:.0f} s",
            f"{trained['workers_mib'] / 2**10:.2f} GiB",
            f"{cost.memory_bytes(size, 2) / 2**30 + 0.45:.2f} GiB",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def planned() -> list[str]:
    """The lines of the table of 10^9 links."""
    lines = []
    for workers in (16, 64):
        for cut in (0.1, 0.3):
            size = cost.Size(10**8, 10**9, 128, 64, 16, 4 * workers, cut)
            seconds = cost.computing_seconds(size, workers, rates(), threads=32)
            cells = [
                f"{workers}",
                f"{cut:.0%}",
                f"{cost.halo(size, workers) / 1e6:.1f}",
                f"{cost.sent_bytes(size, workers) / 1e9:.2f}",
                f"{cost.memory_bytes(size, workers) / 1e9:.0f}",
                f"{seconds:.2f}",
                f"{cost.sending_seconds(size, workers, 25e9):.2f}",
                f"{cost.sending_seconds(size, workers, 400e9):.3f}",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def test_the_tables_of_the_page_are_those_of_the_records_and_of_the_model():
    page = (HERE / "docs" / "cost-model.md").read_text()
    assert len(measured()) == len(planned()) == 4
    assert [line for line in measured() + sizes() + planned() if line not in page] == []


def test_the_model_is_within_a_few_percent_of_what_was_measured():
    for one in RECORDS:
        if one["what"] == "epoch" and one["workers"] > 1:
            assert sum(one["bytes_sent"]) == pytest.approx(sum(one["bytes_model"]), rel=0.01)
            assert sum(one["halo_between_workers"]) == pytest.approx(one["halo_model"] * one["workers"], rel=0.02)
