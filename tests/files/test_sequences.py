"""Files of a sequence: their names, and that they appear all or not at all."""

import pytest

from seminorm.files.sequences import sequence_paths, whole_sequence


def test_names(tmp_path):
    times = [0.0, 0.25, 1.0]
    for name, expected in {
        "m_{}.ply": ["m_0.ply", "m_1.ply", "m_2.ply"],
        "m_{:03d}.ply": ["m_000.ply", "m_001.ply", "m_002.ply"],
        "{time:.2f}.obj": ["0.00.obj", "0.25.obj", "1.00.obj"],
    }.items():
        assert [path.name for path in sequence_paths(tmp_path / name, times)] == expected
    assert [path.name for path in sequence_paths(tmp_path, times, ".obj")] == [f"frame_00{k}.obj" for k in range(3)]
    assert sequence_paths(tmp_path / "one.ply", [0.5]) == [tmp_path / "one.ply"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("m.ply", "would both be written to"),
        ("m_{time:.0f}.ply", "times 0 and 0.25 would both"),
        ("m_{name}.ply", r"\{name\}: \{:03d\} stands for the number"),
        ("m_{:z}.ply", "no name with places for numbers"),
        ("m_{.ply", "no name with places for numbers"),
    ],
)
def test_names_that_do_not_do(tmp_path, name, message):
    with pytest.raises(ValueError, match=message):
        sequence_paths(tmp_path / name, [0.0, 0.25, 1.0])


def test_all_or_none(tmp_path):
    paths = [tmp_path / f"{k}.txt" for k in range(2)]
    paths[0].write_text("old")
    with pytest.raises(KeyboardInterrupt), whole_sequence(paths) as temporary:
        temporary[0].write_text("new")
        raise KeyboardInterrupt
    assert paths[0].read_text() == "old" and list(tmp_path.iterdir()) == paths[:1]
    with whole_sequence(paths) as temporary:
        for path in temporary:
            path.write_text("new")
    assert [path.read_text() for path in paths] == ["new", "new"] and len(list(tmp_path.iterdir())) == 2
