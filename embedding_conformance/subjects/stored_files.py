"""Readers of files of vectors: each opens by the header alone, and gives the rows in blocks."""

from __future__ import annotations

import json
import mmap
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..errors import NoVerdict, UsageError, nearest
from . import require_installed

#: what one block holds, in bytes: small enough for a processor's cache, large enough to make NumPy's own cost small
BLOCK = 4 << 20
#: after so many blocks the pages that were read are given back, so that memory stays flat
RELEASE = 2
#: names of formats in a .safetensors header
SAFETENSORS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "bfloat16", "I64": "<i8", "I32": "<i4", "I16": "<i2",
               "I8": "i1", "U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8"}


class Part:
    """One file: how many rows, of which width (None where only reading can tell) and form."""

    path: Path
    count: int
    width: int | None
    form: str
    #: the texts that lie beside the vectors in the same file
    texts: Callable[[], Iterator[str]] | None = None

    def blocks(self) -> Iterator[np.ndarray]:
        """The rows in order, [n, d] a block, in the machine's own byte order."""
        raise NotImplementedError

    def take(self, numbers: np.ndarray) -> list[np.ndarray]:
        """[K] row numbers of this file -> K rows; without a quicker way everything up to the last of them is read."""
        found: dict[int, np.ndarray] = {}
        first, wanted = 0, set(numbers.tolist())
        for block in self.blocks():
            found |= {number: block[number - first].copy() for number in wanted if first <= number < first + len(block)}
            first += len(block)
            if len(found) == len(wanted):
                break
        return [found[number] for number in numbers.tolist()]


class Raw(Part):
    """Numbers that lie in a file as in memory, mapped into it."""

    def __init__(self, path: Path, shape: tuple[int, int], form: str, offset: int, *, fortran: bool = False):
        self.path, (self.count, self.width) = path, shape
        self._stored = np.dtype("<u2" if form == "bfloat16" else form)
        self.form = form if form == "bfloat16" else str(self._stored.newbyteorder("="))
        self._offset = offset
        self._order: Any = "F" if fortran else "C"
        needed = offset + self.count * self.width * self._stored.itemsize
        if path.stat().st_size < needed:
            raise NoVerdict(f"{path}: cut off: {path.stat().st_size:,} bytes of {needed:,}")

    def _mapped(self) -> tuple[mmap.mmap, np.ndarray]:
        with self.path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        assert self.width is not None
        return mapped, np.ndarray((self.count, self.width), self._stored, mapped, self._offset, order=self._order)

    def blocks(self) -> Iterator[np.ndarray]:
        if not self.count:
            return
        mapped, array = self._mapped()
        step, released = rows_of(array), 0
        for number, start in enumerate(range(0, self.count, step)):
            yield self._native(array[start:start + step])
            if number % RELEASE == RELEASE - 1 and self._order == "C":
                end = min(self._offset + (start + step) * array.strides[0], len(mapped)) // mmap.PAGESIZE * mmap.PAGESIZE
                mapped.madvise(mmap.MADV_DONTNEED, released, end - released)
                released = end

    def take(self, numbers: np.ndarray) -> list[np.ndarray]:
        if self._order == "F":
            return list(self._native(self._mapped()[1][numbers]))
        assert self.width is not None
        size, rows = self.width * self._stored.itemsize, []
        with self.path.open("rb", buffering=0) as file:  # around a row that is mapped, up to megabytes are mapped with it
            for number in numbers.tolist():
                file.seek(self._offset + number * size)
                rows.append(np.frombuffer(file.read(size), self._stored))
        return list(self._native(np.stack(rows)))

    def _native(self, block: np.ndarray) -> np.ndarray:
        if self.form == "bfloat16":  # the upper half of a float32
            return (block.astype(np.uint32) << 16).view(np.float32)
        return np.ascontiguousarray(block, self.form)


class Zipped(Part):
    """An array of an .npz, unpacked as it is read."""

    def __init__(self, path: Path, member: str, shape: tuple[int, int], form: np.dtype, fortran: bool):
        self.path, (self.count, self.width), self.form = path, shape, str(form.newbyteorder("="))
        self._member, self._stored, self._fortran = member, form, fortran

    def blocks(self) -> Iterator[np.ndarray]:
        assert self.width is not None
        with zipfile.ZipFile(self.path) as archive, archive.open(self._member) as file:
            header(file, self.path)
            if self._fortran:  # its first row is only whole when all columns were read
                stored = np.frombuffer(file.read(), self._stored).reshape((self.count, self.width), order="F")
                yield np.ascontiguousarray(stored, self.form)
                return
            step = max(1, BLOCK // max(1, self.width * self._stored.itemsize))
            for start in range(0, self.count, step):
                shape = (min(step, self.count - start), self.width)
                data = file.read(shape[0] * shape[1] * self._stored.itemsize)
                yield np.frombuffer(data, self._stored).reshape(shape).astype(self.form, copy=False)


class Parquet(Part):
    """A column of lists in a .parquet, one row group after the other."""

    def __init__(self, path: Path, name: str, file: Any, texts: bool):
        self.path, self.count, self._name = path, file.metadata.num_rows, name
        kind = file.schema_arrow.field(name).type
        self.width, self.form = getattr(kind, "list_size", None), str(kind.value_type).replace("halffloat", "float16")
        self.texts = self._texts if texts else None
        self._groups = np.cumsum([0, *(file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups))])

    def _batches(self, name: str, groups: list[int] | None = None) -> Iterator[Any]:
        import pyarrow.parquet

        step = max(1, BLOCK // max(1, (self.width or 512) * 4))
        with pyarrow.parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(batch_size=step, columns=[name], row_groups=groups):
                yield batch.column(0)

    def _texts(self) -> Iterator[str]:
        for column in self._batches("text"):
            yield from column.to_pylist()

    def blocks(self) -> Iterator[np.ndarray]:
        for column in self._batches(self._name):
            yield from arrays_of(column)

    def take(self, numbers: np.ndarray) -> list[np.ndarray]:
        places = np.searchsorted(self._groups, numbers, side="right") - 1
        found: dict[int, np.ndarray] = {}
        for group in np.unique(places).tolist():
            first = int(self._groups[group])
            for column in self._batches(self._name, [group]):
                for block in arrays_of(column):
                    found |= {number: block[number - first].copy() for number in numbers.tolist()
                              if first <= number < first + len(block)}
                    first += len(block)
        return [found[number] for number in numbers.tolist()]


def arrays_of(column: Any) -> Iterator[np.ndarray]:
    """Lists as arrays [n, d], a new one where the width changes; a list that is missing has the width zero."""
    import pyarrow.compute

    widths = pyarrow.compute.fill_null(pyarrow.compute.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    numbers = column.flatten().to_numpy(zero_copy_only=False)
    breaks = np.flatnonzero(np.diff(widths)) + 1
    place = 0
    for start, stop in zip([0, *breaks.tolist()], [*breaks.tolist(), len(widths)], strict=True):
        width = int(widths[start])
        yield numbers[place:place + (stop - start) * width].reshape(stop - start, width)
        place += (stop - start) * width


def rows_of(array: np.ndarray) -> int:
    """How many rows make a block."""
    return max(1, int(BLOCK // max(1, array.shape[1] * array.itemsize)))


def read_npy(path: Path, column: str) -> Part:
    """One array. Raises `UsageError` for pickled objects, text and anything but two dimensions."""
    if column:
        raise UsageError(f"{path}: an .npy file holds one array, so there is no {column} to pick")
    with path.open("rb") as file:
        shape, fortran, form = header(file, path)
        offset = file.tell()
    return Raw(path, matrix(shape, form, str(path)), form.str, offset, fortran=fortran)


def header(file: IO[bytes], path: Path) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, Fortran order and format of an array in NumPy's own file format; the file is left at the numbers."""
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        return read(file)
    except (ValueError, EOFError) as error:
        raise NoVerdict(f"{path}: no array that NumPy can read: {' '.join(str(error).split())}") from error


def matrix(shape: tuple[int, ...], form: np.dtype, name: str) -> tuple[int, int]:
    """The shape, where it is that of vectors in rows."""
    if form.hasobject:
        raise UsageError(f"{name}: pickled Python objects, which may run code when they are read; save numbers")
    if form.kind not in "fiu":
        raise UsageError(f"{name}: its format is {form}, and vectors are numbers")
    if len(shape) != 2:
        raise UsageError(f"{name}: its shape is {list(shape)}, and vectors are rows: [N, d]")
    return shape[0], shape[1]


def picked(path: Path, column: str, known: dict[str, bool]) -> str:
    """The name of the one that was picked, or of the only one that holds vectors. `known`: name -> whether it may."""
    if column:
        if column not in known:
            raise UsageError(f'{path}: there is no "{column}"{nearest(column, known) or "; there are " + ", ".join(known)}')
        return column
    good = [name for name, fits in known.items() if fits]
    if len(good) > 1:
        raise UsageError(f"{path} holds {len(good)} arrays of vectors; pick one with @: {', '.join(good)}")
    if not good:
        raise UsageError(f"{path}: none of what it holds are rows of numbers: {', '.join(known) or 'it is empty'}")
    return good[0]


def read_npz(path: Path, column: str) -> Part:
    """The array that was picked, or the only one of two dimensions."""
    forms = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                with archive.open(member) as file:
                    forms[member.removesuffix(".npy")] = (*header(file, path), member)
    except zipfile.BadZipFile as error:
        raise NoVerdict(f"{path}: cut off, or no .npz: {error}") from error
    name = picked(path, column, {key: len(shape) == 2 and form.kind in "fiu" for key, (shape, _, form, _) in forms.items()})
    shape, fortran, form, member = forms[name]
    return Zipped(path, member, matrix(shape, form, f"{path}@{name}"), form, fortran)


def read_safetensors(path: Path, column: str) -> Part:
    """The tensor that was picked, or the only one of two dimensions."""
    require_installed("safetensors", "safetensors", f"vectors:{path}")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):  # checks the header against the file
            pass
    except SafetensorError as error:
        raise NoVerdict(f"{path}: cut off, or no .safetensors: {error}") from error
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        tensors = json.loads(file.read(size))
    tensors.pop("__metadata__", None)
    name = picked(path, column, {key: len(one["shape"]) == 2 and one["dtype"] in SAFETENSORS for key, one in tensors.items()})
    one = tensors[name]
    if one["dtype"] not in SAFETENSORS:
        raise UsageError(f"{path}@{name}: its format is {one['dtype']}, and known are {', '.join(SAFETENSORS)}")
    shape = matrix(tuple(one["shape"]), np.dtype("f4"), f"{path}@{name}")
    return Raw(path, shape, SAFETENSORS[one["dtype"]], 8 + size + one["data_offsets"][0])


def read_parquet(path: Path, column: str) -> Part:
    """The column of lists that was picked, or the only one; a column of strings named "text" says what the rows are."""
    require_installed("pyarrow", "parquet", f"vectors:{path}")
    import pyarrow
    import pyarrow.parquet
    from pyarrow import types

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            fields = {field.name: field.type for field in file.schema_arrow}

            def fits(kind: Any) -> bool:
                lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
                return bool(lists and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))

            name = picked(path, column, {key: fits(kind) for key, kind in fields.items()})
            if not fits(fields[name]):
                raise UsageError(f"{path}@{name}: its type is {fields[name]}, and vectors are lists of numbers")
            texts = "text" in fields and (types.is_string(fields["text"]) or types.is_large_string(fields["text"]))
            return Parquet(path, name, file, texts)
    except pyarrow.ArrowException as error:
        raise NoVerdict(f"{path}: cut off, or no .parquet: {' '.join(str(error).split())}") from error


READERS: dict[str, Callable[[Path, str], Part]] = {
    ".npy": read_npy, ".npz": read_npz, ".safetensors": read_safetensors, ".parquet": read_parquet,
}
