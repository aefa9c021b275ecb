"""The fixtures that the suites use. They live here so that suites can be collected below a user's own test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from . import handles
    from .evidence import Evidence
    from .reference import Reference
    from .subjects import Subject


@pytest.fixture
def evidence(request: pytest.FixtureRequest) -> Evidence:
    """The gateway of this test: every assertion of a suite goes through it."""
    from .baselines import Store
    from .collection import EVIDENCE
    from .evidence import Evidence

    def store() -> Store:
        subject, module = request.getfixturevalue("conformance_subject"), request.node.parent
        return Store(module.source.parent.name, subject.name, module.run.seed, subject.facts,
                     request.getfixturevalue("ndarrays_regression"),
                     write=request.config.getoption("conformance_write_baselines"))

    gateway = request.node.stash[EVIDENCE] = Evidence(store=store, explains=True)
    return gateway


@pytest.fixture
def conformance_subject(request: pytest.FixtureRequest) -> Subject:
    """The one subject of this test."""
    subject: Subject = request.node.parent.run.subject(request.param)
    return subject


@pytest.fixture
def reference(request: pytest.FixtureRequest, conformance_subject: Subject) -> Reference | None:
    """What the subject is compared with; a test that asks for it is run only where there is one."""
    found: Reference | None = request.node.parent.run.reference_of(conformance_subject)
    return found


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of the generated inputs of this run."""
    return int(request.node.parent.run.seed)


def _handle(name: str) -> Any:
    @pytest.fixture
    def fixture(request: pytest.FixtureRequest, conformance_subject: Subject) -> Iterator[handles.Handle]:
        from .collection import HANDLES, SubjectChanged
        from .handles import HANDLES as KINDS
        from .handles import Layer

        handle = KINDS[name](conformance_subject)
        request.node.stash.setdefault(HANDLES, []).append(handle)
        proving = request.config.getoption("conformance_prove")  # then the subject is put in later
        watched = handle if isinstance(handle, Layer) and conformance_subject.shared and not proving else None
        if watched and not watched.as_remembered():
            raise SubjectChanged("its table is not the same as after the test before, so what follows says nothing")
        yield handle
        request.node.stash[HANDLES].clear()  # the items live as long as the run, and with a handle what it made of its subject
        if watched and not watched.as_remembered():
            raise SubjectChanged("the table is not the same after this test as before; one object serves all tests, so what "
                                 "follows says nothing (a class with a parameter `table` is built anew for each)")

    return fixture


layer = _handle("layer")
layer_maker = _handle("layer_maker")
training_step = _handle("training_step")
trainer = _handle("trainer")
module = _handle("module")
tied_model = _handle("tied_model")
tokenizer = _handle("tokenizer")
tokenizer_maker = _handle("tokenizer_maker")
encoder = _handle("encoder")
embedder = _handle("embedder")
pooler = _handle("pooler")
encodings = _handle("encodings")
similarity = _handle("similarity")
projector = _handle("projector")
index = _handle("index")
service = _handle("service")
store = _handle("store")
document = _handle("document")
