import pytest

from gvdn.errors import InvalidInput
from gvdn.study import load_spec

GOOD = {"title": '"t"', "datasets": '["debian"]', "seeds": "[0]", "methods": '["mlp"]'}


def refusal(folder, **changes: str) -> str:
    lines = [f"{name} = {value}" for name, value in (GOOD | changes).items()]
    (folder / "mine.toml").write_text("\n".join(lines))
    with pytest.raises(InvalidInput, match=r"mine.toml: ") as refused:
        load_spec(folder / "mine.toml")
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("title", "7", "expected text as title of the spec, got 7"),
        ("about", "[]", "expected text as about of the spec, got []"),
        ("seeds", "[0, 1.5]", "expected a whole number as seeds of the spec[1], got 1.5"),
        ("seeds", "[true]", "expected a whole number as seeds of the spec[0], got True"),
        ("seeds", '"01"', "expected a list as seeds of the spec, got '01'"),
        ("seeds", "[[0]]", "expected a whole number as seeds of the spec[0], got [0]"),
        ("datasets", "[3]", "expected text as datasets of the spec[0], got 3"),
        ("datasets", '"debian"', "expected a list as datasets of the spec, got 'debian'"),
        ("methods", "[4294967297]", "expected text as methods of the spec[0], got 4294967297"),
        ("published", "3", "expected a table as published of the spec, got 3"),
        ("published", "{mine = 3}", "expected a table as published of the spec['mine'], got 3"),
        ("notes", "{accuracy = 3}", "expected text as notes of the spec['accuracy'], got 3"),
        ("order", '"first"', "expected a whole number as order of the spec, got 'first'"),
        ("common", "{modes = 3}", "expected a list as modes of a row, got 3"),
        ("row", '["gvdn"]', "expected a table as row of the spec[0], got 'gvdn'"),
        ("row", "[{method = 3}]", "expected text as method of a row, got 3"),
        ("row", '[{method = "gcn", settings = 3}]', "expected a table as settings of a row, got 3"),
        ("row", '[{method = "gcn", settings = {a = [1]}}]', "true or false as settings of a row['a'], got [1]"),
        ("row", '[{method = "gcn", split = {train = 1979-05-27}}]', "true or false as split of a row['train']"),
        ("row", '[{method = "gcn", modes = [3]}]', "expected text as modes of a row[0], got 3"),
        ("row", '[{methods = "gcn"}]', "expected a list as methods of a row, got 'gcn'"),
        ("row", "[{methods = []}]", "expected a method or a list of methods in a row, got {'methods': []}"),
        ("row", '[{method = "gcn", methods = ["mlp"]}]', "expected a method or a list of methods in a row, got {"),
        ("row", f"[{{methods = {['gcn'] * 2000}}}]", "expected at most 1,000 rows in the spec, got 2,001"),
        ("sweep", '{setting = "epochs"}', "expected values in a sweep, got setting"),
        ("sweep", '{setting = "epochs", values = 3}', "expected a list as values of a sweep, got 3"),
        ("sweep", '{setting = "epochs", values = [1], of = "label"}', "expected a sweep of settings or"),
        ("methods", f"{['gcn'] * 2000}", "expected at most 1,000 rows in the spec, got 2,000; make two specs of it"),
        ("title", "inf", "'inf' is no finite number"),
        ("seeds", "[]", "expected at least one seed as seeds of the spec, got none; write for example [0, 1, 2]"),
        ("seeds", "[0, -1]", "expected seeds of at least 0 as seeds of the spec, got -1; give another one"),
        ("seeds_on", "{debian = []}", "expected at least one seed as seeds_on.'debian' of the spec, got none"),
        ("seeds_on", "{debian = [-7]}", "expected seeds of at least 0 as seeds_on.'debian' of the spec, got -7"),
        ("datasets", "[]", "expected at least one dataset in the spec, got none; name one, or a folder of tables"),
        ("modes", '["evasionn"]', "unknown mode 'evasionn'; did you mean 'evasion'? known: 'clean', 'evasion',"),
        ("modes", '["evasionn"]', "'recovered', 'recovered, withheld', 'new', 'recovered, new'"),
        ("row", '[{method = "gcn", modes = ["q"]}]', "unknown mode 'q'; known: 'clean'"),
    ],
)
def test_a_field_of_another_kind_is_named(name, value, sentence, tmp_path):
    assert sentence in refusal(tmp_path, **{name: value})


def test_a_spec_with_all_of_its_fields_is_read(tmp_path):
    whole = GOOD | {
        "about": '"why"',
        "left_out": '"no"',
        "xlabel": '"x"',
        "order": "3",
        "notes": '{accuracy = "in per cent"}',
        "published": "{debian = {mlp = [82.0, 1.5]}}",
        "common": '{modes = ["clean"]}',
        "row": '[{method = "gcn", settings = {epochs = 3}, sweep = {setting = "hidden", values = [8, 16]}}]',
    }
    (tmp_path / "mine.toml").write_text("\n".join(f"{name} = {value}" for name, value in whole.items()))
    spec = load_spec(tmp_path / "mine.toml")
    assert [row.label for row in spec.rows] == ["mlp", "gcn, hidden 8", "gcn, hidden 16"]
    assert spec.rows[2].settings == {"epochs": 3, "hidden": 16}
    assert (spec.order, spec.xlabel, spec.notes, spec.seeds) == (3, "x", {"accuracy": "in per cent"}, (0,))
    assert spec.published == {"debian": {"mlp": [82.0, 1.5]}}


def test_what_is_no_file_is_refused(tmp_path):
    for name, target in (("endless", "/dev/zero"), ("folder", "."), ("loop", "loop.toml")):
        (tmp_path / f"{name}.toml").symlink_to(target)
        with pytest.raises(InvalidInput, match=rf"{name}.toml: not a TOML file"):
            load_spec(tmp_path / f"{name}.toml")
    with pytest.raises(InvalidInput, match=r"there is no file .*none.toml; give a .toml file"):
        load_spec(tmp_path / "none.toml")


def test_a_row_with_several_methods_is_a_row_for_each(tmp_path):
    head = "\n".join(f"{name} = {value}" for name, value in GOOD.items() if name != "methods")
    rest = 'group = "g", modes = ["clean"], settings = {epochs = 3}, datasets = ["debian"]'
    specs = []
    for rows in (f'{{methods = ["gcn", "mlp"], {rest}}}', f'{{method = "gcn", {rest}}}, {{method = "mlp", {rest}}}'):
        (tmp_path / "mine.toml").write_text(f"{head}\nrow = [{rows}]\n")
        specs.append(load_spec(tmp_path / "mine.toml"))
    assert specs[0] == specs[1]
    assert [row.method for row in specs[0].rows] == ["gcn", "mlp"]


def test_a_dataset_may_have_seeds_of_its_own(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'title = "t"\ndatasets = ["debian", "cora"]\nseeds = [0, 1]\nmethods = ["mlp"]\nseeds_on = { cora = [5] }\n'
    )
    spec = load_spec(tmp_path / "mine.toml")
    assert [(cell.dataset, cell.seed) for cell, _ in spec.tasks()] == [("debian", 0), ("debian", 1), ("cora", 5)]
    assert [(cell.dataset, cell.seed) for cell, _ in spec.tasks(seeds=[1, 5])] == [("debian", 1), ("cora", 5)]
    assert list(spec.tasks(seeds=[7])) == []


def test_seeds_of_a_graph_that_the_spec_does_not_have_are_refused(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'title = "t"\ndatasets = ["debian"]\nseeds = [0]\nmethods = ["mlp"]\nseeds_on = { cora = [5] }\n'
    )
    with pytest.raises(InvalidInput, match=r"mine.toml: expected datasets of the spec in seeds_on, got 'cora'"):
        load_spec(tmp_path / "mine.toml")


def test_a_graph_has_at_least_one_seed_and_each_once(tmp_path):
    text = 'title = "t"\ndatasets = ["debian"]\nseeds = [1, 0, 1]\nmethods = ["mlp"]\nseeds_on = { debian = %s }\n'
    (tmp_path / "mine.toml").write_text(text % "[3, 2, 3]")
    spec = load_spec(tmp_path / "mine.toml")
    assert (spec.seeds, spec.seeds_of("debian")) == ((1, 0), (3, 2))
    (tmp_path / "mine.toml").write_text(text % "[]")
    with pytest.raises(InvalidInput, match="seeds_on"):
        load_spec(tmp_path / "mine.toml")
