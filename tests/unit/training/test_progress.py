import json
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from small_models import small_method

from gvdn.errors import InvalidInput
from gvdn.graph import random_split

EPOCHS = 24


class Stop(Exception):
    pass


def stop(epoch: int, losses: dict[str, float]) -> None:
    if epoch == 22:
        raise Stop


def fit(name, graph, **how):
    settings = {"epochs": EPOCHS // 2 if name == "prognn" else EPOCHS}
    model = replace(small_method(name), **settings)
    return model.fit(graph, random_split(graph, seed=0, train=0.2, stratified=True), seed=0, **how)


def stopped(name, graph, folder):
    with pytest.raises(Stop):
        fit(name, graph, resume=folder / "run.safetensors", callback=stop)
    return folder / "run.safetensors"


def change(path, about=None, tensors=None) -> None:
    """Rewrite the file with some of its entries changed; None removes one."""
    with safe_open(path, framework="pt") as archive:
        held = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
        said = json.loads(archive.metadata()["about"])
    held |= {name: new(held[name]) if callable(new) else new for name, new in (tensors or {}).items()}
    said |= {name: new(said[name]) if callable(new) else new for name, new in (about or {}).items()}
    kept = {name: tensor.contiguous() for name, tensor in held.items() if tensor is not None}
    save_file(kept, path, {"about": json.dumps({name: one for name, one in said.items() if one is not ...})})


@pytest.mark.parametrize("name", ["gcn", "gvdn", "prognn", "gpr-gae", "adversarial-training", "grand, normalised"])
def test_a_file_that_was_not_changed_is_taken(name, ring, tmp_path):
    path = stopped(name, ring, tmp_path)
    change(path)
    again, whole = fit(name, ring, resume=path), fit(name, ring)
    assert again.outcome_ == whole.outcome_
    assert (again.predict_proba(ring) == whole.predict_proba(ring)).all()


def refused(name, graph, path) -> None:
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match=r"not the progress of this training \(.+\); delete it to start") as caught:
        fit(name, graph, resume=path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "about",
    [
        {"epoch": 19},
        {"epoch": EPOCHS + 1},
        {"epoch": -1},
        {"epoch": 20.0},
        {"epoch": True},
        {"epoch": ...},
        {"history": lambda history: history[1:]},
        {"history": lambda history: [*history[1:], {"ce": "low"}]},
        {"history": lambda history: [*history[1:], {}]},
        {"history": lambda history: [*history[1:], 3]},
        {"history": None},
        {"score": "high"},
        {"score": None},
        {"best_epoch": 20},
        {"best_epoch": -2},
        {"best_epoch": -1},
        {"settings": 3},
    ],
    ids=str,
)
def test_a_description_that_does_not_fit_is_refused(about, ring, tmp_path):
    path = stopped("gcn", ring, tmp_path)
    change(path, about)
    refused("gcn", ring, path)


@pytest.mark.parametrize(
    "tensors",
    [
        {"now.first.W": None},
        {"best.out.W": None},
        {"adam.0.exp_avg": None},
        {"adam.0.step": None},
        {"adam.7.step": torch.zeros(())},
        {"adam.x.y": torch.zeros(())},
        {"unknown": torch.zeros(3)},
        {"now.first.W": lambda tensor: tensor.double()},
        {"now.first.W": lambda tensor: tensor[1:]},
        {"now.first.W": lambda tensor: tensor * torch.nan},
        {"best.first.W": lambda tensor: tensor * torch.inf},
        {"adam.0.step": lambda tensor: tensor.expand(9)},
        {"adam.0.step": lambda tensor: -tensor},
        {"adam.0.exp_avg_sq": lambda tensor: -tensor - 1},
        {"adam.0.exp_avg": lambda tensor: tensor.T},
        {"adam.1.exp_avg": lambda tensor: tensor.to(torch.int8)},
    ],
    ids=lambda tensors: next(iter(tensors)),
)
def test_tensors_that_are_not_those_of_the_training_are_refused(tensors, ring, tmp_path):
    path = stopped("gcn", ring, tmp_path)
    change(path, tensors=tensors)
    refused("gcn", ring, path)


@pytest.mark.parametrize(
    ("name", "tensors"),
    [
        ("gvdn", {"carried.wrong": lambda tensor: tensor.long()}),
        ("gvdn", {"carried.wrong": lambda tensor: tensor[:-1]}),
        ("gvdn", {"carried.chosen": lambda tensor: tensor[:, None]}),
        ("gvdn", {"carried.chosen": lambda tensor: tensor.float()}),
        ("gvdn", {"carried.chosen": None}),
        ("gvdn", {"carried.more": torch.zeros(1)}),
        ("prognn", {"carried.velocity": lambda tensor: tensor[1:]}),
        ("prognn", {"carried.basis": lambda tensor: tensor[1:]}),
        ("prognn", {"carried.basis": None}),
        ("prognn", {"carried.velocity": lambda tensor: tensor * torch.nan}),
        ("gpr-gae", {"carried.weights.W": None}),
        ("gpr-gae", {"carried.weights.W": lambda tensor: tensor[1:]}),
        ("gpr-gae", {"carried.weights.gamma": lambda tensor: tensor.double()}),
        ("gpr-gae", {"carried.weights.w_2": lambda tensor: tensor * torch.inf}),
        ("gpr-gae", {"carried.adam.0.exp_avg": None}),
        ("gpr-gae", {"carried.adam.0.exp_avg_sq": lambda tensor: -tensor - 1}),
        ("gpr-gae", {"carried.adam.0.step": lambda tensor: -tensor}),
        ("gpr-gae", {"carried.more": torch.zeros(1)}),
        ("adversarial-training", {"carried.pseudo": lambda tensor: tensor[1:]}),
        ("adversarial-training", {"carried.pseudo": lambda tensor: tensor + 3}),
        ("adversarial-training", {"carried.pseudo": lambda tensor: tensor.double()}),
        ("adversarial-training", {"carried.more": torch.zeros(1)}),
    ],
    ids=str,
)
def test_what_one_epoch_hands_to_the_next_is_checked(name, tensors, ring, tmp_path):
    path = stopped(name, ring, tmp_path)
    change(path, tensors=tensors)
    refused(name, ring, path)


@pytest.mark.parametrize("target", ["/dev/zero", "."])
def test_what_is_no_regular_file_is_not_read(target, ring, tmp_path):
    (tmp_path / "run.safetensors").symlink_to(target)
    with pytest.raises(InvalidInput, match=r"not the progress of this training \(it is no regular file\)"):
        fit("gcn", ring, resume=tmp_path / "run.safetensors")
