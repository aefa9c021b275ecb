"""The scheme ``vectors:``, the pass over a store, and the list of bad rows."""

import json
import struct
import zipfile

import ml_dtypes
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from embedding_conformance.errors import NoVerdict, UsageError
from embedding_conformance.handles import Store
from embedding_conformance.subjects import open_subject
from embedding_conformance.subjects.stored_files import Raw


@pytest.fixture
def rows():
    """[1000, 12] float32, of length one."""
    vectors = np.random.default_rng(5).standard_normal((1000, 12))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def summary(path, **declare):
    return Store(open_subject(f"vectors:{path}", declare)).summary()


def read(path):
    """All rows, joined."""
    return np.concatenate([batch for _, batch in open_subject(f"vectors:{path}").facet("store").batches()])


def save_parquet(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)


def lists(rows, kind=None):
    return pa.array(list(rows) if isinstance(rows, np.ndarray) else rows, kind or pa.list_(pa.float32()))


# --- what is read ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["<f4", ">f4", "<f8", "<f2", ">f2", "i1", "<i2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numpy_files_of_every_form(tmp_path, rows, form, order):
    stored = np.asarray(rows * 100, dtype=form, order=order)
    np.save(tmp_path / "v.npy", stored)
    found = read(tmp_path / "v.npy")
    assert found.dtype.isnative and np.array_equal(found, stored)


def test_many_blocks_give_every_row_once(tmp_path, rows, monkeypatch):
    monkeypatch.setattr("embedding_conformance.subjects.stored_files.BLOCK", 12 * 4 * 7)
    np.save(tmp_path / "v.npy", rows)
    np.savez_compressed(tmp_path / "v.npz", rows)
    for name in ("v.npy", "v.npz"):
        assert np.array_equal(read(tmp_path / name), rows)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_only_matrix_of_an_archive_is_taken(tmp_path, rows, save, order):
    save(tmp_path / "v.npz", ids=np.arange(1000), vectors=np.asarray(rows, order=order))
    assert np.array_equal(read(tmp_path / "v.npz"), rows)
    store = open_subject(f"vectors:{tmp_path}/v.npz").facet("store")
    assert np.array_equal(store.rows(np.array([999, 0, 4, 0])), rows[[999, 0, 4, 0]])


def test_safetensors_without_torch(tmp_path, rows):
    half = rows.astype(ml_dtypes.bfloat16)
    save_file({"a": rows, "b": half, "norms": rows[:, 0].copy()}, tmp_path / "v.safetensors")
    assert np.array_equal(read(f"{tmp_path}/v.safetensors@a"), rows)
    assert np.array_equal(read(f"{tmp_path}/v.safetensors@b"), half.astype(np.float32))
    with pytest.raises(UsageError, match="pick one with @: a, b"):
        open_subject(f"vectors:{tmp_path}/v.safetensors")


def test_parquet_of_several_row_groups(tmp_path, rows):
    columns = {"id": list(range(1000)), "text": [f"text {i}" for i in range(1000)]}
    for name, kind in (("list", pa.list_(pa.float32())), ("fixed", pa.list_(pa.float32(), 12)),
                       ("large", pa.large_list(pa.float64()))):
        path = tmp_path / f"{name}.parquet"
        save_parquet(path, columns | {"v": lists(rows, kind)}, row_group_size=300)
        store = open_subject(f"vectors:{path}").facet("store")
        assert np.array_equal(read(path), rows)
        assert np.array_equal(store.rows(np.array([999, 0, 300, 299, 0])), rows[[999, 0, 300, 299, 0]])
        assert list(store.texts())[:2] == ["text 0", "text 1"]


def test_a_folder_is_one_store_in_the_order_of_names(tmp_path, rows):
    for number, part in enumerate(np.split(rows, [100, 101])):
        np.save(tmp_path / f"part-{number}.npy", part)
    (tmp_path / "README.md").write_text("how they were made")
    assert np.array_equal(read(tmp_path), rows)
    store = open_subject(f"vectors:{tmp_path}").facet("store")
    assert np.array_equal(store.rows(np.array([101, 99, 100, 999])), rows[[101, 99, 100, 999]])
    with pytest.raises(IndexError):
        store.rows(np.array([1000]))


def recording(folder, rows, texts, **about):
    folder.mkdir()
    np.save(folder / "vectors.npy", rows)
    (folder / "texts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts), encoding="utf-8")
    (folder / "recording.json").write_text(json.dumps({"subject": "bundled", **about}), encoding="utf-8")


def test_a_recording_passes_on_what_vectors_show(tmp_path, rows):
    recording(tmp_path / "r", rows, [{"text": "a\u2028b"}, *({"id": i} for i in range(999))],
              declares={"normalized": [True, "modules.json"], "pooling": "mean"})
    subject = open_subject(f"vectors:{tmp_path}/r")
    assert {key: (one.value, one.origin) for key, one in subject.declares.items()} == {"normalized": (True, "recording.json")}
    assert [*subject.facet("store").texts()][:2] == ["a\u2028b", "0"]
    assert "bundled" in subject.title


def test_a_recording_whose_vectors_were_replaced_is_refused(tmp_path, rows):
    recording(tmp_path / "r", rows, [{"id": 1}], sha256={"vectors.npy": "0" * 64})
    with pytest.raises(NoVerdict, match="not the file that was recorded"):
        open_subject(f"vectors:{tmp_path}/r")


def test_a_name_may_hold_an_at_sign(tmp_path, rows):
    np.save(tmp_path / "me@home.npy", rows)
    assert np.array_equal(read(tmp_path / "me@home.npy"), rows)


# --- what is refused --------------------------------------------------------------------------------------------------------


def write(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("name", "array", "said"), [
    ("pickled.npy", np.array([[1, "a"]], dtype=object), "pickled Python objects"),
    ("text.npy", np.array([["a", "b"]]), "its format is <U1"),
    ("complex.npy", np.ones((2, 2), complex), "its format is complex128"),
    ("bool.npy", np.ones((2, 2), bool), "its format is bool"),
    ("fields.npy", np.zeros(3, [("a", "f4")]), "vectors are numbers"),
    ("flat.npy", np.ones(4), r"its shape is \[4\]"),
    ("deep.npy", np.ones((2, 2, 2)), r"its shape is \[2, 2, 2\]"),
    ("pickled.npz", np.array([[1, "a"]], dtype=object), "none of what it holds"),
])
def test_arrays_that_are_no_vectors(tmp_path, name, array, said):
    (np.savez if name.endswith("z") else np.save)(tmp_path / name, array)
    with pytest.raises(UsageError, match=said):
        open_subject(f"vectors:{tmp_path}/{name}")


def test_files_that_cannot_be_read(tmp_path, rows):
    np.save(tmp_path / "v.npy", rows)
    np.savez(tmp_path / "v.npz", rows)
    whole, archive = (tmp_path / "v.npy").read_bytes(), (tmp_path / "v.npz").read_bytes()
    for name, content, said in (("cut.npy", whole[:-1], "cut off: 48,127 bytes of 48,128"),
                                ("head.npy", whole[:20], "no array that NumPy can read"),
                                ("empty.npy", b"", "no array that NumPy can read"), ("empty.npz", b"", "no .npz"),
                                ("cut.npz", archive[:-30], "cut off, or no .npz"),
                                ("huge.npy", whole.replace(b"(1000, 12)", b"(9**9, 12)"), "no array that NumPy can read")):
        with pytest.raises(NoVerdict, match=said):
            open_subject(f"vectors:{write(tmp_path / name, content)}")
    np.save(tmp_path / "none.npy", rows[:0])
    with pytest.raises(NoVerdict, match="holds no vectors"):
        open_subject(f"vectors:{tmp_path}/none.npy")


def test_safetensors_that_cannot_be_read(tmp_path, rows):
    save_file({"a": rows}, tmp_path / "v.safetensors")
    whole = (tmp_path / "v.safetensors").read_bytes()
    for name, content in (("cut", whole[:-1]), ("empty", b""), ("size", struct.pack("<Q", 2**60) + whole[8:])):
        with pytest.raises(NoVerdict, match=r"cut off, or no \.safetensors"):
            open_subject(f"vectors:{write(tmp_path / f'{name}.safetensors', content)}")


def test_parquet_that_holds_no_vectors_or_several(tmp_path, rows):
    two = {"a": lists(rows), "b": lists(rows)}
    save_parquet(tmp_path / "two.parquet", two)
    with pytest.raises(UsageError, match="pick one with @: a, b"):
        open_subject(f"vectors:{tmp_path}/two.parquet")
    assert np.array_equal(read(f"{tmp_path}/two.parquet@b"), rows)
    with pytest.raises(UsageError, match='there is no "c"; there are a, b'):
        open_subject(f"vectors:{tmp_path}/two.parquet@c")
    save_parquet(tmp_path / "words.parquet", {"text": ["a"], "id": [1]})
    with pytest.raises(UsageError, match="none of what it holds are rows of numbers: text, id"):
        open_subject(f"vectors:{tmp_path}/words.parquet")
    with pytest.raises(UsageError, match="vectors are lists of numbers"):
        open_subject(f"vectors:{tmp_path}/words.parquet@text")
    cut = write(tmp_path / "cut.parquet", (tmp_path / "two.parquet").read_bytes()[:-9])
    with pytest.raises(NoVerdict, match=r"cut off, or no \.parquet"):
        open_subject(f"vectors:{cut}")


def test_places_where_nothing_is(tmp_path, rows):
    np.save(tmp_path / "v.npy", rows)
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, said in (("gone.npy", "there is no"), ("v.npy@x", "holds one array"), ("empty", "it holds no file"),
                       ("v.csv", "there is no"), ("*.npy", "name the folder"), ("loop", "there is no"),
                       ("gone.npy@", "write the column")):
        with pytest.raises(UsageError, match=said):
            open_subject(f"vectors:{tmp_path}/{name}")
    write(tmp_path / "v.txt", b"1 2 3")
    with pytest.raises(UsageError, match="the ending is none of"):
        open_subject(f"vectors:{tmp_path}/v.txt")
    np.savez(tmp_path / "w.npz", rows)
    with pytest.raises(UsageError, match=r"\.npy and \.npz files; name one file"):
        open_subject(f"vectors:{tmp_path}")
    with pytest.raises(UsageError, match="it looks like stored vectors: vectors:"):
        open_subject(f"{tmp_path}/v.npy")


def test_an_archive_that_is_damaged_inside_is_found_by_the_pass(tmp_path, rows):
    np.savez(tmp_path / "v.npz", rows)
    with zipfile.ZipFile(tmp_path / "v.npz") as archive:
        place = archive.infolist()[0].header_offset
    content = bytearray((tmp_path / "v.npz").read_bytes())
    content[place + 5000] ^= 0x40
    write(tmp_path / "v.npz", bytes(content))
    with pytest.raises(Exception, match="CRC"):
        summary(tmp_path / "v.npz")


# --- what a pass finds ------------------------------------------------------------------------------------------------------


def test_rows_that_are_missing_or_of_another_size(tmp_path, rows):
    values = [row.tolist() for row in rows[:20]]
    values[3], values[7], values[11] = None, values[7][:5], [*values[11][:4], None, *values[11][5:]]
    save_parquet(tmp_path / "v.parquet", {"v": lists(values)}, row_group_size=6)
    found = summary(tmp_path / "v.parquet")
    assert (found.other_form.ranges, found.not_finite.ranges, found.count) == ([(3, 4), (7, 8)], [(11, 12)], 20)
    assert found.gap is None
    del values[7]
    save_parquet(tmp_path / "w.parquet", {"v": lists(values, pa.list_(pa.float32(), 12))}, row_group_size=6)
    assert summary(tmp_path / "w.parquet").other_form.ranges == [(3, 4)]


def test_a_folder_of_two_widths(tmp_path, rows):
    np.save(tmp_path / "a.npy", rows)
    np.save(tmp_path / "b.npy", rows[:5, :7])
    found = summary(tmp_path)
    assert (found.count, found.other_form.ranges) == (1005, [(1000, 1005)])
    assert "12 float32, 7 float32" in open_subject(f"vectors:{tmp_path}").title


def test_bad_rows_by_kind(tmp_path, rows):
    rows[10] = np.nan
    rows[20:23] = 0
    rows[30, 4] = np.inf
    rows[40, 0] = np.finfo(np.float32).max
    rows[50] *= 1e-30  # not zero, though its square is
    rows[60] *= 1.001
    np.save(tmp_path / "v.npy", rows)
    found = summary(tmp_path / "v.npy", normalized=True)
    assert found.not_finite.ranges == [(10, 11), (30, 31)]
    assert found.zero.ranges == [(20, 23)]
    assert found.saturated.ranges == [(40, 41)]
    assert found.not_unit.ranges == [(10, 11), (20, 23), (30, 31), (40, 41), (50, 51), (60, 61)]
    assert found.not_unit.count == 8
    assert found.zero.examples[0] == "row 20: [0 0 0 0 0 0 ...]"


def test_so_many_bad_rows_that_they_are_only_counted(tmp_path, rows, monkeypatch):
    monkeypatch.setattr("embedding_conformance.streaming.MOST_RANGES", 5)
    rows[::2] = 0
    np.save(tmp_path / "v.npy", rows)
    found = summary(tmp_path / "v.npy")
    assert (len(found.zero.ranges), found.zero.count) == (5, 500)
    assert found.zero.where() == "rows 0, 2, 4, 6 and 496 more"


def test_one_pass_serves_all_tests(tmp_path, rows, monkeypatch):
    np.save(tmp_path / "v.npy", rows)
    passes = []
    blocks = Raw.blocks
    monkeypatch.setattr(Raw, "blocks", lambda self: passes.append(1) or blocks(self))
    subject = open_subject(f"vectors:{tmp_path}/v.npy")
    for _ in range(3):
        Store(subject).summary()
    assert len(passes) == 1


def test_memory_does_not_grow_with_the_number_of_rows(tmp_path):
    """Twice 20,000 rows of 384 numbers: what a pass keeps is the same, and a small part of the file."""
    import tracemalloc

    def kept(count):
        np.save(tmp_path / "v.npy", np.full((count, 384), 0.05, np.float32))
        tracemalloc.start()
        summary(tmp_path / "v.npy")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    small, large = kept(20_000), kept(40_000)
    assert large < 1.1 * small + 50_000
    assert large < 40_000 * 384 * 4 / 4


def test_progress_says_how_far_it_is(tmp_path, rows, monkeypatch):
    monkeypatch.setattr("embedding_conformance.streaming.PACE", 0)
    np.save(tmp_path / "v.npy", rows)
    subject, said = open_subject(f"vectors:{tmp_path}/v.npy"), []
    subject.progress = said.append
    Store(subject).summary()
    assert said[-1].startswith(f"vectors:{tmp_path}/v.npy: 1,000 of 1,000 rows, ") and said[-1].endswith(" a second, 0 s left")


# --- the command ------------------------------------------------------------------------------------------------------------


def test_bad_rows_are_listed_beside_the_report(command, rows):
    rows[10] = np.nan
    rows[20:23] = 0
    np.save(command.folder / "v.npy", rows)
    done = command("check", "vectors:v.npy", "-k", "FIELD-55 or FIELD-56", "--report", "r")
    assert done.returncode == 1
    assert "listed in bad-rows.txt" in done.stdout and "Traceback" not in done.stdout + done.stderr
    lines = [line for line in (command.folder / "r" / "bad-rows.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines == ["10", "20-22"]
    again = command("report", "r/evidence.json", "-o", "again/")
    assert again.returncode == 1
    assert (command.folder / "again" / "bad-rows.txt").read_bytes() == (command.folder / "r" / "bad-rows.txt").read_bytes()
    rows[10], rows[20:23] = rows[11], rows[24:27]
    np.save(command.folder / "v.npy", rows)
    command("check", "vectors:v.npy", "-k", "FIELD-55 or FIELD-56", "--report", "r")
    assert not (command.folder / "r" / "bad-rows.txt").exists()


@pytest.mark.parametrize(("name", "code"), [("gone.npy", 4), ("cut.npy", 7), ("pickled.npy", 4)])
def test_a_refusal_is_one_message(command, rows, name, code):
    np.save(command.folder / "pickled.npy", np.array([[1, "a"]], dtype=object))
    np.save(command.folder / "v.npy", rows)
    write(command.folder / "cut.npy", (command.folder / "v.npy").read_bytes()[:-1])
    done = command("check", f"vectors:{name}", "--report", "r")
    assert done.returncode == code
    assert name in done.stderr and "Traceback" not in done.stdout + done.stderr
