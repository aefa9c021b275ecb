"""The verdict of every claim on every subject, derived from the evidence alone. No input or output, no clock, no state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .claims import Catalogue, Claim
from .deviations import Deviation
from .errors import Exit

#: from the worst to the best; a claim's overall verdict is the worst over its subjects
WORDS = ("error", "refuted", "blocked", "stale", "unproven", "deviation", "verified", "not applicable", "informative")
FAILING = frozenset({"error", "refuted", "blocked", "stale", "unproven"})


@dataclass(frozen=True)
class Verdict:
    """A word of `WORDS`, and why it is not "verified" where it is not."""

    word: str
    reason: str = ""
    #: in error only because a result was lost: the process died, so that nothing is known
    lost: bool = False


@dataclass(frozen=True)
class Standing:
    """What became of an accepted deviation: "accepted", "outdated", or "not judged" where its checks did not all run."""

    deviation: Deviation
    state: str
    #: of an outdated one, what is wrong with it and what to do
    why: str = ""


@dataclass
class Judgement:
    """All verdicts of a run: by claim and subject, and overall by claim; and what became of the accepted deviations."""

    by_subject: dict[str, dict[str, Verdict]]
    overall: dict[str, Verdict]
    deviations: list[Standing] = field(default_factory=list)

    def counts(self, claim_ids: Iterable[str] | None = None) -> dict[str, int]:
        """How many claims have each verdict overall; the numbers add up to the number of claims."""
        chosen = self.overall.keys() if claim_ids is None else claim_ids
        counts = dict.fromkeys(WORDS, 0)
        for claim_id in chosen:
            counts[self.overall[claim_id].word] += 1
        return counts


@dataclass(frozen=True)
class Facts:
    """What `judge` needs to know besides the results."""

    #: (claim, subject) -> why the claim does not apply, although the subject offers its facet
    not_applicable: Mapping[tuple[str, str], str] = field(default_factory=dict)
    #: items that were collected and never reported: node id -> (claims, subject, why)
    lost: Mapping[str, tuple[list[str], str, str]] = field(default_factory=dict)
    #: cited passages that no longer stand in their document
    stale_sources: frozenset[str] = frozenset()
    #: claims whose tests have been shown to fail on a fault
    proven: frozenset[str] = frozenset()
    #: the failures that the user accepts
    deviations: tuple[Deviation, ...] = ()
    #: the day of the run, an ISO date, by which a deviation has ended or not; empty where it is not known
    today: str = ""
    #: (claim, subject) of which some checks were not run, so that nothing follows from those that passed
    partial: frozenset[tuple[str, str]] = frozenset()


def judge(catalogue: Catalogue, results: Iterable[Mapping[str, Any]], facts: Facts) -> Judgement:
    """Derive the verdicts; of the words that fit, the first in the order of this function's lines applies."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for result in results:
        for claim_id in result["claims"]:
            found[claim_id, result["subject"]].append(result)
    for claims, subject, why in facts.lost.values():
        for claim_id in claims:
            found[claim_id, subject].append({"outcome": "error", "message": why, "lost": True})
    subjects = list(dict.fromkeys([subject for _, subject in found] + [subject for _, subject in facts.not_applicable]))
    by_subject: dict[str, dict[str, Verdict]] = {}
    for claim in catalogue:
        if claim.level == "informative":
            by_subject[claim.id] = {}
            continue
        verdicts = {}
        for subject in subjects:
            own = _own(claim, found.get((claim.id, subject), []), facts.not_applicable.get((claim.id, subject)), facts)
            if own is not None:
                verdicts[subject] = own
        by_subject[claim.id] = verdicts
    for claim in _proxies(catalogue):
        for subject in subjects:
            others = [by_subject[other][subject] for other in claim.proxy if subject in by_subject[other]]
            if others:
                taken = worst(others)
                reason = taken.reason or f"by {', '.join(claim.proxy)}"
                by_subject[claim.id][subject] = _staled(claim, Verdict(taken.word, reason, taken.lost), facts)
    _block(catalogue, by_subject)
    overall = {}
    for claim in catalogue:
        if claim.level == "informative":
            overall[claim.id] = Verdict("informative", claim.why)
        elif by_subject[claim.id]:
            overall[claim.id] = worst(by_subject[claim.id].values())
    return Judgement(by_subject, overall, [_standing(one, found, facts) for one in facts.deviations])


def outdated(judgement: Judgement) -> list[Standing]:
    """The accepted deviations that fail a run."""
    return [one for one in judgement.deviations if one.state == "outdated"]


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    return min(verdicts, key=lambda verdict: WORDS.index(verdict.word))


def _own(claim: Claim, results: list[Mapping[str, Any]], inapplicable: str | None, facts: Facts) -> Verdict | None:
    if not results:
        return Verdict("not applicable", inapplicable) if inapplicable is not None else None
    broken = sorted((result for result in results if result["outcome"] == "error"), key=lambda result: "lost" in result)
    if broken:
        return Verdict("error", broken[0]["message"], lost="lost" in broken[0])
    accepted: list[Deviation] = []
    for result in results:
        if result["outcome"] == "violated":
            by = accepting(facts.deviations, claim.id, result, facts.today)
            if by is None:
                return Verdict("refuted", result["message"])
            accepted.append(by)
    if accepted:
        return Verdict("deviation", "; ".join(dict.fromkeys(one.shown() for one in accepted)))
    unproven = Verdict("unproven", "no registered fault has been shown to be caught by its tests")
    return _staled(claim, Verdict("verified") if claim.id in facts.proven else unproven, facts)


def accepting(deviations: Iterable[Deviation], claim_id: str, result: Mapping[str, Any], today: str) -> Deviation | None:
    """The first deviation that accepts the failure of a check of this claim."""
    return next((one for one in deviations if one.about(claim_id, result["subject"]) and one.covers(result)
                 and one.matches(result) and not one.ended(today)), None)


def _standing(one: Deviation, found: Mapping[tuple[str, str], list[Mapping[str, Any]]], facts: Facts) -> Standing:
    """Whether an accepted deviation still says something true."""
    if one.unknown:
        return Standing(one, "outdated", f"{one.claim} {one.unknown}: remove the entry")
    keys = [key for key in found if one.about(*key)]
    covered = [result for key in keys for result in found[key] if one.covers(result)]
    failed = [result for result in covered if result["outcome"] == "violated"]
    whole = not any(result["outcome"] == "error" for key in keys for result in found[key]) and not facts.partial & set(keys)
    if not covered:
        if keys and whole:
            return Standing(one, "outdated", f'no check of {one.claim} has "{one.case}" in its name: mend or remove the entry')
        return Standing(one, "not judged")
    if one.until and one.ended(facts.today):
        return Standing(one, "outdated", f"it ended on {one.until.isoformat()}: mend the failure, or write a later date"
                        if failed else f"it ended on {one.until.isoformat()}, and no longer fails: remove the entry")
    if failed and not any(map(one.matches, failed)):
        return Standing(one, "outdated", f'it fails otherwise than by "{one.match}": {failed[0]["message"]}: mend the failure, '
                                         "or write another `match`")
    if failed:
        return Standing(one, "accepted")
    return Standing(one, "outdated", "it no longer fails: remove the entry") if whole else Standing(one, "not judged")


def _staled(claim: Claim, verdict: Verdict, facts: Facts) -> Verdict:
    changed = [source for source in claim.source if source in facts.stale_sources]
    if changed and verdict.word in ("verified", "unproven"):
        return Verdict("stale", f"the passage {', '.join(changed)} no longer reads as it did")
    return verdict


def _proxies(catalogue: Catalogue) -> list[Claim]:
    """The claims with a proxy, each after those that it takes its verdict from."""
    ordered: list[Claim] = []

    def visit(claim: Claim) -> None:
        for other in claim.proxy:
            visit(catalogue[other])
        if claim.proxy and claim not in ordered:
            ordered.append(claim)

    for claim in catalogue:
        visit(claim)
    return ordered


def _block(catalogue: Catalogue, by_subject: dict[str, dict[str, Verdict]]) -> None:
    """A refuted claim is blocked when a claim that it rests on, directly or not, is refuted or in error on that subject."""
    before = {claim_id: dict(verdicts) for claim_id, verdicts in by_subject.items()}

    def broken(claim_id: str, subject: str) -> str:
        for other in catalogue[claim_id].after:
            verdict = before[other].get(subject)
            if verdict and verdict.word in ("refuted", "error"):
                return other
            if deeper := broken(other, subject):
                return deeper
        return ""

    for claim_id, verdicts in by_subject.items():
        for subject, verdict in verdicts.items():
            if verdict.word == "refuted" and (cause := broken(claim_id, subject)):
                verdicts[subject] = Verdict("blocked", f"it rests on {cause}, which is {before[cause][subject].word}; "
                                                       f"by itself: {verdict.reason}")


def exit_code(judgement: Judgement, selected: Iterable[str], lost: int) -> Exit:
    """0, 1, 5 or 7 from the verdicts of the selected claims; other causes are known only to the run itself."""
    verdicts = [judgement.overall[claim_id] for claim_id in selected if claim_id in judgement.overall]
    words = [verdict.word for verdict in verdicts]
    codes = []
    if any(verdict.word in FAILING and not verdict.lost for verdict in verdicts) or outdated(judgement):
        codes.append(Exit.REFUTED)
    if lost:
        codes.append(Exit.NO_VERDICT)
    if not any(word not in ("not applicable", "informative") for word in words):
        codes.append(Exit.NOTHING_CHECKED)
    return Exit.worst(codes)
