"""The `gvdn` command: its groups, and what a failure looks like."""

import inspect
import sys
from typing import Annotated

import typer

import gvdn
from gvdn.cli import answers, bench, data, demo, diagnose, methods, model, partition, perturb, tune
from gvdn.cli.console import complain, flowing
from gvdn.errors import GvdnError

app = typer.Typer(
    name="gvdn",
    help="Robust node representations for graphs that get perturbed after the model was trained.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("partition")(partition.partition)
app.command("join")(partition.join)
app.command("train")(model.train)
app.command("recover")(model.recover)
app.command("update")(model.update)
app.command("predict")(answers.predict)
app.command("embed")(answers.embed)
app.command("threshold")(answers.threshold)
app.command("diagnose")(diagnose.diagnose)
app.command("perturb")(perturb.perturb)
app.command("replay")(perturb.replay)
app.command("tune")(tune.tune)
app.command("methods")(methods.methods)
app.command("perturbations")(methods.perturbations)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")
for command in (one for group in (app, data.app, bench.app) for one in group.registered_commands):
    command.help = flowing(inspect.getdoc(command.callback) or "")


STOPPED = 130


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gvdn {gvdn.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=show_version)
    ] = False,
) -> None:
    """Options of the command itself."""


def main() -> None:
    """Run the command line: the caller's mistakes are one line, ours keep their traceback."""
    try:
        code = app(standalone_mode=False)
    except GvdnError as problem:
        complain(str(problem))
        code = 2
    except OSError as problem:
        complain(
            f"{problem.strerror or problem}: {problem.filename or 'a file'}; check the path, the disk and the rights"
        )
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except Exception as problem:
        if not hasattr(problem, "format_message"):  # a usage error of the parser prints itself
            raise
        problem.show()  # type: ignore[attr-defined]
        code = getattr(problem, "exit_code", 2)
    if code == STOPPED:  # some versions of typer turn Ctrl-C into this code themselves
        complain("stopped; nothing half-written was left behind, and a training goes on with the same command")
    sys.exit(code or 0)
