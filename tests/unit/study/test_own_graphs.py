from gvdn.study.own_graphs import own_graphs


def test_a_file_or_a_folder_is_a_graph_of_ones_own_and_nothing_else_is(tmp_path):
    (tmp_path / "accounts").mkdir()
    (tmp_path / "mine.npz").touch()
    written = ["accounts", "mine.npz", "nowhere", "/dev/zero", "x" * 100_000, "a\0b"]
    assert {name: one.written for name, one in own_graphs(written, tmp_path).items()} == {
        "accounts": "accounts",
        "mine": "mine.npz",
    }
