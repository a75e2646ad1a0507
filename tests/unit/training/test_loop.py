import json
import math

import pytest
import torch
from torch import nn

from gvdn.errors import GvdnError, InvalidInput
from gvdn.training.loop import Best, NotFinite, train
from gvdn.training.selection import Score


class Toy:
    """One weight on its way to 3, pushed about by noise, with a score for each epoch written down beforehand."""

    recordable = False

    def __init__(self, scores=None) -> None:
        self.network = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(self.network.weight)
        self.scores, self.seen, self.epoch = scores, [], -1

    @property
    def weight(self) -> float:
        return self.network.weight.item()

    def losses(self, epoch, generator):
        self.epoch = epoch
        self.seen.append(self.weight)
        noise = 0.1 * torch.randn((), generator=generator)
        return {"distance": (self.network.weight.squeeze() - 3 + noise) ** 2, "size": 0.01 * self.network.weight.norm()}

    def score(self, generator):
        return None if self.scores is None else torch.tensor([self.scores[self.epoch], 0.0], dtype=torch.float64)

    def carried(self):
        return {"epoch": torch.tensor(self.epoch)}

    def carry(self, state):
        self.taken_up = int(state["epoch"])


def run(task, epochs, **rest):
    optimizer = torch.optim.Adam(task.network.parameters(), lr=0.1)
    return train(task, optimizer, epochs, seed=0, purpose="toy", **rest)


def test_the_snapshot_does_not_move_with_the_model():
    network, best = nn.Linear(1, 1), Best()
    nn.init.constant_(network.weight, 7.0)
    best.offer(Score(0.5), 3, network)
    nn.init.constant_(network.weight, -1.0)
    assert best.weights["weight"].item() == 7
    assert (best.score.value, best.epoch) == (0.5, 3)


def test_the_best_weights_are_allocated_once(monkeypatch):
    """A copy that is thrown away would be the largest part of the peak of a training."""
    network, best, made = nn.Linear(1, 1), Best(), []
    empty_like = torch.empty_like
    monkeypatch.setattr(torch, "empty_like", lambda tensor: made.append(1) or empty_like(tensor))
    for epoch in range(3):
        best.offer(Score(epoch, 0.0), epoch, network)
    assert len(made) == 2


def test_the_earliest_epoch_wins_a_tie():
    task = Toy([0.1, 0.8, 0.2, 0.8, 0.8])
    outcome = run(task, 5)
    assert (outcome.epoch, outcome.score) == (1, 0.8)
    assert task.weight == task.seen[1]


def test_the_loss_decides_between_equal_scores():
    class Tied(Toy):
        def score(self, generator):
            return torch.tensor([0.9, -self.scores[self.epoch]])

    assert run(Tied([0.5, 0.4, 0.3, 0.6, 0.3]), 5).epoch == 2


@pytest.mark.parametrize("top", [0, 3, 9])
def test_the_weights_taken_are_those_that_were_scored(top):
    task = Toy([float(epoch == top) for epoch in range(10)])
    outcome = run(task, 10)
    assert outcome.epoch == top
    assert task.weight == task.seen[top]  # of before that epoch's step
    assert len(set(task.seen)) == 10


def test_no_score_keeps_the_last_weights():
    task = Toy()
    outcome = run(task, 10)
    assert (outcome.epoch, outcome.score) == (9, None)
    assert task.weight not in task.seen
    assert "val" not in outcome.history[0]


def test_the_sum_of_the_terms_is_minimised():
    task = Toy()
    run(task, 300)
    assert task.weight == pytest.approx(3, abs=0.2)


def test_every_epoch_is_in_the_history_and_seen_by_the_callback():
    calls = []
    outcome = run(Toy([0.5] * 4), 4, callback=lambda epoch, record: calls.append((epoch, record)))
    assert [epoch for epoch, _ in calls] == [1, 2, 3, 4]
    assert [record for _, record in calls] == outcome.history
    assert all(set(record) == {"distance", "size", "val"} for record in outcome.history)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_leaves_the_numbers_is_named_with_its_epoch(value):
    class Broken(Toy):
        def losses(self, epoch, generator):
            terms = super().losses(epoch, generator)
            return terms | {"size": terms["size"] * (value if epoch == 4 else 1)}

    task = Broken()
    with pytest.raises(NotFinite, match=f"the loss term 'size' became {value} in epoch 5; lower the learning rate"):
        run(task, 10)
    assert issubclass(NotFinite, GvdnError)
    assert len(task.seen) == 5
    assert task.weight == task.seen[4]  # stopped before the step that would spoil the weights


def test_the_global_generator_is_given_back():
    task, before = Toy(), torch.get_rng_state()
    run(task, 3)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_global_generator_is_given_back_after_a_failure():
    task, before = Toy(), torch.get_rng_state()
    with pytest.raises(KeyboardInterrupt):
        run(task, 5, callback=interrupt_at(2))
    assert torch.equal(torch.get_rng_state(), before)


def test_same_seed_same_bits_whatever_the_global_generator_says():
    first, second = Toy(), Toy()
    run(first, 20)
    with torch.random.fork_rng():
        torch.manual_seed(99)
        run(second, 20)
    assert first.seen == second.seen


# ---- stopped and resumed


def interrupt_at(epoch):
    def stop(number, record):
        if number == epoch:
            raise KeyboardInterrupt

    return stop


SCORES = {
    "none": None,
    "early": [float(epoch == 3) for epoch in range(20)],
    "late": [epoch / 20 for epoch in range(20)],
}


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("moment", [6, 10, 13])
def test_a_resumed_run_ends_with_the_same_bits(scores, moment, tmp_path):
    progress = tmp_path / "progress.safetensors"
    whole, stopped, resumed = (Toy(SCORES[scores]) for _ in range(3))
    expected = run(whole, 20)
    with pytest.raises(KeyboardInterrupt):
        run(stopped, 20, callback=interrupt_at(moment), resume=progress, save_every=5)
    assert progress.exists()
    outcome = run(resumed, 20, resume=progress, save_every=5)
    assert resumed.weight == whole.weight
    assert outcome == expected
    assert len(resumed.seen) == 20 - (moment - 1) // 5 * 5  # it did go on, and did not start again


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("save_every", [5, 4])  # the last epoch is saved anyway, once
def test_a_finished_run_leaves_its_progress_and_a_second_one_has_nothing_to_do(scores, save_every, tmp_path):
    plain, saving, again = (Toy(SCORES[scores]) for _ in range(3))
    expected = run(plain, 12)
    for task in (saving, again):
        assert run(task, 12, resume=tmp_path / "progress.safetensors", save_every=save_every) == expected
        assert task.weight == plain.weight
    assert (saving.seen, again.seen) == (plain.seen, [])
    assert [path.name for path in tmp_path.iterdir()] == ["progress.safetensors"]


def stopped_run(tmp_path):
    progress = tmp_path / "progress.safetensors"
    with pytest.raises(KeyboardInterrupt):
        run(Toy([0.5] * 20), 20, callback=interrupt_at(9), resume=progress, save_every=4)
    return progress


@pytest.mark.parametrize("length", [0, 4, 40, 300])
def test_a_truncated_progress_file_gets_one_sentence(length, tmp_path):
    progress = stopped_run(tmp_path)
    assert progress.stat().st_size > length
    progress.write_bytes(progress.read_bytes()[:length])
    with pytest.raises(InvalidInput, match="not the progress of this training .*; delete it to start again") as caught:
        run(Toy([0.5] * 20), 20, resume=progress)
    assert "\n" not in str(caught.value)


def test_the_progress_of_another_network_gets_one_sentence(tmp_path):
    progress, task = stopped_run(tmp_path), Toy()
    task.network = nn.Linear(2, 1)
    with pytest.raises(InvalidInput, match="not the progress of this training") as caught:
        run(task, 20, resume=progress)
    assert "\n" not in str(caught.value)


def test_the_progress_file_is_not_a_pickle(tmp_path):
    raw = stopped_run(tmp_path).read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert {"now.weight", "best.weight", "adam.0.exp_avg", "adam.0.exp_avg_sq", "adam.0.step"} < set(header)
