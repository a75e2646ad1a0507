"""Run a job on parts: in this process, or by the workers of Ray Train."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

from gvdn.cluster import ray_session, require_engine
from gvdn.errors import GvdnError, InvalidInput
from gvdn.parts.group import Alone, Distributed
from gvdn.parts.jobs import RESULT, Fit, Job, Recover
from gvdn.training.loop import Callback

ERROR, SCRATCH = "error.txt", "ray"
POLL = 0.2
"""Seconds between two questions for the epoch."""
RETRIES = 3
"""How often the workers are started again after one was lost; they go on from the last checkpoint."""


def run_job(
    job: Job,
    *,
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
    fewest: int | None = None,
    gpus: bool = False,
    callback: Callback | None = None,
) -> dict[str, Any]:
    """What the job found; its output is in the folder `job.output`, which must be there and be seen by all workers.

    Args:
        engine: local, one worker in this process; or ray.
        address: of a Ray cluster; without one, a local Ray is started.
        fewest: with so many workers the job goes on where there are no more of them; `workers` when left out.
        gpus: whether each worker has a GPU.
        callback: called in this process with the epochs of a training or a recovery and their losses; on Ray with the
            last one a few times in a second.
    """
    require_engine(engine)
    if engine == "local":
        if workers != 1:
            raise InvalidInput(f"expected one worker without Ray, got {workers}; give --engine ray")
        if callback is not None and isinstance(job, Fit | Recover):
            job.callback = callback
        job.run(Alone())
    else:
        _on_ray(job, workers, address, fewest or workers, gpus, callback)
    result = job.output / RESULT
    found = json.loads(result.read_text(encoding="utf-8"))
    result.unlink()
    return dict(found)


class Teller:
    """An actor between the first worker and the process that started the job: the epoch, and whether to stop."""

    def __init__(self) -> None:
        self.epoch: int = 0
        self.losses: dict[str, float] = {}
        self.stopped = False

    def tell(self, epoch: int, losses: dict[str, float]) -> bool:
        """Called by the worker; returns whether it should stop."""
        self.epoch, self.losses = epoch, losses
        return self.stopped

    def latest(self) -> tuple[int, dict[str, float]]:
        return self.epoch, self.losses

    def stop(self) -> None:
        self.stopped = True


def _on_ray(job: Job, workers: int, address: str | None, fewest: int, gpus: bool, callback: Callback | None) -> None:
    with ray_session(address, cpus=workers + 1) as ray:
        from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError
        from ray.train.torch import TorchConfig, TorchTrainer

        teller = ray.remote(Teller).options(num_cpus=0).remote()
        number: Any = workers if fewest == workers else (fewest, workers)
        trainer = TorchTrainer(
            work,
            train_loop_config={"job": job, "gpus": gpus, "teller": teller},
            torch_config=TorchConfig(backend="nccl" if gpus else "gloo"),
            scaling_config=ScalingConfig(num_workers=number, use_gpu=gpus),
            run_config=RunConfig(
                name="gvdn",
                storage_path=str((job.output / SCRATCH).resolve()),
                failure_config=FailureConfig(max_failures=RETRIES),
            ),
        )
        try:
            _wait(ray, trainer, teller, job, callback)
        except TrainingFailedError as problem:
            raise _told(job.output, problem) from problem
    said = job.output / ERROR
    if said.exists():
        raise InvalidInput(said.read_text(encoding="utf-8"))
    shutil.rmtree(job.output / SCRATCH, ignore_errors=True)


def _wait(ray: Any, trainer: Any, teller: Any, job: Job, callback: Callback | None) -> None:
    """Until the job has ended, telling of its epochs; raises what it raised.

    The trainer is in a thread of its own, so that it leaves the signals alone: Ctrl-C comes here as in any other
    command, and not as an exit of the process that looks like success.
    """
    raised: list[BaseException] = []

    def fit() -> None:
        try:
            trainer.fit()
        except BaseException as problem:
            raised.append(problem)

    thread, last = threading.Thread(target=fit, name="gvdn-ray-train", daemon=True), 0
    thread.start()
    try:
        while thread.is_alive():
            thread.join(POLL)
            if callback is not None:
                epoch, losses = ray.get(teller.latest.remote())
                if epoch != last:
                    last = epoch
                    callback(epoch, losses)
    except KeyboardInterrupt:
        # A Ray that was started here ends with all its workers. One that goes on must be told.
        (job.output / ERROR).write_text("the job was stopped", encoding="utf-8")
        teller.stop.remote()
        raise
    if raised:
        raise raised[0]


def work(config: dict[str, Any]) -> None:
    """In each worker of Ray Train: the job, as one of a group.

    A mistake of the user is told once and not tried again: workers that are started after it see it and end.
    """
    job: Job = config["job"]
    said: Path = job.output / ERROR
    if said.exists():
        return
    if config["gpus"]:
        from ray.train.torch import get_device

        job.device = str(get_device())
    group = Distributed()
    if group.rank == 0 and isinstance(job, Fit | Recover):
        job.callback = _telling(config["teller"], job.callback)
    try:
        job.run(group)
    except GvdnError as problem:
        said.write_text(str(problem), encoding="utf-8")
        raise


def _telling(teller: Any, callback: Callback | None) -> Callback:
    """The callback of the first worker, which tells of every epoch."""
    import ray

    def told(epoch: int, losses: dict[str, float]) -> None:
        if callback is not None:
            callback(epoch, losses)
        if ray.get(teller.tell.remote(epoch, losses)):
            raise GvdnError("the job was stopped")

    return told


def _told(output: Path, problem: Exception) -> GvdnError:
    """The error in one sentence: ours, or that workers were lost again and again."""
    if (output / ERROR).exists():
        return InvalidInput((output / ERROR).read_text(encoding="utf-8"))
    why = next((line for line in reversed(str(problem).splitlines()) if line.strip()), "?")
    return GvdnError(f"the workers failed {RETRIES + 1} times ({why.strip()}); what was trained is in the checkpoints")
