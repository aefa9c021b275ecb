"""The command ``prove``: run every check against every fault and sound variant of its facet, and keep the record."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from . import proof
from .claims import Catalogue, check_traced, load
from .errors import Exit
from .interrupts import Interrupts
from .run import Outcome, Plan, execute


def run_proof(plan: Plan, *, write: bool, quiet: bool) -> Exit:
    """Run the proof, say what it showed, and compare it with the committed record (or write that)."""
    catalogue = load()
    check_traced(catalogue)
    known = proof.specimens(documents=plan.documents is not None)
    left_out = [claim for claim in catalogue if proof.needs_documents(claim)] if plan.documents is None else []
    with tempfile.TemporaryDirectory(prefix="embedding-conformance-") as folder, Interrupts() as interrupts:
        outcome = execute(plan, Path(folder) / "events.jsonl", _Progress(quiet), interrupts)
    if outcome.refused:
        click.echo(f"embedding-conformance: {outcome.refused[1]}", err=True)
        return outcome.refused[0]
    judged = {claim_id for claims, _ in outcome.collected.values() for claim_id in claims}
    some = {claim_id for claim_id, _ in outcome.partial}
    selected = judged - some if plan.keyword else {claim.id for claim in catalogue
                                                   if not claim.proxy and claim not in left_out}
    if outcome.interrupted:
        waiting = {claim_id for node_id in outcome.missing() for claim_id in outcome.collected[node_id][0]}
        unreached = selected - (judged - waiting)
        selected -= unreached
    assessment = proof.assess(catalogue, known, outcome.proved, selected)
    problems = assessment.problems + [f"lost: {node_id}: {why}" for node_id, why in outcome.lost.items()]
    problems += [f"{node_id}: {one['message']}" for node_id, one in outcome.results.items() if one.get("outcome") == "error"]
    if outcome.broke:
        problems.append(f"the harness broke: {outcome.broke}")
    for chapter in {claim.chapter for claim in left_out}:
        del assessment.records[chapter]
    if not write and not outcome.interrupted:
        problems += _moved(catalogue, assessment)
    if not plan.keyword and not outcome.interrupted:
        if write and not problems:
            _write(assessment)
        elif not write:
            problems += _compare(assessment.records)
    if not quiet:
        _chapters(assessment)
        _margins(assessment)
    if left_out and not (plan.keyword and judged):
        click.echo(f"left out    {', '.join(claim.id for claim in left_out)}: they need --documents DIR")
    if some:
        click.echo(f"in part     {', '.join(sorted(some))}: -k chose some of their tests, so that nothing is said of them")
    if outcome.interrupted:
        click.echo(f"not reached {len(unreached)} claims, of which nothing is said")
    for problem in problems:
        click.echo(f"{click.style('WRONG', 'red', bold=True)}  {problem}")
    word = "interrupted" if outcome.interrupted else "wrong" if problems else "proven"
    click.echo(f"{'' if quiet else chr(10)}verdict={word} claims={len(assessment.proven)} faults={assessment.faults} "
               f"sound={assessment.sound} runs={len(outcome.proved)} problems={len(problems)} "
               f"seconds={outcome.seconds:.1f}")
    if outcome.interrupted:
        return Exit.INTERRUPTED
    return Exit.REFUTED if problems else Exit.VERIFIED


class _Progress:
    """A line on the terminal that says how far the proof is."""

    def __init__(self, quiet: bool):
        self.live = sys.stdout.isatty() and not quiet

    def __call__(self, outcome: Outcome, event: dict[str, Any]) -> None:
        if self.live and event["event"] == "result":
            click.echo(f"\r\x1b[K  {len(outcome.results)}/{len(outcome.collected)}  {event['nodeid'][:70]}", nl=False)
        elif self.live and event["event"] == "finished":
            click.echo("\r\x1b[K", nl=False)


def _chapters(assessment: proof.Assessment) -> None:
    for chapter, record in assessment.records.items():
        faults = [one for one in record["specimens"].values() if not one["sound"]]
        caught = sum(bool(one["caught_by"]) for one in faults)
        proven = sum(claim["proven"] for claim in record["claims"].values())
        click.echo(f"  {chapter:<16} {proven:>3} of {len(record['claims'])} claims proven    {caught:>3} of {len(faults)} "
                   f"faults caught    {len(record['specimens']) - len(faults):>2} sound variants")
    click.echo("")
    for record in assessment.records.values():
        for claim_id, claim in record["claims"].items():
            click.echo(f"  {claim_id:<10} catches {', '.join(claim['caught']) or 'nothing'}")


def _margins(assessment: proof.Assessment) -> None:
    """Claim, largest sound deviation, smallest fault (both as multiples of the bound), smallest noise that is caught."""
    if not assessment.margins:
        return
    click.echo("\n  claim       sound / bound   smallest fault / bound                            noise caught from")
    for claim_id, margin in sorted(assessment.margins.items()):
        name = min(margin.faults, key=margin.faults.__getitem__, default="")
        smallest = f"{margin.smallest:.3g} {name}" if name else "-"
        limit = "-" if margin.limit is None else f"{margin.limit:.1e}"
        fragile = "   fragile" if margin.fragile else ""
        click.echo(f"  {claim_id:<10}  {margin.sound:<14.2g}  {smallest:<48}  {limit}{fragile}")


def _compare(records: dict[str, dict[str, Any]]) -> list[str]:
    committed = proof.read_records(load())
    found = [line for chapter, record in records.items()
             for line in proof.differences(committed.get(chapter), record, chapter)]
    return [f"the record differs: {line}; embedding-conformance prove --write renews it" for line in found]


def _moved(catalogue: Catalogue, assessment: proof.Assessment) -> list[str]:
    committed = proof.read_records(catalogue)
    measured = {claim_id: one for record in committed.values() for claim_id, one in record.get("measured", {}).items()}
    found = [line for claim_id, margin in assessment.margins.items()
             for line in proof.moved(claim_id, measured.get(claim_id), margin)]
    return [f"a bound was moved: {line}" for line in found]


def _write(assessment: proof.Assessment) -> None:
    for chapter, record in assessment.records.items():
        path = proof.record_path(chapter)
        path.parent.mkdir(parents=True, exist_ok=True)
        measured = {claim_id: _measured(assessment.margins[claim_id]) for claim_id in record["claims"]
                    if claim_id in assessment.margins}
        path.write_text(proof.dump(record | {"measured": measured}), encoding="utf-8")


def _measured(margin: proof.Margin) -> dict[str, Any]:
    """What the report draws, and what tells that a bound was moved. It differs a little from machine to machine."""
    def rounded(number: float) -> float:
        return float(f"{number:.3g}")

    return {"sound": rounded(margin.sound), "limit": margin.limit,
            "faults": {name: rounded(size) for name, size in sorted(margin.faults.items())}}
