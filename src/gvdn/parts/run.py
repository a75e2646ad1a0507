"""Run a job on parts: in this process, or by the workers of Ray Train."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from gvdn.cluster import ray_session, require_engine
from gvdn.errors import GvdnError, InvalidInput
from gvdn.parts.group import Alone, Distributed
from gvdn.parts.jobs import RESULT, Job

ERROR, SCRATCH = "error.txt", "ray"
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
) -> dict[str, Any]:
    """What the job found; its output is in the folder `job.output`, which must be there and be seen by all workers.

    Args:
        engine: local, one worker in this process; or ray.
        address: of a Ray cluster; without one, a local Ray is started.
        fewest: with so many workers the job goes on where there are no more of them; `workers` when left out.
        gpus: whether each worker has a GPU.
    """
    require_engine(engine)
    if engine == "local":
        if workers != 1:
            raise InvalidInput(f"expected one worker without Ray, got {workers}; give --engine ray")
        job.run(Alone())
    else:
        _on_ray(job, workers, address, fewest or workers, gpus)
    result = job.output / RESULT
    found = json.loads(result.read_text(encoding="utf-8"))
    result.unlink()
    return dict(found)


def _on_ray(job: Job, workers: int, address: str | None, fewest: int, gpus: bool) -> None:
    with ray_session(address, cpus=workers + 1):
        from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError
        from ray.train.torch import TorchConfig, TorchTrainer

        number: Any = workers if fewest == workers else (fewest, workers)
        trainer = TorchTrainer(
            work,
            train_loop_config={"job": job, "gpus": gpus},
            torch_config=TorchConfig(backend="nccl" if gpus else "gloo"),
            scaling_config=ScalingConfig(num_workers=number, use_gpu=gpus),
            run_config=RunConfig(
                name="gvdn",
                storage_path=str((job.output / SCRATCH).resolve()),
                failure_config=FailureConfig(max_failures=RETRIES),
            ),
        )
        try:
            trainer.fit()
        except TrainingFailedError as problem:
            raise _told(job.output, problem) from problem
    said = job.output / ERROR
    if said.exists():
        raise InvalidInput(said.read_text(encoding="utf-8"))
    shutil.rmtree(job.output / SCRATCH, ignore_errors=True)


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
    try:
        job.run(Distributed())
    except GvdnError as problem:
        said.write_text(str(problem), encoding="utf-8")
        raise


def _told(output: Path, problem: Exception) -> GvdnError:
    """The error in one sentence: ours, or that workers were lost again and again."""
    if (output / ERROR).exists():
        return InvalidInput((output / ERROR).read_text(encoding="utf-8"))
    why = next((line for line in reversed(str(problem).splitlines()) if line.strip()), "?")
    return GvdnError(f"the workers failed {RETRIES + 1} times ({why.strip()}); what was trained is in the checkpoints")
