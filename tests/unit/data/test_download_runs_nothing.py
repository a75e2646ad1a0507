import os
import pickle
from pathlib import Path

import pytest
import torch_geometric.datasets

from gvdn.data import DATASETS, download
from gvdn.errors import InvalidInput


class Harm:
    """A pickle that makes a folder when it is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_download_is_not_unpickled_by_anybody_but_our_reader(tmp_path, monkeypatch):
    monkeypatch.setenv("GVDN_CACHE", str(tmp_path / "cache"))

    def write(dataset):
        for name in dataset.raw_file_names:
            (Path(dataset.raw_dir) / name).write_bytes(pickle.dumps(Harm(tmp_path / "harm")))

    monkeypatch.setattr(torch_geometric.datasets.Planetoid, "download", write)
    with pytest.raises(InvalidInput, match="could not read the planetoid files"):
        download.download(DATASETS["cora"])
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset.pyg])
def test_torch_geometric_downloads_and_does_nothing_else(name, tmp_path, monkeypatch):
    kind = getattr(torch_geometric.datasets, DATASETS[name].pyg[0])
    downloads = []
    monkeypatch.setattr(kind, "download", lambda dataset: downloads.append(dataset.raw_dir))
    monkeypatch.setattr(kind, "process", lambda _: pytest.fail("the raw files were processed"))
    folder = download._raw_folder(DATASETS[name], str(tmp_path))
    assert downloads == [str(folder)]
    assert folder.is_relative_to(tmp_path)
