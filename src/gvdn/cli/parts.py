"""What train, recover, predict, embed and diagnose do where the graph is a folder of parts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gvdn.cli import scores
from gvdn.cli.console import print_json, print_table, progress, say
from gvdn.errors import InvalidInput
from gvdn.settings import checked_settings

if TYPE_CHECKING:
    from gvdn.parts.jobs import Job
    from gvdn.training.loop import Callback


class Where:
    """Who does the work: `--engine`, `--workers`, `--address`, `--min-workers`."""

    def __init__(self, engine: str, workers: int, address: str | None = None, fewest: int | None = None) -> None:
        self.engine, self.workers, self.address, self.fewest = engine, workers, address, fewest

    def require_parts(self, graph: str) -> bool:
        """Whether the graph is in parts; raises where workers are asked for and it is not."""
        from gvdn.parts.manifest import is_parts

        if is_parts(graph):
            return True
        if self.engine != "local" or self.workers != 1:
            raise InvalidInput(f"{graph} is not in parts, so that one worker has all of it; gvdn partition divides it")
        return False

    def run(self, job: Job, device: str, callback: Callback | None = None) -> dict[str, Any]:
        from gvdn.parts.run import run_job

        gpus = device.startswith("cuda") and self.engine == "ray"
        return run_job(
            job,
            engine=self.engine,
            workers=self.workers,
            address=self.address,
            fewest=self.fewest,
            gpus=gpus,
            callback=callback,
        )


EngineOption = Annotated[str, typer.Option("--engine", help="Of a graph in parts: local, or ray.")]
WorkersOption = Annotated[int, typer.Option("--workers", min=1, help="Workers of Ray; each owns some of the parts.")]
AddressOption = Annotated[
    str | None, typer.Option("--address", help="Of a Ray cluster; without it a local Ray is started.")
]
FewestOption = Annotated[
    int | None, typer.Option("--min-workers", min=1, help="Go on with so many where workers were lost for good.")
]
MemoryOption = Annotated[
    bool, typer.Option("--save-memory", help="Of a graph in parts: compute twice what would be kept of all parts.")
]


def train_parts(
    parts: str,
    output: Path,
    where: Where,
    *,
    method: str,
    settings: Mapping[str, Any],
    paper: bool,
    seed: int,
    shares: tuple[float, float, float | None],
    table: Path | None,
    device: str,
    recompute: bool,
    force: bool,
    as_json: bool,
) -> None:
    """`gvdn train PARTS`."""
    from gvdn.cluster import require_engine
    from gvdn.methods.gvdn import GVDN
    from gvdn.parts.jobs import Fit
    from gvdn.parts.manifest import read_manifest, require_files
    from gvdn.parts.prepare import Shares, require_settings

    require_engine(where.engine)
    if method != "gvdn":
        raise InvalidInput(f"expected the method gvdn for a graph in parts, got {method}; load the graph as a whole")
    manifest = read_manifest(parts)
    model = GVDN.preset(None, paper=paper).set_params(**settings)
    require_settings(model)
    require_files(manifest)
    with _written(output, force, f"train {model} {manifest.identity} {seed} {shares} {table}") as (folder, checkpoints):
        chosen = {name: value for name, value in model.get_params().items() if name != "device"}
        with progress(f"training gvdn on {manifest.parts} parts", model.epochs) as callback:
            job = Fit(
                Path(parts).resolve(),
                folder,
                chosen,
                seed,
                Shares(*shares, table=None if table is None else table.resolve()),
                device=device,
                progress=checkpoints,
                recompute=recompute,
            )
            found = where.run(job, device, callback)
    _told(f"gvdn trained on {manifest.name}, {manifest.parts} parts", found, output, as_json)


def recover_parts(
    model: Path,
    parts: str,
    output: Path,
    where: Where,
    *,
    settings: Mapping[str, Any],
    known: Path | None,
    labels: bool,
    device: str,
    recompute: bool,
    force: bool,
    as_json: bool,
) -> None:
    """`gvdn recover MODEL PARTS`."""
    from gvdn.methods.recovery_settings import require_read
    from gvdn.parts.jobs import Recover
    from gvdn.parts.judging import require_trust
    from gvdn.parts.manifest import read_manifest, require_files, sha256
    from gvdn.parts.model import read_model

    manifest, old = read_manifest(parts), _read(model, read_model)
    old.require_parts(manifest)
    chosen = {**old.method.get_params(), **checked_settings("gvdn", settings, old.method.defaults()), "device": device}
    require_read(old.method, settings)
    new = type(old.method)(**chosen)
    if new.trust:
        require_trust(old)
    require_files(manifest)
    chosen_ids = "" if known is None else sha256(known)
    run = f"recover {new} {manifest.identity} {old.identity} {old.outcome} {labels} {chosen_ids}"
    shown = progress(f"recovering on {manifest.parts} parts", new.recovery_rounds())
    with _written(output, force, run) as (folder, checkpoints), shown as callback:
        job = Recover(
            model.resolve(),
            Path(parts).resolve(),
            folder,
            settings,
            known=None if known is None else known.resolve(),
            labels=labels,
            device=device,
            progress=checkpoints,
            recompute=recompute,
        )
        found = where.run(job, device, callback)
    _told(f"gvdn recovered on {manifest.name}, {manifest.parts} parts", found, output, as_json)


def answer_parts(
    model: Path,
    parts: str,
    output: Path,
    where: Where,
    *,
    embeddings: bool,
    samples: int,
    device: str,
    force: bool,
    as_json: bool,
) -> None:
    """`gvdn predict MODEL PARTS` and `gvdn embed MODEL PARTS`: a folder with a Parquet file for each part."""
    from gvdn.parts.jobs import Answer
    from gvdn.parts.manifest import read_manifest, require_files
    from gvdn.parts.model import read_model

    manifest = read_manifest(parts)
    _read(model, read_model).require_parts(manifest)
    require_files(manifest)
    with _written(output, force, "") as (folder, _):
        job = Answer(model.resolve(), Path(parts).resolve(), folder, embeddings, samples, device)
        found = where.run(job, device)
        about = {"format": "gvdn-answers", "parts": manifest.parts, "rows": manifest.nodes}
        (folder / "manifest.json").write_text(json.dumps(about) + "\n", encoding="utf-8")
    if as_json:
        print_json(found | {"output": str(output)})
        return
    if found["scores"] is not None:
        _print_scores(f"{manifest.name}: labels that the model was not given", found["scores"])
    say(f"written: {output} ({manifest.nodes:,} rows in {manifest.parts} files)")


def diagnose_parts(
    model: Path, parts: str, output: Path | None, where: Where, *, device: str, force: bool
) -> dict[str, Any]:
    """`gvdn diagnose MODEL PARTS`: what was found; the tables are in the folder `output`."""
    from gvdn.cli.console import waiting
    from gvdn.cluster import require_engine
    from gvdn.parts.jobs import Diagnose
    from gvdn.parts.judging import require_trust
    from gvdn.parts.manifest import read_manifest, require_files
    from gvdn.parts.model import read_model

    require_engine(where.engine)
    if output is None and where.address is not None:
        raise InvalidInput("expected --output, a folder that all machines of the cluster see, got none")
    manifest, known = read_manifest(parts), _read(model, read_model)
    known.require_parts(manifest)
    require_trust(known)
    require_files(manifest)
    with ExitStack() as stack:
        if output is None:
            folder = Path(stack.enter_context(TemporaryDirectory()))
        else:
            folder, _ = stack.enter_context(_written(output, force, ""))
        stack.enter_context(waiting("comparing with the clean graph"))
        job = Diagnose(model.resolve(), Path(parts).resolve(), folder, device=device)
        return where.run(job, device)


def refuse(given: Mapping[str, Any]) -> None:
    """Raise at the first option that is not there for a graph in parts."""
    for name, value in given.items():
        if value:
            raise InvalidInput(f"--{name} is not supported for a graph in parts; leave it out, or gvdn join the model")


def load_whole(model: Path, device: str = "cpu", *, takes_parts: bool = True) -> Any:
    """The model, which must not be one of parts: those are asked on a graph in parts, where the command takes one."""
    from gvdn.methods.files import load_model
    from gvdn.parts.model import is_parts_model

    if is_parts_model(model):
        other = "give it a graph that gvdn partition --like divided, or " if takes_parts else ""
        raise InvalidInput(
            f"{model} was trained on parts: {other}make a model of it that needs none with gvdn join, and give that"
        )
    return load_model(model, device=device)


def _read(model: Path, read: Any) -> Any:
    from gvdn.parts.model import is_parts_model

    if (model / "model.json").is_file() and not is_parts_model(model):
        raise InvalidInput(f"{model} was not trained on parts, so that it needs the whole graph; give that")
    return read(model)


@contextmanager
def _written(output: Path, force: bool, run: str) -> Iterator[tuple[Path, Path]]:
    """The folder to write into, which becomes the output at the end, and the folder of the checkpoints of this run."""
    from gvdn.files import progress_folder, whole_folder

    checkpoints = progress_folder(output, run)
    with whole_folder(output, force=force) as folder:
        yield folder, checkpoints
    shutil.rmtree(checkpoints, ignore_errors=True)


def _told(title: str, found: dict[str, Any], output: Path, as_json: bool) -> None:
    if as_json:
        print_json(found | {"output": str(output)})
        return
    rows = [["workers", str(found["workers"])], ["sent by a worker", f"{found['bytes_sent'] / 2**20:,.1f} MiB"]]
    if found.get("validation_score") is not None:
        rows += [["epoch", str(found["epoch"])], ["validation score", f"{found['validation_score']:.2%}"]]
    if "nodes_with_stored_embedding" in found:
        rows.append(["nodes with a stored embedding", f"{found['nodes_with_stored_embedding']:.2%}"])
    print_table(title, ["", "value"], rows)
    if found.get("report") is not None:
        say(found["report"]["words"])
    if found["test"] is not None:
        _print_scores("labels that the model was not given", found["test"])
    say(f"written: {output}")


def _print_scores(title: str, found: dict[str, Any]) -> None:
    rows = [[words, f"{found[key]:.2%}"] for key, words in (("accuracy", "accuracy"), ("macro_f1", "macro-F1"))]
    print_table(title, ["", "value"], [*rows, ["nodes", f"{found['nodes']:,}"]])
    scores.print_classes(found, {})
