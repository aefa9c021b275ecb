"""Faults that are in current releases of the libraries, each with its smallest input.

When a release mends one, its test fails: the fault then moves to the registered faults of a chapter.
"""

from pathlib import Path

import numpy as np
import pytest

from embedding_conformance.subjects import open_subject

LIVE = Path(__file__).with_name("live")


def name_of(place):
    return f"python:{LIVE / place}"


def source_of(place):
    return open_subject(name_of(place)).facet("layer")


def column(*numbers):
    return np.array(numbers, np.float32)[:, None]


@pytest.mark.parametrize(("ids", "row", "found"), [([1, 1, 3], 3, 0.5), ([3, 1, 1], 3, 0.5), ([1, 3, 1], 3, 0.5),
                                                   ([0, 0, 0, 2], 2, 1 / 3)])
def test_frequency_scale_of_a_bag_uses_the_count_of_another_id(ids, row, found):
    layer = source_of("embedding_bag_scale.py:Layer").make(np.zeros((5, 1), np.float32))
    ids = np.array(ids)
    gradient = layer.gradient(ids, np.ones((len(ids), 1), np.float32))
    exact = np.bincount(ids, minlength=5)
    assert np.flatnonzero(gradient[:, 0] != exact).tolist() == [row]
    assert gradient[row, 0] == pytest.approx(found)


@pytest.mark.parametrize("ids", [[1, 1], [0, 1, 3]])
def test_frequency_scale_of_a_bag_is_right_where_all_counts_are_equal(ids):
    layer = source_of("embedding_bag_scale.py:Layer").make(np.zeros((5, 1), np.float32))
    gradient = layer.gradient(np.array(ids), np.ones((len(ids), 1), np.float32))
    assert np.array_equal(gradient[:, 0], np.bincount(ids, minlength=5))


@pytest.mark.parametrize(("place", "small"), [("half_repeats.py:BFloat16", 2.0**-8), ("half_repeats.py:Float16", 2.0**-11)])
def test_half_formats_lose_small_gradients_of_repeated_ids(place, small):
    layer = source_of(place).make(np.zeros((3, 1), np.float32))
    gradient = layer.gradient(np.array([1, 1, 1]), column(1, small, small))
    # Both formats hold the exact sum, 1 + 2 small.
    assert gradient[1, 0] == 1
    assert layer.gradient(np.array([1, 1]), column(1, 2 * small))[1, 0] == 1 + 2 * small


@pytest.mark.parametrize("place", ["half_repeats.py:BFloat16", "half_repeats.py:Float16"])
def test_half_formats_stop_counting(place):
    layer = source_of(place).make(np.zeros((3, 1), np.float32))
    stop = {"BFloat16": 256, "Float16": 2048}[place.partition(":")[2]]
    repeated = np.ones(2 * stop, np.int64)
    assert layer.gradient(repeated, np.ones((len(repeated), 1), np.float32))[1, 0] == stop


def test_padding_minus_one_freezes_the_last_token():
    layer = source_of("negative_padding.py:Layer").default()
    gradient = layer.gradient(np.array([10, 9]), np.ones((2, 8), np.float32))
    assert layer.embedding.padding_idx == 10
    assert not layer.table()[10].any()
    assert not gradient[10].any()
    assert (gradient[9] == 1).all()


def test_a_single_id_gives_a_view_of_the_table():
    layer = source_of("view_of_scalar_lookup.py:Layer").make(np.zeros((3, 2), np.float32))
    layer.lookup(np.array([1]))[:] = 5
    assert not layer.table().any()
    layer.lookup(np.array(1))[:] = 5
    assert layer.table()[1].tolist() == [5, 5]


def test_their_lookups_are_sound(command):
    """What is wrong with them is nothing that a lookup shows."""
    places = ["embedding_bag_scale.py:Layer", "half_repeats.py:BFloat16", "half_repeats.py:Float16",
              "negative_padding.py:Layer", "view_of_scalar_lookup.py:Layer"]
    done = command("check", *map(name_of, places), "-k", "LOOKUP-01 or LOOKUP-02 or LOOKUP-04")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "claims=3 verified=3" in done.stdout


@pytest.mark.parametrize(("place", "claim"), [
    ("embedding_bag_scale.py:Layer", "GRAD-02"), ("half_repeats.py:BFloat16", "GRAD-02"),
    ("half_repeats.py:Float16", "GRAD-02"), ("negative_padding.py:Layer", "GRAD-05")])
def test_the_suites_refute_them(command, place, claim):
    done = command("check", name_of(place), "-k", claim)
    assert done.returncode == 1
    assert any(line.startswith("REFUTED") and claim in line for line in done.stdout.splitlines())
