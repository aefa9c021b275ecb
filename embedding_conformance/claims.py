"""The catalogue of claims: load it, validate it, find the tests that name its claims.

Nothing here imports the suites, so that listing claims costs no PyTorch and no NumPy.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from . import home
from .errors import UsageError, nearest, said

ID = re.compile(r"[A-Z]+-\d{2}")
DOCUMENT_SOURCE = re.compile(r"(?P<document>\d{3}):(?P<first>\d+)(?:-(?P<last>\d+))?")
ALIAS = re.compile(r"(?:^|[\s\[,{:-])\*[^\s*]", re.MULTILINE)
REPORT_SOURCE = re.compile(r"[\w.-]+/[\w.-]+#\d+")
# Chapters without claims: the harness's own tests and the benchmarks are not part of the specification.
NOT_CHAPTERS = {"harness", "benchmarks"}

ClaimId = Annotated[str, Field(pattern=rf"^{ID.pattern}$")]


class Statement(BaseModel):
    """What a claim says, in the two languages of the documents' readers."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    en: Annotated[str, Field(min_length=1)]
    zh: Annotated[str, Field(min_length=1)]


class Claim(BaseModel):
    """One checkable statement. `chapter` is the folder that it was read from."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: ClaimId
    says: Statement
    level: Literal["must", "informative"] = "must"
    why: str = ""
    source: Annotated[list[str], Field(min_length=1)]
    kind: Literal["exact", "numeric", "shape", "learned", "config", "conceptual"]
    needs: list[str] = []
    requires: dict[str, Any] = {}
    domain: str = ""
    after: list[ClaimId] = []
    bound: Literal["exact", "rounding", "network", "statistical", "order"] = "exact"
    proxy: list[ClaimId] = []
    aliases: list[ClaimId] = []
    #: whether threads run in its tests, so that what it catches besides its own faults hangs on their timing
    races: bool = False
    note: str = ""
    chapter: str = ""

    @model_validator(mode="after")
    def _is_complete(self) -> Claim:
        if (self.level == "informative") != bool(self.why):
            raise ValueError("an informative claim, and no other, says `why` it cannot be executed")
        for source in self.source:
            if not (DOCUMENT_SOURCE.fullmatch(source) or REPORT_SOURCE.fullmatch(source)):
                raise ValueError(f'source "{source}" is neither DOCUMENT:LINE[-LINE] nor owner/repo#number')
        for need in self.needs:
            if not re.fullmatch(r"[a-z_]+\.[a-z_]+", need):
                raise ValueError(f'need "{need}" is not FACET.METHOD')
        return self

    def words(self) -> str:
        """Everything that a search by word looks at."""
        return " ".join([self.id, *self.aliases, self.chapter, self.says.en, self.says.zh, self.note]).lower()


@dataclass(frozen=True)
class TestPlace:
    """A test function that names claims: where it stands and what its docstring says."""

    __test__ = False
    claims: tuple[str, ...]
    path: Path
    line: int
    name: str
    says: str


class Catalogue:
    """All claims, by id and in order."""

    def __init__(self, claims: list[Claim], version: int = 0):
        self.version = version
        self._claims = {claim.id: claim for claim in claims}

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims.values())

    def __len__(self) -> int:
        return len(self._claims)

    def __contains__(self, claim_id: str) -> bool:
        return claim_id in self._claims

    def __getitem__(self, claim_id: str) -> Claim:
        return self._claims[claim_id]

    def resolve(self, claim_id: str) -> Claim | None:
        """The claim with this id or with this id as an alias (ids of merged claims stay valid)."""
        return self._claims.get(claim_id) or next((c for c in self if claim_id in c.aliases), None)

    def chapters(self) -> list[str]:
        return list(dict.fromkeys(claim.chapter for claim in self))

    def citing(self, document: str, line: int) -> list[Claim]:
        """The claims that cite a line of a document."""
        return [claim for claim in self if any(covers(source, document, line) for source in claim.source)]


def covers(source: str, document: str, line: int) -> bool:
    """Whether a source such as ``002:86-90`` covers a line of a document."""
    found = DOCUMENT_SOURCE.fullmatch(source)
    if not found or found["document"] != document:
        return False
    return int(found["first"]) <= line <= int(found["last"] or found["first"])


def suites() -> Path:
    """The folder of the specification."""
    return home() / "suites"


def chapter_folders(root: Path) -> list[Path]:
    """The folders of the chapters that have claims, in alphabetical order."""
    return sorted(path.parent for path in root.glob("*/claims.yaml") if path.parent.name not in NOT_CHAPTERS)


def load(root: Path | None = None) -> Catalogue:
    """Read and validate every ``claims.yaml`` below `root`.

    Raises `UsageError` that names file, claim and key for an unknown key, a duplicate id, or an `after` or `proxy` that
    names no claim.
    """
    root = root or suites()
    claims: list[Claim] = []
    for folder in chapter_folders(root):
        claims += _read(folder / "claims.yaml", folder.name)
    _check_references(claims)
    about = read_yaml(root / "catalogue.yaml")
    if not isinstance(about, dict) or not isinstance(about.get("version"), int):
        raise UsageError(f"{root / 'catalogue.yaml'}: expected `version:` and a whole number")
    return Catalogue(claims, about["version"])


def read_yaml(path: Path) -> Any:
    """Parse a YAML file. A syntax error, a file that is not there and one with aliases is a `UsageError` that says where.

    A hundred lines of aliases can stand for more than any memory holds.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = path.read_text(encoding="utf-8")
        # A parser's word is asked for only where the text looks like it, since that costs as much as reading the file.
        aliases = ALIAS.search(text) and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader))
        if not aliases:
            return yaml.load(text, Loader=loader)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    # A date that is none is a ValueError, and what is nested too deeply a RecursionError.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not valid YAML: {said(error)}") from error
    raise UsageError(f"{path}: aliases such as *name are not read here; write what they stand for")


def _read(path: Path, chapter: str) -> list[Claim]:
    entries = read_yaml(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{path}: expected a list of claims")
    claims = []
    for number, entry in enumerate(entries, 1):
        name = entry.get("id", f"entry {number}")
        try:
            claims.append(Claim.model_validate(entry | {"chapter": chapter}))
        except ValidationError as error:
            raise UsageError(f"{path}: claim {name}: {_explain(error)}") from error
    return claims


def _explain(error: ValidationError) -> str:
    problem = error.errors()[0]
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f'unknown key "{key}"{nearest(key, Claim.model_fields)}'
    if problem["type"] == "missing":
        return f'the key "{key}" is missing'
    return f"{key}: {problem['msg']}" if key else problem["msg"].removeprefix("Value error, ")


def _check_references(claims: list[Claim]) -> None:
    known: dict[str, str] = {}
    for claim in claims:
        for claim_id in (claim.id, *claim.aliases):
            if claim_id in known:
                raise UsageError(f"claim {claim_id} stands twice: in {known[claim_id]} and in {claim.chapter}")
            known[claim_id] = claim.chapter
    real = {claim.id for claim in claims}
    for claim in claims:
        for key in ("after", "proxy"):
            for other in getattr(claim, key):
                if other not in real or other == claim.id:
                    raise UsageError(f'claim {claim.id}: {key} names "{other}", which is no other claim'
                                     + nearest(other, real))
    _check_cycles({claim.id: [*claim.after, *claim.proxy] for claim in claims})


def _check_cycles(edges: dict[str, list[str]]) -> None:
    state: dict[str, str] = {}

    def visit(claim_id: str, path: tuple[str, ...]) -> None:
        if state.get(claim_id) == "open":
            raise UsageError(f"claims rest on each other in a circle: {' -> '.join([*path, claim_id])}")
        if claim_id in state:
            return
        state[claim_id] = "open"
        for other in edges[claim_id]:
            visit(other, (*path, claim_id))
        state[claim_id] = "done"

    for claim_id in edges:
        visit(claim_id, ())


@cache
def test_places(root: Path | None = None) -> tuple[TestPlace, ...]:
    """Every test function below `root` that carries ``@pytest.mark.claim``, read from the source without importing it."""
    places = []
    for folder in chapter_folders(root or suites()):
        for path in sorted(folder.glob("test_*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    says = (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
                    places.append(TestPlace(_marked(node), path, node.lineno, node.name, says))
    return tuple(places)


def _marked(node: ast.FunctionDef) -> tuple[str, ...]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.claim":
            return tuple(arg.value for arg in decorator.args
                         if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
    return ()


def check_traced(catalogue: Catalogue, root: Path | None = None) -> None:
    """Refuse a test that names no claim, more than three or an unknown one, and a claim that nothing accounts for."""
    tested: set[str] = set()
    for place in test_places(root):
        where = f"{place.path.parent.name}/{place.path.name}:{place.line} {place.name}"
        if not 1 <= len(place.claims) <= 3:
            raise UsageError(f"{where} names {len(place.claims)} claims; a test names one to three")
        for claim_id in place.claims:
            if claim_id not in catalogue:
                raise UsageError(f'{where} names "{claim_id}", which is no claim'
                                 + nearest(claim_id, [c.id for c in catalogue]))
        tested.update(place.claims)
    for claim in catalogue:
        ways = [claim.id in tested, bool(claim.proxy), claim.level == "informative"]
        if not any(ways):
            raise UsageError(f"claim {claim.id} has no test, no proxy and no reason why it cannot be executed")
        if sum(ways) > 1:
            raise UsageError(f"claim {claim.id}: a test, a proxy and `informative` exclude each other")
