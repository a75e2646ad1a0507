"""A training that loses a worker goes on from its last checkpoint, on any number of workers, to the same bits."""

import json
import threading

import pytest
from parts_runs import fitted

from gvdn.errors import InvalidInput
from gvdn.parts import checkpoint


def weights(model) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(model.glob("*.safetensors"))}


class Lost(Exception):
    """A worker that is not there any more."""


def losing(epoch: int):
    """A callback that fails in one worker, after an epoch."""
    once = threading.Lock()

    def after(done, losses) -> None:
        if done == epoch and once.acquire(blocking=False):
            raise Lost

    return after


@pytest.mark.parametrize("workers", [1, 3])
def test_a_checkpoint_of_four_workers_is_read_by_one_and_by_three(workers, awkward, divided, tmp_path):
    parts, how = divided(awkward), {"progress": tmp_path / "progress", "save_every": 3}
    wanted = fitted(parts, tmp_path / "straight", 2)
    with pytest.raises(Lost):
        fitted(parts, tmp_path / "lost", 4, callback=losing(5), **how)
    assert [path.name for path in checkpoint.found(tmp_path / "progress")] == ["epoch-000003"]
    seen = []
    fitted(parts, tmp_path / "again", workers, callback=lambda epoch, _: seen.append(epoch), **how)
    assert min(seen) == 4
    assert weights(tmp_path / "again") == weights(wanted)


def test_a_half_written_checkpoint_is_passed_over_and_a_strange_one_refused(awkward, divided, tmp_path):
    parts, how = divided(awkward), {"progress": tmp_path / "progress", "save_every": 3}
    with pytest.raises(Lost):
        fitted(parts, tmp_path / "lost", callback=losing(5), **how)
    (tmp_path / "progress" / "epoch-000006.draft").mkdir()
    fitted(parts, tmp_path / "again", **how)
    about = next((tmp_path / "progress").glob("epoch-*/about.json"))
    content = json.loads(about.read_text())
    about.write_text(json.dumps(content | {"identity": "another"}))
    with pytest.raises(InvalidInput, match="not the progress of this training .* delete it"):
        fitted(parts, tmp_path / "third", **how)
    about.write_text(json.dumps(content))
    (about.parent / "part-2.safetensors").write_bytes(b"nothing")
    with pytest.raises(InvalidInput, match="not the progress of this training"):
        fitted(parts, tmp_path / "fourth", **how)
