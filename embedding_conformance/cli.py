"""The command ``embedding-conformance``. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import os
import random
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from . import __version__, home, in_checkout
from .claims import DOCUMENT_SOURCE, Claim, check_traced, load, suites, test_places
from .console import forgiving
from .errors import Exit, Refusal, UsageError, nearest, printable, said
from .redaction import redacted

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

EXAMPLES = """\b
Examples:
  embedding-conformance check                                  the reference stack, offline
  embedding-conformance check python:mine.py:Layer             your own code
  embedding-conformance check python:mine.py:f --reference bundled
                                                               an embedder against its original
  embedding-conformance check openai:http://127.0.0.1:8080/v1  a running service
  embedding-conformance check fault:lookup/row-minus-one       what a failure looks like
  embedding-conformance claims order                           which claims speak of order

Exit: 0 verified, 1 refuted, 2 interrupted, 3 internal, 4 usage, 5 nothing checked, 7 no verdict."""

SUBJECTS = """\b
Subjects:
  python:FILE.py:NAME  python:pkg.mod:NAME   object, class, factory, or function of texts
  st:DIR_OR_ID[@REV]  hf:DIR_OR_ID[@REV]     sentence-transformers, Transformers
  onnx:DIR[@FILE]                            an ONNX export, with tokenizer.json
  torch  bundled  formulas  tokenizers  store  service   the reference stack
  hf:documents                               the documents' own model
  openai:URL[@MODEL]                         an OpenAI-compatible /v1/embeddings; key from OPENAI_API_KEY
  vectors:PATH[@COLUMN]                      stored vectors: npy, npz, safetensors, parquet, a folder, a recording
  documents                                  the documents' text, with --documents
  fault:CHAPTER/NAME                         a deliberately broken subject"""


class Group(click.Group):
    """Turns every refusal, click's own usage errors included, into one message on standard error and its exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit:  # --help, --version
            raise
        except Refusal as refusal:
            message, code = str(refusal), refusal.exit
        except click.UsageError as error:
            message, code = error.format_message(), Exit.USAGE
        except (KeyboardInterrupt, click.Abort):
            message, code = "interrupted", Exit.INTERRUPTED
        except Exception as error:
            message, code = f"internal error, {type(error).__name__}: {said(error)}{_keep_traceback()}", Exit.INTERNAL
        click.echo(f"embedding-conformance: {printable(redacted(message), 2000)}", err=True)
        if ctx.invoked_subcommand == "check":
            from .report.evidence_file import word_of

            click.echo(f"verdict={word_of(code)} claims=0 verified=0 refuted=0 error=0 not_applicable=0 informative=0 lost=0 "
                       "seconds=0")
        sys.exit(code)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            hint = nearest(args[0], self.commands) or f"; there are {', '.join(self.commands)}"
            raise UsageError(f'there is no command "{args[0]}"{hint}')
        return super().resolve_command(ctx, args)


@click.group(cls=Group, context_settings=SETTINGS, epilog=EXAMPLES, subcommand_metavar="COMMAND ...", options_metavar="")
@click.version_option(__version__, "--version", message="embedding-conformance %(version)s")
def cli() -> None:
    """Judge embeddings against an executable specification."""


@cli.command(epilog=SUBJECTS, options_metavar="[OPTIONS]", short_help="Judge subjects and write a report.")
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option("-k", "keyword", default="", metavar="EXPR", help="Only claims whose id, chapter or words match, as in pytest.")
@click.option("--facet", "facets", multiple=True, metavar="NAME", help="Only this facet; an error if no subject has it.")
@click.option("--declare", multiple=True, metavar="KEY=VALUE",
              help="What the subject promises: normalized, trained, out_of_range_below, ...")
@click.option("--reference", default="", metavar="SUBJECT",
              help="Agree with this subject, stage by stage: token ids, network, pooling, normalisation, vectors, neighbours.")
@click.option("--texts", type=click.Path(path_type=Path), metavar="FILE",
              help="Your own texts to compare on, one a line (or .jsonl with \"text\"), beside ours; cited by line, never "
                   "printed.")
@click.option("--deviations", type=click.Path(path_type=Path), metavar="FILE",
              help="Known failures that are accepted, each with its reason (YAML); one that no longer fails is a failure.")
@click.option("--documents", type=click.Path(path_type=Path), metavar="DIR",
              help="The three documents: check that cited passages are unchanged and every line is covered, judge facts "
                   "about them, show the passages.")
@click.option("--report", type=click.Path(path_type=Path), metavar="DIR",
              help="Where to write [default: reports/ in a checkout, else embedding-conformance-report/].")
@click.option("--since", type=click.Path(path_type=Path), metavar="EVIDENCE",
              help="The evidence.json of an earlier run: show what changed; a claim that is judged no longer is an error.")
@click.option("--seed", default="0", metavar="N", help="Repeat the generated inputs of another run, or 'random' for new ones.")
@click.option("--timeout", type=float, default=300.0, metavar="SECONDS",
              help="Give up on a test that does not finish in this time, and on a request to a service in a fifth of it "
                   "[default: 300].")
@click.option("--max-requests", type=click.IntRange(min=1), metavar="N",
              help="Send a service no more than N requests; what would need more is refused before the first.")
@click.option("--unverified", metavar="IDS",
              help="For this project's own gate: every claim must be verified on some subject, but these (or 'none').")
@click.option("-n", "workers", type=int, metavar="N",
              help="As in pytest-xdist: N processes [default: 2 for the whole reference stack, else 1].")
@click.option("-x", "first_failure", is_flag=True, help="Stop at the first failure.")
@click.option("-q", "quiet", is_flag=True, help="Only failures and the last line.")
@click.option("-v", "verbose", is_flag=True, help="All failures in full, all that does not apply, all declarations.")
def check(subjects: tuple[str, ...], keyword: str, facets: tuple[str, ...], declare: tuple[str, ...],
          reference: str, texts: Path | None, deviations: Path | None, documents: Path | None, report: Path | None,
          since: Path | None, seed: str, timeout: float, max_requests: int | None, unverified: str | None,
          workers: int | None, first_failure: bool, quiet: bool, verbose: bool) -> None:
    """Judge each SUBJECT on all claims that apply to it. Without one: the reference stack."""
    from . import deviations as accepted
    from . import documents as passages
    from . import proof
    from .interrupts import Interrupts
    from .report import changes, claimed, clear, store
    from .report.annotations import announce
    from .report.evidence_file import Context, assemble
    from .report.terminal import Terminal, no_verdict
    from .run import Plan, execute

    with Interrupts() as interrupts:
        earlier = store.load(since) if since else None
        folder = report or report_folder()
        catalogue = load()
        check_traced(catalogue)
        context = Context(
            catalogue, passages.read(catalogue, documents), proof.read_records(catalogue),
            command=redacted(["embedding-conformance", *sys.argv[1:]]),
            selection=[*(["-k", keyword] if keyword else []), *(word for facet in facets for word in ("--facet", facet))],
            unverified=None if unverified is None else [one for one in re.split(r"[\s,]+", unverified)
                                                        if one not in ("", "none")],
            deviations=accepted.read(deviations, catalogue) if deviations else ())
        if workers is None:
            workers = 0 if subjects or keyword or reference or first_failure else _processes()
        plan = Plan(subjects=list(subjects), declare=list(declare), facets=list(facets), documents=documents,
                    reference=reference, texts=texts, keyword=keyword, seed=_seed(seed), workers=workers,
                    first_failure=first_failure, timeout=timeout, max_requests=max_requests)
        terminal = Terminal(context, quiet=quiet, verbose=verbose, named=bool(subjects))
        with claimed(folder):
            clear(folder)
            outcome = execute(plan, folder / "events.jsonl", terminal, interrupts)
            evidence = assemble(context, outcome)
            if earlier is not None:
                evidence = changes.compare(evidence, earlier)
            draft = _write(evidence, folder)
        announce(evidence)
        if outcome.refused:
            no_verdict(outcome.refused[1], evidence, outcome.hint)
        else:
            page = folder / "index.html"
            terminal.finish(evidence, outcome, page if page.is_file() else None, draft)
    sys.exit(evidence["verdict"]["exit"])


@cli.command(name="claims", options_metavar="", short_help="List the claims, or explain one.")
@click.argument("what", required=False, metavar="[ID | WORD | DOCUMENT:LINE]")
def claims_command(what: str | None) -> None:
    """List the claims, or explain one: statement in English and Chinese, source, tests, faults, how to try it."""
    catalogue = load()
    if what is None:
        for chapter in catalogue.chapters():
            _list([claim for claim in catalogue if claim.chapter == chapter])
        click.echo(f"\n{len(catalogue)} claims. One in full: embedding-conformance claims {next(iter(catalogue)).id}")
        return
    if claim := catalogue.resolve(what.upper()):
        _explain(claim)
        return
    if place := DOCUMENT_SOURCE.fullmatch(what):
        first, last = int(place["first"]), int(place["last"] or place["first"])
        found = [claim for claim in catalogue
                 if any(claim in catalogue.citing(place["document"], line) for line in range(first, last + 1))]
    else:
        found = [claim for claim in catalogue if what.lower() in claim.words()]
    if not found:
        ids = [claim.id for claim in catalogue]
        raise UsageError(f'no claim speaks of "{what}"{nearest(what.upper(), ids)}')
    _list(found)


@cli.command(options_metavar="[OPTIONS]", short_help="Keep a subject's vectors, to be a reference later.")
@click.argument("subject", metavar="SUBJECT")
@click.option("-o", "output", type=click.Path(path_type=Path), metavar="DIR", required=True,
              help="A new folder; what is there is never overwritten.")
@click.option("--texts", type=click.Path(path_type=Path), metavar="FILE",
              help="Your own texts, one a line (or .jsonl with \"text\"), beside ours. They are kept in the recording.")
@click.option("--declare", multiple=True, metavar="KEY=VALUE", help="What the subject promises, as for check.")
def record(subject: str, output: Path, texts: Path | None, declare: tuple[str, ...]) -> None:
    """Embed texts with SUBJECT and keep the vectors, the texts and where they come from.

    The recording is a reference: check SUBJECT --reference vectors:DIR tells later whether anything has changed.
    """
    from .recorder import make

    sys.exit(make(subject, output, texts, list(declare)))


@cli.command(options_metavar="", short_help="Says which command compares two subjects.")
@click.argument("subject", metavar="A")
@click.argument("reference", metavar="B")
def compare(subject: str, reference: str) -> None:
    """Comparing is judging A with B as its reference: type the command that this prints."""
    import shlex

    command = shlex.join(["embedding-conformance", "check", subject, "--reference", reference])
    raise UsageError(f"to compare {subject} with {reference}, judge the one by the other: {command}")


@cli.command(options_metavar="[OPTIONS]", short_help="Show that every check fails on a broken subject.")
@click.option("-k", "keyword", default="", metavar="EXPR", help="Only claims whose id, chapter or words match, as in pytest.")
@click.option("--documents", type=click.Path(path_type=Path), metavar="DIR",
              help="The three documents; without them the claims about their text are left out.")
@click.option("--write", is_flag=True, help="Renew the committed record of the proof, fixtures/proof/.")
@click.option("--timeout", type=float, default=300.0, metavar="SECONDS",
              help="Give up on a test that does not finish in this time [default: 300].")
@click.option("-n", "workers", type=int, default=0, metavar="N", help="As in pytest-xdist: N processes.")
@click.option("-q", "quiet", is_flag=True, help="Only what is wrong and the last line.")
def prove(keyword: str, documents: Path | None, write: bool, timeout: float, workers: int, quiet: bool) -> None:
    """Show that every check fails on a broken subject, and passes on the sound variants (if you change the suites)."""
    from .proving import run_proof
    from .run import Plan

    if keyword and write:
        raise UsageError("--write keeps the record of a whole proof; leave out -k")
    plan = Plan(documents=documents, keyword=keyword, workers=workers, timeout=timeout, prove=True)
    sys.exit(run_proof(plan, write=write, quiet=quiet))


@cli.command(name="report", options_metavar="[OPTIONS]", short_help="Render a report again from its evidence; merge several.")
@click.argument("files", nargs=-1, required=True, metavar="EVIDENCE...", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE",
              help="What to write, by its ending: .html the page, .json the evidence, .md the summary, .xml JUnit; "
                   "a folder gets all of them.")
@click.option("--since", type=click.Path(path_type=Path), metavar="EVIDENCE", help="Show what changed since that run.")
@click.option("--benchmarks", "timings", type=click.Path(path_type=Path), metavar="FILE",
              help="Show the benchmarks of this file, which pytest's --benchmark-json writes.")
@click.option("--benchmarks-since", "earlier", type=click.Path(path_type=Path), metavar="FILE",
              help="Beside them, the ratios of an earlier run.")
def report_command(files: tuple[Path, ...], output: Path, since: Path | None, timings: Path | None,
                   earlier: Path | None) -> None:
    """Render a report again from its evidence.json, or one of several that are merged: parts of a run, or other subjects.

    Evidence that contradicts itself is refused. A run that was killed left events.jsonl: what it finished is reported, as
    incomplete. Exits as the run did, or as the worst of several.
    """
    from . import report
    from .report import changes, merging, store
    from .report import timings as timings_of
    from .report.evidence_file import last_line

    if earlier is not None and timings is None:
        raise UsageError("--benchmarks-since compares with --benchmarks FILE, and that is not given")
    evidence = merging.merge([_recovered(path) if path.suffix == ".jsonl" else store.load(path) for path in files])
    if since is not None:
        evidence = changes.compare(evidence, store.load(since))
    if timings is not None:
        evidence["benchmarks"] = timings_of.read(timings, earlier)
    try:
        report.write_as(evidence, output)
    except OSError as error:
        raise UsageError(f"-o {output}: cannot write there: {error.strerror}") from error
    click.echo(last_line(evidence))
    sys.exit(evidence["verdict"]["exit"])


def _recovered(path: Path) -> dict[str, Any]:
    """Evidence from the events of a run that left none; what only its command line said is not known any more."""
    from . import documents as passages
    from . import proof
    from .report.evidence_file import Context, assemble
    from .run import replay

    catalogue, outcome = load(), replay(path)
    context = Context(catalogue, passages.read(catalogue, None), proof.read_records(catalogue), command=[])
    try:
        return assemble(context, outcome)
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # each line is one, but not of what a run does
        raise UsageError(f"{path}: no events of a run: {type(error).__name__}: {said(error)}") from error


def report_folder() -> Path:
    """`reports/` in the checkout that this runs from and in, else a folder of its own in the working folder."""
    here = Path.cwd().resolve()
    inside = in_checkout() and (here == home() or home() in here.parents)
    return home() / "reports" if inside else here / "embedding-conformance-report"


def _seed(text: str) -> int:
    if text == "random":
        return random.SystemRandom().randrange(1, 10_000)
    if not text.isdecimal() or len(text) > 18:
        raise UsageError(f"--seed {text}: write a whole number of at most 18 digits, or random")
    return int(text)


def _processes() -> int:
    """How many processes judge the reference stack: it is known to be small, and takes longer than another takes to start."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return 2 if len(usable) > 1 and find_spec("xdist") else 0


def _write(evidence: dict[str, Any], folder: Path) -> Path | None:
    """Write the report; where that fails the verdict says so, since nobody will be able to read why it is what it is. Returns
    where deviations are drafted, if any are."""
    from . import report
    from .report.evidence_file import word_of

    try:
        return report.write(evidence, folder)
    except OSError as error:
        click.echo(f"embedding-conformance: the report could not be written to {folder}: {error.strerror}; "
                   "the results are in events.jsonl, if that is whole", err=True)
        evidence["verdict"] |= {"word": word_of(Exit.INTERNAL), "exit": int(Exit.INTERNAL)}
        return None


def _list(claims: list[Claim]) -> None:
    for claim in claims:
        mark = {"informative": " (informative)"}.get(claim.level, "")
        click.echo(f"{claim.id:<10} {claim.chapter:<14} {claim.says.en}{mark}")


def _explain(claim: Claim) -> None:
    """One claim in full; everything comes from files, no suite is imported."""
    import json

    from .proof import needs_documents, record_path

    click.echo(f"{claim.id:<10} {claim.says.en}\n{'':<10} {claim.says.zh}")
    rows = [("said in", f"{', '.join(claim.source)}   (--documents DIR shows the words)")]
    rows += [("holds for", claim.domain)] if claim.domain else []
    rows += [("note", claim.note)] if claim.note else []
    rows += [("why not", claim.why)] if claim.why else []
    if claim.needs:
        promised = [f"declared {key}={str(value).lower() if isinstance(value, bool) else value}"
                    for key, value in claim.requires.items()]
        rows.append(("needs", ", ".join([*claim.needs, *promised])))
    rows += [("rests on", ", ".join(claim.after))] if claim.after else []
    rows += [("judged by", ", ".join(claim.proxy))] if claim.proxy else []
    for place in test_places():
        if claim.id in place.claims:
            where = f"suites/{place.path.relative_to(suites()).as_posix()}:{place.line}"
            rows.append(("checked", f"{where}   {place.says}"))
    path = record_path(claim.chapter)
    record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"claims": {}}
    caught = record["claims"].get(claim.id, {}).get("caught", [])
    rows += [("catches", ", ".join(caught))] if caught else []
    tried = (claim.proxy[0] if claim.proxy else claim.id) + (" --documents DIR" if needs_documents(claim) else "")
    if claim.level != "informative":
        rows.append(("try", f"embedding-conformance check -k {tried}"))
    if caught:
        rows.append(("", f"embedding-conformance check fault:{caught[0]} -k {tried}"))
    for label, text in rows:
        click.echo(click.wrap_text(text, 100, f"{label:<10} ", " " * 11) if label in ("note", "catches") else
                   f"{label:<10} {text}")


def main() -> None:
    """The entry point."""
    with forgiving() as unprinted:
        code = _run()
    for error in unprinted:
        print(f"embedding-conformance: not everything could be printed: {error.strerror}", file=sys.stderr)
        code = int(Exit.worst([Exit(code), Exit.INTERNAL]))
    sys.stderr.flush()
    sys.exit(code)


def _run() -> int:
    try:
        return int(cli(sys.argv[1:] or ["--help"], standalone_mode=False) or 0)
    except SystemExit as stop:
        return int(stop.code or 0)
    except (KeyboardInterrupt, click.Abort):
        return int(Exit.INTERRUPTED)
    except click.UsageError as error:
        click.echo(f"embedding-conformance: {error.format_message()}", err=True)
        return int(Exit.USAGE)


def _keep_traceback() -> str:
    """A user has no use for a traceback on the terminal; who mends the harness has."""
    import tempfile
    import traceback

    try:
        handle, name = tempfile.mkstemp(prefix="embedding-conformance-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            traceback.print_exc(file=file)
    except OSError:
        return ""
    return f"; details are in {name}"
