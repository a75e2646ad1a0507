import json

import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.perturbations import LinearSurrogate, perturb


class Stop(Exception):
    pass


def stop(done: int, of: int) -> None:
    if done == 10:
        raise Stop


def attack(file, **how):
    """Two links and two of the features of twelve victims."""
    rng = np.random.default_rng(0)
    edges = np.array([(node, (node + step) % 30) for node in range(30) for step in (1, 2)])
    features = sp.csr_array((rng.random((30, 8)) < 0.5).astype(np.float32))
    graph = Graph.from_edges(edges, features, labels=np.arange(30) % 3)
    given = {"surrogate": LinearSurrogate(rng.normal(size=(8, 3))), "victims": np.arange(12), "feature_flips": 2}
    return perturb(graph, "nettack", np.arange(30), seed=0, resume=file, **given, **how)


@pytest.fixture
def file(tmp_path):
    with pytest.raises(Stop):
        attack(tmp_path / "attack.json", progress=stop)
    return tmp_path / "attack.json"


def changed(**change):
    def change_one(content):
        content["done"][0] |= change

    return change_one


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(more=1),
        lambda content: content.pop("done"),
        lambda content: content.update(done={}),
        lambda content: content["done"].extend(content["done"]),
        lambda content: content["done"].reverse(),
        lambda content: content["done"].__setitem__(0, 3),
        changed(victim=3),
        changed(victim="0"),
        changed(victim=True),
        changed(ends=[]),
        changed(ends=[5]),
        changed(ends=[10**30]),
        changed(colour=1),
        changed(links=[[0, 0]]),
        changed(links=[[0, 30]]),
        changed(links=[[3, 4]]),
        changed(links=[[0, -1]]),
        changed(links=[[0, 7], [0, 7]]),
        changed(links=[[0, 7], [0, 8], [0, 9]]),
        changed(links=[[0, 7, 8]]),
        changed(links=[[0, 1.5]]),
        changed(features=[[0, 8]]),
        changed(features=[[1, 0]]),
        changed(features=[[0, 1], [0, 1]]),
    ],
)
def test_flips_that_this_attack_does_not_make_are_refused(file, change):
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match=r"attack.json: .*; delete it to start anew") as refused:
        attack(file)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"[" * 200_000, b"\xff", b"[]", b"null", b'{"format": {}}'])
def test_another_file_is_refused(file, content):
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"attack.json: .*; delete it to start anew"):
        attack(file)


def test_the_file_as_it_was_written_is_taken(file):
    assert attack(file).graph.hash == attack(None).graph.hash
