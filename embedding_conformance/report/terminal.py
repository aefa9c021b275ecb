"""What a run shows on the terminal: subjects, a line a chapter, failures, and the last line."""

from __future__ import annotations

import shutil
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..errors import printable
from ..run import Outcome
from .changes import summarised
from .evidence_file import Context, judge, last_line
from .failures import Failure, closest, drift, failures, known, outdated, until

#: failures shown in full; the others are named in one line
MOST_FAILURES = 8
COLOURS = {"verified": "green", "deviation": "yellow", "refuted": "red", "error": "red", "blocked": "red", "stale": "red",
           "unproven": "red", "not applicable": "yellow"}


class Terminal:
    """Follows a run. In a log every chapter's line appears when the chapter is done; on a terminal a line of progress is
    redrawn in place as well."""

    def __init__(self, context: Context, *, quiet: bool, verbose: bool, named: bool):
        self.context = context
        self.quiet = quiet
        self.verbose = verbose
        self.named = named
        self.live = sys.stdout.isatty() and not quiet
        self._waiting: dict[str, set[str]] = {}
        self._total: dict[str, int] = {}
        self._shown: set[str] = set()
        self._several = False

    def __call__(self, outcome: Outcome, event: dict[str, Any]) -> None:
        """Take in one event of the run."""
        kind = event["event"]
        if kind == "opening" and self.live:
            self._progress(f"opening {event['subject']}")
        elif kind == "opened" and not self._waiting:
            self._header(event)
        elif kind == "collected" and not self._waiting:
            for node_id, _, _ in event["items"]:
                self._waiting.setdefault(chapter(node_id), set()).add(node_id)
            self._total = {name: len(items) for name, items in self._waiting.items()}
        elif kind == "requests" and not self.quiet:
            self._line(f"  requests   {event['requests']} with {event['texts']} texts go to {event['where']}")
            self._line("")
        elif kind == "started" and self.live:
            self._show_started(event["nodeid"])
        elif kind == "working" and self.live:
            self._progress(f"  {event['done']}")
        elif kind == "result":
            self._waiting.get(chapter(event["nodeid"]), set()).discard(event["nodeid"])
            self._show_finished_chapters(outcome)

    def _header(self, opened: dict[str, Any]) -> None:
        self._several = len(opened["subjects"]) > 1
        if self.quiet:
            return
        environment = opened["environment"]
        about = "" if self.named else "   no subject named: the reference stack"
        machine = f"{environment['cpus']} CPUs" + (f", {environment['instructions']}" if environment["instructions"] else "")
        self._line(f"embedding-conformance {__version__}{about}   seed {opened['seed']}   {machine}")
        self._line("")
        width = max((len(one["name"]) for one in opened["subjects"]), default=0)
        for one in opened["subjects"]:
            self._line(f"  {one['name']:<{width}}   {one['title']}   {click.style(', '.join(one['facets']), dim=True)}")
            given = [f"{key} {value} (from {origin})" for key, (value, origin) in one["declares"].items()]
            if given and self.verbose:
                self._line(f"  {'':<{width}}   declares {', '.join(given)}")
        if reference := opened.get("reference"):
            own = f", of which those of {reference['own']}" if reference["own"] else ""
            kept = [f"{key} {reference['declares'][key][0]}" for key in ("precision", "pooling", "normalized", "max_seq_length")
                    if key in reference["declares"]]
            self._line(f"  {'reference':<{width}}   {reference['name']}: {', '.join([reference['title'], *kept])}")
            self._line(f"  {'texts':<{width}}   {reference['texts']}{own}")
        self._line("")

    def _show_started(self, node_id: str) -> None:
        name = chapter(node_id)
        done = self._total.get(name, 0) - len(self._waiting.get(name, ()))
        self._progress(f"  {name} {done + 1}/{self._total.get(name, 0)}  {node_id.partition('::')[2]}")

    def _show_finished_chapters(self, outcome: Outcome) -> None:
        if self.quiet:
            return
        done = [name for name, items in self._waiting.items() if not items and name not in self._shown]
        if not done:
            return
        open_chapters = {name for name, items in self._waiting.items() if items}
        for name in done:
            # A verdict may still turn into "blocked" while a claim that it rests on is open in another chapter.
            if not self._rests_on(name) & open_chapters:
                self._show_chapter(name, outcome)

    def _rests_on(self, name: str) -> set[str]:
        catalogue = self.context.catalogue
        seen: set[str] = set()
        waiting = [claim.id for claim in catalogue if claim.chapter == name]
        while waiting:
            claim = catalogue[waiting.pop()]
            for other in (*claim.after, *claim.proxy):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return {catalogue[claim_id].chapter for claim_id in seen}

    def _show_chapter(self, name: str, outcome: Outcome) -> None:
        self._shown.add(name)
        judgement = judge(self.context, outcome)
        counts: dict[str, int] = defaultdict(int)
        for claim in self.context.catalogue:
            if claim.chapter == name and claim.id in judgement.overall:
                counts[judgement.overall[claim.id].word] += 1
        good = counts.pop("verified", 0)
        informative = counts.pop("informative", 0)
        bad = ""
        for word, count in counts.items():
            shown = word if word == "not applicable" else word.upper()
            bad += f"    {click.style(f'{count} {shown}', COLOURS.get(word))}"
        said = f"    {informative} informative" if informative else ""
        self._line(f"  {name:<16} {click.style(f'{good:>3} verified', 'green' if good else None)}{bad}{said}")

    def finish(self, evidence: dict[str, Any], outcome: Outcome, page: Path | None, draft: Path | None = None) -> None:
        """The closing lines: failures with their worst case, the sentence of the verdict, and the line to look for."""
        if not self.quiet:
            for name in self._waiting:
                if name not in self._shown and any(chapter(node_id) == name for node_id in outcome.results):
                    self._show_chapter(name, outcome)
            self._line("")
        failed = failures(evidence)
        # What only rests on a refuted claim needs no lines of its own until that one is mended.
        full = [failure for failure in failed if self.verbose or failure.verdict != "blocked"]
        full = full if self.verbose else full[:MOST_FAILURES]
        for failure in full:
            self._failure(failure)
        if rest := [failure for failure in failed if failure not in full]:
            named = ", ".join(dict.fromkeys(f"{failure.claim} ({failure.verdict})" for failure in rest))
            self._line(f"and {len(rest)} more: {named}   (-v shows all)")
            self._line("")
        for lost in evidence["reconciliation"]["lost"][:MOST_FAILURES]:
            self._line(f"{click.style('LOST', 'red')}  {lost['nodeid']}: {lost['why']}")
        if len(evidence["reconciliation"]["lost"]) > MOST_FAILURES:
            self._line(f"and {len(evidence['reconciliation']['lost']) - MOST_FAILURES} more lost")
        for one in outdated(evidence):
            self._line(f"{click.style('OUTDATED', 'red', bold=True)}  {one['claim']}  {until(one)}: {one['because']}")
            self._line(f"  because     {one['why']}")
            self._line(f"  written     {one['origin']}")
            self._line("")
        self._sentence(evidence)
        if not self.quiet:
            self._facts(evidence, page, draft)
            self._line("")
        self._line(last_line(evidence))

    def _failure(self, failure: Failure) -> None:
        self._line(f"{click.style(failure.verdict.upper(), 'red', bold=True)}  {failure.claim}  {failure.says}")
        if self._several:
            self._line(f"  subject     {failure.subject}")
        for label, lines in failure.lines.items():
            for number, line in enumerate(lines):
                self._line(f"  {label if not number else '':<10}  {line}")
        self._line("")

    def _sentence(self, evidence: dict[str, Any]) -> None:
        counts, word = evidence["verdict"]["counts"], evidence["verdict"]["word"]
        failed = sum(counts[one] for one in ("error", "refuted", "blocked", "stale", "unproven"))
        applicable = sum(counts.values()) - counts["not applicable"] - counts["informative"]
        if word == "verified":
            self._line(f"{click.style('VERIFIED', 'green', bold=True)}   {counts['verified']} claims on the subjects that "
                       "offer what they need")
        elif failed and word == "refuted":
            # Named after the worst of what a reader can mend: a refutation before its consequences.
            named = next(one for one in ("refuted", "error", "stale", "unproven", "blocked") if counts[one])
            self._line(f"{click.style(named.upper(), 'red', bold=True)}   {failed} of {applicable} claims that apply failed")
        elif word == "refuted" and outdated(evidence):
            count = len(outdated(evidence))
            self._line(f"{click.style('OUTDATED', 'red', bold=True)}   {count} accepted deviation{'s' * (count > 1)}; "
                       f"{counts['verified']} claims verified")
        elif word == "refuted":
            self._line(f"{click.style('NOT COMPLETE', 'red', bold=True)}   {counts['verified']} claims verified")
        elif word == "nothing-checked":
            what = f"{counts['verified']} claims verified, others not judged" if counts["verified"] else "no claim was judged"
            self._line(f"{click.style('NOTHING CHECKED', 'red', bold=True)}   {what}")
        else:
            self._line(f"{click.style(word.upper().replace('-', ' '), 'red', bold=True)}   no verdict on the whole; "
                       f"{counts['verified']} claims were verified before")
        for reason in evidence["verdict"]["reasons"]:
            self._line(f"  because    {reason}")

    def _facts(self, evidence: dict[str, Any], page: Path | None, draft: Path | None) -> None:
        counts = evidence["verdict"]["counts"]
        if near := closest(evidence):
            self._line(f"  closest    {near}")
        for name, lost in drift(evidence):
            self._line(f"  drift      {name}: {lost}")
        if "since" in evidence:
            self._line(f"  since      {evidence['since']['started']}: {summarised(evidence['since']['changes'])}")
        if counts["verified"]:
            proof = evidence["proof"]
            self._line(f"  proven     each verified claim catches a fault; {proof['faults']} faults were tried, and "
                       f"{proof['sound']} sound variants pass")
        if evidence["proof"]["outdated"]:
            chapters = ", ".join(evidence["proof"]["outdated"])
            self._line(click.style(f"  warning    changed since their proof: {chapters}; run embedding-conformance prove",
                                   "yellow"))
        for one in known(evidence):
            issue = f" ({one['issue']})" if one["issue"] else ""
            self._line(click.style(f"  deviation  {one['claim']} {until(one)}: {one['because']}{issue}", "yellow"))
        missing = [claim for claim in evidence["claims"] if claim["verdict"] == "not applicable"]
        for claim in missing if self.verbose else missing[:4]:
            self._line(f"  not here   {claim['id']}: {claim['reason']}")
        if len(missing) > 4 and not self.verbose:
            self._line(f"             and {len(missing) - 4} more claims that do not apply (-v shows all)")
        if not evidence["documents"]["given"]:
            self._line("  documents  not given: their passages were not checked (--documents DIR)")
        if draft is not None:
            self._line(f"  accept     {typed(draft)} is drafted: write the reasons, then --deviations")
        if page is not None:
            self._line(f"  report     {page.resolve().as_uri()}")
        if evidence["verdict"]["word"] == "verified" and not self.named:
            self._line("  try        embedding-conformance check fault:lookup/row-minus-one")

    def _line(self, text: str) -> None:
        if self.live:
            click.echo("\r\x1b[K", nl=False)
        click.echo(text)

    def _progress(self, text: str) -> None:
        columns = shutil.get_terminal_size((100, 24)).columns
        click.echo(f"\r\x1b[K{text[:columns - 1]}", nl=False)


def typed(path: Path) -> str:
    """A path as it is typed in the working folder."""
    full = path.resolve()
    return str(full.relative_to(Path.cwd())) if full.is_relative_to(Path.cwd()) else str(full)


def chapter(node_id: str) -> str:
    """The chapter of a test."""
    return node_id.partition("/")[0]


def no_verdict(message: str, evidence: dict[str, Any], hint: str = "") -> None:
    """What is shown when a run ends before anything was judged."""
    click.echo(f"embedding-conformance: {printable(message, 2000)}", err=True)
    if evidence["verdict"]["word"] == "inconclusive":
        what = "its embeddings are" if hint else "the subject is"
        click.echo(f"\n  Nothing was judged. Whether {what} right is unknown.", err=True)
        click.echo(f"  The same from a shell:  {hint}\n" if hint else "", err=True)
    sys.stderr.flush()
    click.echo(last_line(evidence))
