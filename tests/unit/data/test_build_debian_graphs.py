"""The script that builds the bundled graphs, on ten packages written by hand."""

import importlib.util
import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import sparse

SCRIPT = Path(__file__).parents[3] / "tools" / "build_debian_graphs.py"

INDEX = """\
Package: tetris
Version: 1.0
Section: games
Depends: tetris-data (>= 1.0) | blocks:any, libc6 (>= 2.34)
Recommends: librare1
Description: Puzzle game with falling blocks
 A long text about the zebra, the zebra and the zebra.

Package: tetris-data
Section: contrib/games
Suggests: tetris
Description-en: puzzle game with falling blocks, data

Package: blocks
Section: games
Pre-Depends: libc6
Description: Puzzle solver, (falling)

Package: letters
Section: mail
Source: post (2.1-3)
Depends: libc6
Enhances: librare1 (<< 3~)
Description: Letters by mail with a game

Package: stamps
Section: mail
Source: post
Suggests: nothing-here,
 parcels (>= 4)
Description: Stamps for the mail

Package: parcels
Section: mail
Description: Parcels by mail

Package: hermit
Section: games
Depends: libc6, hermit
Description: Solver of a puzzle alone

Package: oracle
Section: science
Depends: tetris
Description: Solver of puzzle games

Package: librare1
Section: libs
Source: librare
Description: Rare library

Package: tetris
Version: 0.9
Section: mail
Depends: parcels
Description: An older entry
"""


def load_script() -> ModuleType:
    """The script as a module; ``tools`` is not a package."""
    spec = importlib.util.spec_from_file_location("build_debian_graphs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = load_script()


def build(*sections: str, **settings: Any) -> dict[str, Any]:
    """The arrays of the index above, no class too small."""
    settings = {"smallest_class": 1, **settings}
    arrays: dict[str, Any] = script.build_graph(script.parse_index(INDEX), sections, **settings)
    return arrays


def edges(arrays: dict[str, Any]) -> set[tuple[str, str]]:
    """The edges as pairs of names, the smaller one first, each found in both directions."""
    names = arrays["ids"].tolist()
    rows = np.split(arrays["adj_indices"], arrays["adj_indptr"][1:-1])
    both = {(name, names[j]) for name, row in zip(names, rows, strict=True) for j in row}
    assert both == {(b, a) for a, b in both}
    return {(a, b) for a, b in both if a <= b}


def words_of(arrays: dict[str, Any], name: str) -> list[str]:
    """The words of one package."""
    row = arrays["ids"].tolist().index(name)
    columns = np.split(arrays["x_indices"], arrays["x_indptr"][1:-1])[row]
    return [str(word) for word in arrays["feature_names"][columns]]


def siblings(n: int, **same: Any) -> list[Any]:
    """So many packages that differ by their name only."""
    given = {"section": "games", "summary": "", "relations": frozenset(), **same}
    return [script.Package(**{"name": f"p{i}", "source": f"s{i}", **given}) for i in range(n)]


def test_a_versioned_alternative_counts_as_two_relations() -> None:
    assert script.named_in("tetris-data (>= 1.0) | blocks:any, g++ [amd64],\n libc6") == [
        "tetris-data", "blocks", "g++", "libc6",
    ]  # fmt: skip


def test_a_version_is_never_taken_for_a_name() -> None:
    assert script.named_in("a1 (= 2.0~rc1+b2) | b2 (>> 1:3), c3") == ["a1", "b2", "c3"]


def test_an_empty_relation_names_nothing() -> None:
    assert script.named_in("") == []


def test_all_five_relation_fields_are_read_and_conflicts_are_not() -> None:
    fields = ["Depends", "Pre-Depends", "Recommends", "Suggests", "Enhances", "Conflicts", "Breaks", "Replaces"]
    text = "Package: me\n" + "".join(f"{field}: {field.lower()}\n" for field in fields)
    (package,) = script.parse_index(text)
    assert package.relations == {"depends", "pre-depends", "recommends", "suggests", "enhances"}


def test_a_folded_relation_field_is_read_to_its_end() -> None:
    stamps = next(p for p in script.parse_index(INDEX) if p.name == "stamps")
    assert stamps.relations == {"nothing-here", "parcels"}


def test_of_a_name_that_comes_twice_the_first_stanza_counts() -> None:
    tetris = [p for p in script.parse_index(INDEX) if p.name == "tetris"]
    assert [p.section for p in tetris] == ["games"]


def test_the_section_loses_its_prefix_and_the_source_its_version() -> None:
    packages = {p.name: p for p in script.parse_index(INDEX)}
    assert packages["tetris-data"].section == "games"
    assert packages["letters"].source == "post"
    assert packages["blocks"].source == "blocks"


def test_only_the_first_line_of_the_description_is_kept() -> None:
    packages = {p.name: p for p in script.parse_index(INDEX)}
    assert packages["tetris"].summary == "Puzzle game with falling blocks"
    assert packages["tetris-data"].summary == "puzzle game with falling blocks, data"


def test_the_edges_are_relations_rare_dependencies_and_sources() -> None:
    # libc6 has four dependants here, so it is rare too: blocks, hermit, letters, tetris.
    members = [p for p in script.parse_index(INDEX) if p.section in {"games", "mail"}]
    members.sort(key=lambda p: p.name)
    assert script.declared(members) == {("blocks", "tetris"), ("tetris", "tetris-data"), ("parcels", "stamps")}
    assert script.shared_sources(members) == {("letters", "stamps")}
    assert script.shared_dependencies(members) == {
        ("blocks", "hermit"), ("blocks", "letters"), ("blocks", "tetris"),
        ("hermit", "letters"), ("hermit", "tetris"), ("letters", "tetris"),
    }  # fmt: skip


def test_the_graph_holds_every_kind_of_edge_once() -> None:
    assert edges(build("mail")) == {("letters", "stamps"), ("parcels", "stamps")}
    assert ("tetris", "tetris-data") in edges(build("games", "mail"))
    assert len(edges(build("games", "mail"))) == 9


@pytest.mark.parametrize(("n", "expected"), [(1, 0), (2, 1), (8, 28), (9, 0)])
def test_a_dependency_joins_two_to_eight_dependants(n: int, expected: int) -> None:
    assert len(script.shared_dependencies(siblings(n, relations=frozenset({"libx"})))) == expected


@pytest.mark.parametrize(("n", "expected"), [(1, 0), (2, 1), (8, 28), (9, 0)])
def test_a_source_joins_two_to_eight_binaries(n: int, expected: int) -> None:
    assert len(script.shared_sources(siblings(n, source="big"))) == expected


def test_a_package_that_names_itself_has_no_loop_and_is_dropped_when_alone() -> None:
    text = INDEX.replace("Depends: libc6, hermit", "Depends: hermit")
    arrays = script.build_graph(script.parse_index(text), ["games"], smallest_class=1)
    assert arrays["ids"].tolist() == ["blocks", "tetris", "tetris-data"]
    assert all(a != b for a, b in edges(arrays))


def test_a_tiny_class_is_left_out_with_the_edges_it_gave() -> None:
    arrays = build("games", "science", smallest_class=2)
    assert arrays["class_names"].tolist() == ["games"]
    assert "oracle" not in arrays["ids"]
    assert "oracle" in build("games", "science")["ids"]


def test_labels_are_positions_among_the_sorted_sections() -> None:
    arrays = build("mail", "games")
    assert arrays["class_names"].tolist() == ["games", "mail"]
    assert arrays["ids"].tolist() == ["blocks", "hermit", "letters", "parcels", "stamps", "tetris", "tetris-data"]
    assert arrays["y"].tolist() == [0, 0, 1, 1, 1, 0, 0]


def test_words_are_those_of_three_packages_without_stop_words() -> None:
    # "with" is in three too, and "blocks" and "solver" only in two.
    arrays = build("games", "mail")
    assert arrays["feature_names"].tolist() == ["falling", "game", "mail", "puzzle"]
    assert words_of(arrays, "tetris") == ["falling", "game", "puzzle"]
    assert words_of(arrays, "letters") == ["game", "mail"]


def test_the_most_frequent_words_come_first_and_the_alphabet_breaks_the_tie() -> None:
    assert build("games", "mail", n_words=1)["feature_names"].tolist() == ["puzzle"]
    assert build("games", "mail", n_words=2)["feature_names"].tolist() == ["falling", "puzzle"]


def test_a_dropped_package_has_no_say_in_the_words() -> None:
    text = INDEX.replace("Depends: libc6, hermit", "Depends: nobody")
    arrays = script.build_graph(script.parse_index(text), ["games"], smallest_class=1)
    assert arrays["feature_names"].tolist() == ["falling", "puzzle"]
    text = text.replace("Puzzle solver, (falling)", "Solver, (falling)")
    arrays = script.build_graph(script.parse_index(text), ["games"], smallest_class=1)
    assert arrays["feature_names"].tolist() == ["falling"]


def test_the_file_holds_these_arrays_of_these_types(tmp_path: Path) -> None:
    script.save(tmp_path / "new" / "graph.npz", build("games", "mail"))
    with np.load(tmp_path / "new" / "graph.npz", allow_pickle=False) as file:
        kinds = {name: file[name].dtype.name for name in file.files}
        x = sparse.csr_array((file["x_data"], file["x_indices"], file["x_indptr"]), shape=tuple(file["x_shape"]))
    assert {name: kind for name, kind in kinds.items() if not kind.startswith("str")} == {
        "adj_indptr": "int16", "adj_indices": "int16", "x_indptr": "int16", "x_indices": "int16",
        "x_data": "uint8", "x_shape": "int64", "y": "int8",
    }  # fmt: skip
    assert set(kinds) - {"adj_indptr", "adj_indices", "x_indptr", "x_indices", "x_data", "x_shape", "y"} == {
        "ids", "class_names", "feature_names",
    }  # fmt: skip
    assert x.shape == (7, 4)
    assert set(x.data.tolist()) == {1}


def test_indices_are_sorted_within_each_row() -> None:
    arrays = build("games", "mail")
    for kind in ("adj", "x"):
        rows = np.split(arrays[f"{kind}_indices"], arrays[f"{kind}_indptr"][1:-1])
        assert all((np.diff(row) > 0).all() for row in rows)


def test_integers_past_int16_become_int32() -> None:
    assert script.small(np.array([0, 32767])).dtype == np.int16
    assert script.small(np.array([0, 32768])).dtype == np.int32


def test_the_same_packages_in_another_order_give_the_same_bytes(tmp_path: Path) -> None:
    packages = script.parse_index(INDEX)
    for name, order in {"one": packages, "two": packages[::-1]}.items():
        script.save(tmp_path / f"{name}.npz", script.build_graph(order, ["mail", "games"], smallest_class=1))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "graph.npz"
    target.write_bytes(b"old")
    with pytest.raises(ValueError, match="allow_pickle"):
        script.save(target, {"ids": np.array([object()])})
    assert [path.name for path in tmp_path.iterdir()] == ["graph.npz"]
    assert target.read_bytes() == b"old"


def test_the_command_writes_both_graphs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "index.txt").write_text(INDEX, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["build", str(tmp_path / "index.txt"), "--out", str(tmp_path)])
    monkeypatch.setattr(script, "build_graph", partial(script.build_graph, smallest_class=1))
    script.main()
    assert {path.name for path in tmp_path.glob("*.npz")} == {"debian.npz", "debian-large.npz"}
    assert capsys.readouterr().out == "debian: 8 nodes, 11 edges\ndebian-large: 5 nodes, 6 edges\n"


def test_an_index_without_packages_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index.txt").write_text("\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["build", str(tmp_path / "index.txt"), "--out", str(tmp_path)])
    with pytest.raises(SystemExit):
        script.main()
    assert not list(tmp_path.glob("*.npz"))
