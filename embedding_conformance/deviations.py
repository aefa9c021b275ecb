"""Known failures that a user accepts, each bound to a claim and a reason.

In a YAML file, or as a dictionary in Python, claim id -> reason, or -> a mapping, or -> a list of these:

    LOOKUP-08: negative ids wrap, by design
    FIELD-03:
      because: ONNX Runtime takes int8 ranges from the whole batch; we serve one text at a time
      issue: acme/search#412
      until: 2027-03-31     # the last day, in UTC
      match: batch of 32    # words of the failure's message; another failure is not accepted
      case: test_alone      # part of a check's name; other checks are not accepted
      subject: onnx:build   # the one subject that it is about

Reading a file refuses what is not meant: unknown and repeated keys, empty reasons, YAML's references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from .claims import Catalogue
from .errors import UsageError, nearest, printable

#: what may stand in an entry
KEYS = ("because", "issue", "until", "match", "case", "subject")
#: a mapping of lists of mappings; nothing of a file is nested deeper
DEPTH = 3


class Deviation(BaseModel):
    """One accepted failure of the claim `claim`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    claim: str
    because: str
    issue: str = ""
    until: date | None = None
    match: str = ""
    case: str = ""
    subject: str = ""
    #: where it was written
    origin: str = ""
    #: why no failure can be accepted under this id; empty for a claim that is judged by its own tests
    unknown: str = ""

    @field_validator("because", "match", "case", "subject", "issue")
    @classmethod
    def _in_one_line(cls, text: str) -> str:
        return " ".join(text.split())

    @field_validator("because")
    @classmethod
    def _has_a_reason(cls, text: str) -> str:
        if not text:
            raise ValueError("it has no reason: write why this failure is accepted")
        return text

    def about(self, claim_id: str, subject: str) -> bool:
        """Whether it is about this claim on this subject."""
        return claim_id == self.claim and self.subject in ("", subject)

    def covers(self, result: Mapping[str, Any]) -> bool:
        """Whether it is about this check, however that ended."""
        return self.case in result.get("nodeid", "")

    def matches(self, result: Mapping[str, Any]) -> bool:
        """Whether it accepts the failure of a check that it is about."""
        return self.match in " ".join(result["message"].split())

    def ended(self, today: str) -> bool:
        """Whether its last day is before `today`, an ISO date; on an unknown day nothing has ended."""
        return bool(self.until and today and self.until.isoformat() < today)

    def shown(self) -> str:
        """What a reader is told of it."""
        last = f" until {self.until.isoformat()}" if self.until else ""
        return f"accepted{last}: {self.because}{f' ({self.issue})' if self.issue else ''}"


def read(path: Path, catalogue: Catalogue) -> tuple[Deviation, ...]:
    """The entries of a file. Raises `UsageError` with file and line for what is wrong in it."""
    try:
        text = path.read_text(encoding="utf-8")
        _check_events(path, text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: it is not in UTF-8") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UsageError(f"{path}:{mark.line + 1 if mark else 1}: not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    except (ValueError, OverflowError) as error:  # PyYAML does not check what "\U7FFFFFFF" is
        raise UsageError(f"{path}: not valid YAML: an escape that is no character ({error})") from error
    if root is None:
        return ()
    if not isinstance(root, yaml.MappingNode):
        raise UsageError(f"{path}:{_line(root)}: expected lines such as LOOKUP-08: the reason")
    return tuple(_read_entry(path, claim, one, catalogue) for claim, node in _pairs(path, root)
                 for one in (node.value if isinstance(node, yaml.SequenceNode) and node.value else [node]))


def _read_entry(path: Path, claim: str, node: yaml.Node, catalogue: Catalogue) -> Deviation:
    nodes = dict(_pairs(path, node)) if isinstance(node, yaml.MappingNode) else {"because": node}

    def place(key: str) -> str:
        return f"{path}:{_line(nodes.get(key, node))}"

    fields = {key: _scalar(path, claim, key, one) if key in KEYS else "" for key, one in nodes.items()}
    return _entry(claim, fields, place, catalogue)


def from_mapping(values: Any, where: str, catalogue: Catalogue) -> tuple[Deviation, ...]:
    """The entries of a dictionary in Python; `where` opens the messages. Raises `UsageError`."""
    if not isinstance(values, Mapping):
        raise UsageError(f'{where}: expected a dictionary such as {{"LOOKUP-08": "the reason"}}, not {type(values).__name__}')
    found = []
    for claim, value in values.items():
        for one in value if isinstance(value, (list, tuple)) and value else [value]:
            fields = dict(one) if isinstance(one, Mapping) else {"because": one}
            found.append(_entry(str(claim), fields, lambda key: where, catalogue))
    return tuple(found)


def _entry(claim: str, fields: dict[str, Any], place: Callable[[str], str], catalogue: Catalogue) -> Deviation:
    for key in fields.keys() - set(KEYS):
        raise UsageError(f'{place(key)}: {claim}: unknown key "{key}"{nearest(str(key), KEYS) or f"; there are {_listed()}"}')
    if isinstance(until := fields.get("until"), str) and until:
        try:
            fields["until"] = date.fromisoformat(until)
        except ValueError as error:
            raise UsageError(f'{place("until")}: {claim}: until is "{until}", and must be a date such as 2027-03-31') from error
    given = {key: value for key, value in fields.items() if value is not None and not (isinstance(value, str) and not value)}
    known = catalogue.resolve(claim)
    try:
        return Deviation(claim=known.id if known else claim, because=given.pop("because", ""), **given,
                         origin=place(""), unknown=_why_unknown(claim, catalogue))
    except ValidationError as error:
        problem = error.errors()[0]
        key = str(problem["loc"][0])
        said = problem["msg"].removeprefix("Value error, ")
        said = said if problem["type"] == "value_error" else f"{key} is {printable(repr(fields[key]), 80)}, and must be " \
            f"{'a date' if key == 'until' else 'text'}"
        raise UsageError(f"{place(key)}: {claim}: {said}") from error


def _why_unknown(claim_id: str, catalogue: Catalogue) -> str:
    claim = catalogue.resolve(claim_id)
    if claim is None:
        return f"names no claim{nearest(claim_id, [one.id for one in catalogue])}"
    if claim.level == "informative":
        return "is a claim that no check judges"
    return f"has no check of its own; it takes its verdict from {', '.join(claim.proxy)}" if claim.proxy else ""


def _check_events(path: Path, text: str) -> None:
    """Before anything is built, refuse tags, references (which make a small file large) and nesting that means nothing here."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise UsageError(f"{path}:{_line(event)}: references (*{event.anchor}) are not read here; write it out")
        if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)) and event.tag:
            raise UsageError(f"{path}:{_line(event)}: tags ({event.tag}) are not read here")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEPTH:
            raise UsageError(f"{path}:{_line(event)}: nested too deep; an entry holds {_listed()}")


def _pairs(path: Path, mapping: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node]]:
    seen: dict[str, int] = {}
    for key, value in mapping.value:
        if not isinstance(key, yaml.ScalarNode):
            raise UsageError(f"{path}:{_line(key)}: a key must be a word")
        if key.value in seen:
            raise UsageError(f"{path}:{_line(key)}: {key.value} stands twice, first on line {seen[key.value]} "
                             "(several entries of one claim are a list below it)")
        seen[key.value] = _line(key)
        yield key.value, value


def _scalar(path: Path, claim: str, key: str, node: yaml.Node) -> Any:
    """A value as text. What YAML takes for a number or a truth value is no reason, and so refused."""
    kind = node.tag.removeprefix("tag:yaml.org,2002:")
    if kind == "null":
        return ""
    if isinstance(node, yaml.ScalarNode) and (kind == "str" or (kind == "timestamp" and key == "until")):
        return node.value
    said = f'is "{node.value}"' if isinstance(node, yaml.ScalarNode) else "is a list or a mapping"
    wanted = "a date such as 2027-03-31" if key == "until" else "text; put it in quotes if it is"
    raise UsageError(f"{path}:{_line(node)}: {claim}: {key} {said}, and must be {wanted}")


def _line(place: yaml.Node | yaml.Event) -> int:
    return place.start_mark.line + 1 if place.start_mark else 1


def _listed() -> str:
    return ", ".join(KEYS)
