"""A local Ray: parts on three workers, on two of which one is killed, and a grid that loses a worker."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run_inside, write_accounts, write_folders_of_parquet
from conftest import make_graph
from pages import do_what_it_says, write_folders

from gvdn.bench import cluster
from gvdn.graph import write_npz
from gvdn.parts.group import Alone
from gvdn.parts.jobs import Diagnose, Fit, Recover
from gvdn.parts.partition import partition
from gvdn.parts.run import run_job
from gvdn.parts.source import GraphSource
from gvdn.study import Cell, Mode, read_records

pytestmark = [
    pytest.mark.usefixtures("local_ray"),
    pytest.mark.filterwarnings("default"),  # Ray's own warnings are no errors of ours
]
SETTINGS = {"hidden": 8, "epochs": 9, "trust": False}


@pytest.fixture
def parts(tmp_path) -> Path:
    edges = [(node, (node + step) % 90) for node in range(90) for step in (1, 4)]
    graph = make_graph([*edges, *((0, node) for node in range(5, 80, 5))], 100, classes=3, name="wheel")
    return partition(GraphSource(graph), tmp_path / "parts", 5, partitioner="stream").folder


def weights(model: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(model.glob("*.safetensors"))}


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_three_workers_of_ray_train_where_there_are_no_five_give_the_bits_of_one_without_ray(parts, tmp_path):
    wanted = Fit(parts, folder(tmp_path / "alone"), SETTINGS, 0).run(Alone())
    found = run_job(Fit(parts, folder(tmp_path / "three"), SETTINGS, 0), engine="ray", workers=5, fewest=2)
    assert weights(tmp_path / "three") == weights(tmp_path / "alone")
    assert found["test"] == wanted["test"]
    assert found["workers"] == 3  # the Ray of the tests has three CPUs
    assert found["bytes_sent"] > 0
    told = [json.loads((tmp_path / name / "model.json").read_text())["history"] for name in ("alone", "three")]
    assert told[0] == told[1]


def test_a_worker_of_two_that_is_killed_in_an_epoch_costs_no_bit_and_no_accuracy(parts, tmp_path):
    Fit(parts, folder(tmp_path / "alone"), SETTINGS, 0).run(Alone())
    begun, killed = tmp_path / "begun", tmp_path / "killed"

    def after(epoch, losses):
        import torch.distributed as dist

        with begun.open("a") as file:
            file.write(f"{dist.get_rank()} {epoch}\n")
        if epoch == 6 and dist.get_rank() == 1 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)  # the others are in the next epoch, and wait for rows of this one

    job = Fit(
        parts, folder(tmp_path / "two"), SETTINGS, 0, progress=tmp_path / "progress", save_every=4, callback=after
    )
    found = run_job(job, engine="ray", workers=2)
    lines = begun.read_text().splitlines()
    assert [lines.count(f"1 {epoch}") for epoch in (4, 5, 6, 9)] == [1, 2, 2, 1]  # from the checkpoint of epoch 4
    assert weights(tmp_path / "two") == weights(tmp_path / "alone")
    alone = json.loads((tmp_path / "alone" / "result.json").read_text())
    assert found["test"]["accuracy"] == alone["test"]["accuracy"]


def test_the_epochs_of_a_training_on_ray_are_told_here(parts, tmp_path, monkeypatch):
    monkeypatch.setattr("gvdn.parts.run.POLL", 0.02)
    told = []
    job = Fit(parts, folder(tmp_path / "two"), SETTINGS | {"epochs": 40}, 0)
    run_job(job, engine="ray", workers=2, callback=lambda epoch, losses: told.append((epoch, losses)))
    epochs = [epoch for epoch, _ in told]
    assert epochs == sorted(set(epochs))
    assert epochs[-1] == 40
    history = json.loads((tmp_path / "two" / "model.json").read_text())["history"]
    assert told[-1][1] == history[-1]


def test_control_c_ends_a_training_on_ray_and_all_its_processes_and_leaves_the_checkpoint(parts, tmp_path):
    words = [sys.executable, "-m", "gvdn", "train", str(parts), "-o", "model", "--engine", "ray", "--workers", "2"]
    words += ["--set", "hidden=8", "--set", "trust=false", "--json", "--set"]
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a job in the background of a shell ignores it
    job = subprocess.Popen([*words, "epochs=100000"], cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    try:
        for _ in range(600):
            if list(tmp_path.glob(".model*/epoch-*")) or job.poll() is not None:
                break
            time.sleep(0.1)
        processes = psutil.Process(job.pid).children(recursive=True)
        assert len(processes) > 3  # Ray itself, and the workers
        job.send_signal(signal.SIGINT)
        said = job.communicate(timeout=60)[1]
    finally:
        job.kill()
    assert job.returncode == 130, said
    assert "Traceback" not in said
    assert not (tmp_path / "model").exists()
    assert len(list(tmp_path.glob(".model*/epoch-*"))) == 1  # where the same command goes on
    assert psutil.wait_procs(processes, timeout=20)[1] == []


def test_tables_of_many_files_that_ray_reads_give_the_parts_of_one_process(tmp_path):
    write_accounts(tmp_path)
    write_folders_of_parquet(tmp_path, tmp_path / "accounts")
    words = ["partition", "accounts", "--parts", "3", "--partitioner", "stream"]
    assert run_inside(tmp_path, *words, "-o", "here").returncode == 0
    done = run_inside(tmp_path, *words, "-o", "there", "--engine", "ray", "--workers", "2")
    assert done.returncode == 0, done.stderr
    wanted, found = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("here", "there"))
    for name in wanted["files"]:
        assert pq.read_table(tmp_path / "there" / name).equals(pq.read_table(tmp_path / "here" / name))
    assert {**found, "files": None} == {**wanted, "files": None}
    bad = pa.table({"source": ["acc-01"], "target": ["nobody"], "weight": [1.0], "relation": ["transfer"]})
    pq.write_table(bad, tmp_path / "accounts" / "edges" / "piece-999.parquet")
    said = [run_inside(tmp_path, *words, "-o", "x", *more).stderr for more in ([], ["--engine", "ray"])]
    assert "counted from row 121, row 1: the target 'nobody' is no id of the node table" in " ".join(said[0].split())
    assert " ".join(said[1].split()).endswith(" ".join(said[0].split()))
    assert not (tmp_path / "x").exists()


def test_a_diagnosis_and_a_recovery_with_trust_on_ray_are_those_of_one_worker(parts, tmp_path):
    Fit(parts, folder(tmp_path / "model"), SETTINGS | {"trust": True, "recovery_epochs": 4}, 0).run(Alone())
    edges = [(node, (node + step) % 90) for node in range(90) for step in (1, 4)]
    graph = make_graph([*edges, *((17, node) for node in range(20, 60, 2)), (95, 3)], 101, classes=3, name="wheel")
    later = partition(GraphSource(graph), tmp_path / "later", 5, partitioner="stream", like=parts).folder
    wanted = Diagnose(tmp_path / "model", later, folder(tmp_path / "d1")).run(Alone())
    found = run_job(Diagnose(tmp_path / "model", later, folder(tmp_path / "d3")), engine="ray", workers=3)
    assert found["bytes_sent"] > 0
    assert {**found, "workers": 1, "bytes_sent": 0} == {**wanted, "workers": 1, "bytes_sent": 0}
    for number in range(5):
        tables = [pq.read_table(tmp_path / name / "nodes" / f"part-{number}.parquet") for name in ("d1", "d3")]
        first, second = (dict(zip(one["id"].to_pylist(), one["score"].to_pylist(), strict=True)) for one in tables)
        assert second == pytest.approx(first, abs=1e-5)
    wanted = Recover(tmp_path / "model", later, folder(tmp_path / "r1")).run(Alone())
    found = run_job(Recover(tmp_path / "model", later, folder(tmp_path / "r2")), engine="ray", workers=2)
    assert (found["report"], found["test"]) == (wanted["report"], wanted["test"])


SPEC = """
title = "mine"
datasets = ["ring"]
perturbations = ["wrong-links"]
seeds = [0, 1, 2]

[[row]]
method = "gcn"
settings = { epochs = 3, hidden = 4 }
modes = ["evasion", "poisoning"]
"""


@pytest.fixture
def spec(tmp_path) -> Path:
    graph = make_graph([(node, (node + step) % 40) for node in range(40) for step in (1, 2)], 40, name="ring")
    write_npz(graph, folder(tmp_path / "ring") / "graph.npz")
    (tmp_path / "mine.toml").write_text(SPEC)
    return tmp_path / "mine.toml"


def without_time(records: Path) -> dict[str, dict]:
    """Records by key, but for the seconds and the memory of the process."""
    found = {}
    for record in read_records(records / "mine.jsonl"):
        content = record.to_json()
        found[content["key"]] = {k: v for k, v in content.items() if k not in ("seconds", "peak_mib")}
    return found


def test_a_grid_on_ray_has_the_records_of_the_local_one_also_when_a_worker_is_lost(spec, monkeypatch):
    here, killed = spec.parent, spec.parent / "killed"
    # In a process of its own, which can be forked: this one has the threads of Ray.
    words = [sys.executable, "-m", "gvdn", "bench", "run", "mine.toml", "--records", "local"]
    subprocess.run(words, cwd=here, check=True, capture_output=True)

    def losing(task, **how):
        from gvdn.bench.cluster import measured  # as it is in the worker

        if task[0].seed == 2 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return measured(task, **how)

    monkeypatch.setattr(cluster, "measured", losing)
    words = ["bench", "run", "mine.toml", "--engine", "ray", "--records", "ray"]
    first = run_inside(here, *words, "--seeds", "0")
    assert "2 runs in" in first.stdout, first.stderr
    rest = run_inside(here, *words)
    assert "4 runs in" in rest.stdout  # what was there is not measured again
    assert killed.exists()
    assert len(without_time(here / "local")) == 6
    assert without_time(here / "ray") == without_time(here / "local")


def test_a_failure_on_ray_is_recorded_in_one_sentence_and_counted(spec):
    cell = Cell("ring", "gcn", 0, path=str(spec.parent / "ring"), settings={"hidden": 0})
    told = []
    found = cluster.run_on_ray(
        [(cell, (Mode.EVASION,))], spec.parent / "runs" / "mine.jsonl", report=lambda *now: told.append(now)
    )
    assert [record.error for record in found] == ["expected hidden of at least 1, got 0"]
    assert told == [(1, 1)]


def test_what_only_ray_can_do_is_refused_without_it(spec):
    refused = run_inside(spec.parent, "bench", "run", "mine.toml", "--gpus-per-run", "0.5")
    assert "are for --engine ray" in refused.stderr


def test_what_the_guide_says_can_be_done_can_be_done(tmp_path):
    import ray.data

    do_what_it_says(Path(__file__).parents[2] / "docs" / "more-machines.md", write_folders(tmp_path))
    read = ray.data.read_parquet(str(tmp_path / "predictions"), file_extensions=["parquet"])  # as the guide says
    assert read.count() == 60
    assert "part" in ray.data.read_parquet(str(tmp_path / "parts" / "nodes")).schema().names
