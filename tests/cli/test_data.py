import dataclasses
import json
import os
import subprocess
import sys

import pytest

from gvdn.graph import write_npz


def test_help_and_list_answer_without_torch():
    program = (
        "import sys; from gvdn.cli.app import app\n"
        "for words in (['--help'], ['data', 'list'], ['perturb', '--help']):\n"
        "    try: app(words, standalone_mode=False)\n"
        "    except SystemExit: pass\n"
        "assert not {'torch', 'torch_geometric', 'sklearn'} & set(sys.modules), 'torch was imported'"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "flickr-structure" in done.stdout


def test_data_list_names_every_dataset_and_marks_the_simulated_one(gvdn):
    rows = {row["name"]: row for row in json.loads(gvdn("data", "list", "--json").stdout)}
    assert len(rows) == 17
    assert "SIMULATED" in rows["flickr-structure"]["remark"]
    assert "SIMULATED" in gvdn("data", "list").stdout


@pytest.mark.real
def test_data_info_gives_the_numbers_of_cora(gvdn):
    if not os.environ.get("GVDN_DATA"):
        pytest.skip("the real graphs are not on this machine: set GVDN_DATA to their folder")
    numbers = json.loads(gvdn("data", "info", "cora", "--json").stdout)
    assert (numbers["nodes"], numbers["edges"], numbers["features"], numbers["classes"]) == (2708, 5278, 1433, 7)
    assert round(numbers["edge_homophily"], 2) == 0.81
    assert numbers["edges_published"] == 10556


def test_a_users_own_tables_are_described(gvdn, tmp_path):
    (tmp_path / "nodes.csv").write_text("id,label,x\na,u,1\nb,v,2\nc,,3\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nb,a\nc,c\n")
    assert "repeated edges, dropped" in gvdn("data", "info", ".").stdout
    numbers = json.loads(gvdn("data", "info", "nodes.csv", "--edges", "edges.csv", "--json").stdout)
    assert (numbers["nodes"], numbers["edges"], numbers["labelled"]) == (3, 2, 2)
    assert (numbers["loops_dropped"], numbers["duplicate_edges_dropped"]) == (1, 1)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["data", "info", "nowhere"], "error: expected a graph, got 'nowhere'"),
        (["data", "info", "cora"], "error: cora is not on this machine and could not be downloaded"),
        (["data", "info"], "Missing argument"),
        (["data", "info", "debian", "--colour"], "No such option"),
        (["wash"], "No such command"),
    ],
)
def test_a_mistake_is_a_clear_sentence_without_a_traceback(gvdn, words, sentence, tmp_path):
    done = gvdn(*words, env={"GVDN_DATA": "", "GVDN_CACHE": str(tmp_path / "cache")})
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_the_version_is_printed(gvdn):
    assert gvdn("--version").stdout.startswith("gvdn 0.")


@pytest.mark.parametrize("name", ["a[/b]", "[bold]x", "\x1b[31mred\x1b[0m", "x\x07"])
def test_a_name_is_neither_markup_nor_an_escape_sequence(inside, ring, tmp_path, name):
    write_npz(dataclasses.replace(ring, name=name, class_names=(name, "b", "c")), tmp_path / "graph.npz")
    done = inside("data", "info", "graph.npz")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert name.encode("unicode_escape").decode() in done.stdout
    lost = inside("data", "info", name)
    assert (lost.returncode, lost.stderr.count("\n"), "\x1b" in lost.stderr) == (2, 1, False)
