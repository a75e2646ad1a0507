"""What is recorded on a GPU, run here as it is: the same losses, best weights and progress as epoch by epoch."""

from contextlib import nullcontext

import pytest
import torch
from small_models import small_method

from gvdn.graph import random_split
from gvdn.training import loop
from gvdn.training.recording import CannotRecord, Recording

METHODS = ["gvdn", "gcn", "rgcn", "grand", "dropedge", "mc-dropout", "gcn-jaccard", "gcn-svd", "mlp"]


class OnCpu(Recording):
    """A recording whose replay runs the epoch."""

    replays = 0

    @classmethod
    def wanted(cls, task, optimizer, generator, best):
        return cls(task, optimizer, generator, best) if task.recordable else None

    def stream(self):
        return nullcontext()

    def _recorded(self):
        return self

    def replay(self):
        type(self).replays += 1
        self._epoch()


@pytest.fixture
def split(ring):
    return random_split(ring, seed=0, train=0.2, stratified=True)


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setattr(loop, "Recording", OnCpu)
    OnCpu.replays = 0
    return OnCpu


def fitted(name, ring, split, **rest):
    # Two dozen epochs: three warm-ups, the rest of a block of twenty, and another block.
    return small_method(name, epochs=27).fit(ring, split, seed=0, **rest)


@pytest.mark.parametrize("name", METHODS)
def test_recorded_epochs_are_the_epochs(name, ring, split, monkeypatch):
    plain = fitted(name, ring, split)
    monkeypatch.setattr(loop, "Recording", OnCpu)
    OnCpu.replays = 0
    calls = []
    model = fitted(name, ring, split, callback=lambda epoch, record: calls.append((epoch, record)))
    assert OnCpu.replays == 24
    assert [epoch for epoch, _ in calls] == list(range(1, 28))
    assert model.outcome_.epoch == plain.outcome_.epoch
    for ours, theirs in zip(model.outcome_.history, plain.outcome_.history, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-6)
    for part, other in zip(model.network_.state_dict().values(), plain.network_.state_dict().values(), strict=True):
        torch.testing.assert_close(part, other)


def test_recovery_is_recorded_too(ring, split, monkeypatch):
    model = small_method("gvdn", trust=False, recovery_epochs=9).fit(ring, split, seed=0)
    plain = model.recover(ring)
    monkeypatch.setattr(loop, "Recording", OnCpu)
    OnCpu.replays = 0
    healed = model.recover(ring)
    assert OnCpu.replays == 6
    assert torch.equal(healed.network_.heads.W, plain.network_.heads.W)


def test_whoever_looks_at_the_network_gets_it_epoch_by_epoch(ring, split, recorded):
    model = small_method("gvdn", trust=False, recovery_epochs=9).fit(ring, split, seed=0)
    recorded.replays, seen = 0, []
    model.recover(ring, look=lambda epoch, inferred: seen.append(inferred()[1].sum()))
    assert recorded.replays == 0
    assert len(set(map(float, seen))) == 9


def test_a_stopped_training_goes_on_from_its_last_block(ring, split, recorded, tmp_path):
    whole, path = fitted("gvdn", ring, split), tmp_path / "run.safetensors"

    def stop(epoch, record):
        if epoch == 24:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted("gvdn", ring, split, callback=stop, resume=path)
    again = fitted("gvdn", ring, split, resume=path)
    assert torch.equal(again.network_.W_z, whole.network_.W_z)
    assert again.outcome_.history == whole.outcome_.history


def test_a_loss_that_is_not_finite_is_named_with_its_epoch(ring, split, recorded, monkeypatch):
    class Broken(small_method("gcn").__class__):
        def learn(self, network, view, generator):
            logits, _ = super().learn(network, view, generator)
            self.calls = getattr(self, "calls", 0) + 1
            return logits, {"more": logits.sum() * (float("nan") if self.calls == 9 else 1)}

    with pytest.raises(loop.NotFinite, match="'more' became nan in epoch 9"):
        Broken(hidden=8, epochs=27).fit(ring, split, seed=0)


def test_a_gpu_that_cannot_record_trains_epoch_by_epoch(ring, split, monkeypatch):
    class Refusing(OnCpu):
        def _recorded(self):
            raise CannotRecord("an old driver")

    plain = fitted("gcn", ring, split)
    monkeypatch.setattr(loop, "Recording", Refusing)
    with pytest.warns(UserWarning, match="epochs are not recorded on this GPU, and slower: an old driver"):
        model = fitted("gcn", ring, split)
    assert model.outcome_.history == plain.outcome_.history


def test_methods_of_others_and_scores_of_the_host_are_not_recorded(ring, split, recorded):
    small_method("prognn", epochs=6).fit(ring, split, seed=0)
    small_method("gcn", epochs=6, select="auc").fit(ring, split, seed=0)
    small_method("gvdn", epochs=6, aggregator="gat").fit(ring, split, seed=0)
    assert recorded.replays == 0
