"""The scripts of `benchmarks/`, which are no part of the package."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parents[1]


def script(name: str) -> ModuleType:
    """A script by its name, with the modules beside it."""
    folder = HERE / "benchmarks"
    sys.path.append(str(folder))
    spec = importlib.util.spec_from_file_location(f"{name}_of_benchmarks", folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
