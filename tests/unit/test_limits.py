import os
from pathlib import Path

import pytest

from gvdn.errors import LONGEST, GvdnError, InvalidInput
from gvdn.limits import most_bytes, read_bytes, require_file, short


def test_the_limit_is_a_gibibyte_unless_the_environment_says_another(monkeypatch):
    monkeypatch.delenv("GVDN_MAX_BYTES", raising=False)
    assert most_bytes() == 1 << 30
    monkeypatch.setenv("GVDN_MAX_BYTES", "17")
    assert most_bytes() == 17
    for nonsense in ("", "a lot", "-1", "1.5", "²"):
        monkeypatch.setenv("GVDN_MAX_BYTES", nonsense)
        assert most_bytes() == 1 << 30


def test_a_file_as_large_as_the_limit_is_read_and_a_larger_one_is_not(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"12345")
    assert read_bytes(tmp_path / "a", 5) == b"12345"
    with pytest.raises(OSError, match="expected at most 4 bytes, got 5; if you trust the file, set GVDN_MAX_BYTES"):
        read_bytes(tmp_path / "a", 4)
    monkeypatch.setenv("GVDN_MAX_BYTES", "4")
    with pytest.raises(OSError, match="expected at most 4 bytes, got 5"):
        read_bytes(tmp_path / "a")


def test_a_file_that_says_it_is_empty_is_not_read_beyond_the_limit():
    """The files of /proc are regular and have no size."""
    with pytest.raises(OSError, match="expected at most 10 bytes, got 11"):
        read_bytes(Path("/proc/self/status"), 10)


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/null", ".."])
def test_what_is_no_regular_file_is_not_opened(tmp_path, target):
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(OSError, match="it is no regular file"):
        require_file(tmp_path / "link")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is no regular file"):
        read_bytes(tmp_path / "pipe")


def test_long_values_are_quoted_in_part():
    assert short("abc") == "'abc'"
    assert short("x" * 100_000) == "'" + "x" * 56 + "..."
    assert len(short(list(range(10_000)))) == 60
    assert short(b"ab") == "b'ab'"


def test_a_message_is_cut_in_its_middle_so_that_its_start_and_the_way_out_stay():
    told = str(InvalidInput("a.csv: no node " + "x" * 100_000 + "; add the node"))
    assert len(told) <= LONGEST + 10
    assert told.startswith("a.csv: no node x")
    assert told.endswith("x; add the node")
    assert str(GvdnError("short")) == "short"
