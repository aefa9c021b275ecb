"""Token ids against the reference's: which, where the special ones stand, and where a long text is cut."""

import numpy as np
import pytest

from ...bounds import Bound
from ...evidence import ClaimViolation
from . import stages


@pytest.mark.claim("AGREE-01")
def test_every_text_has_the_ids_of_the_reference(encoder, reference, evidence):
    """All texts, id by id."""
    measured = stages.ids(encoder, reference)
    look = stages.explained(reference, encoder.subject, lambda: stages.look_at_ids(encoder, reference))
    evidence.texts_agree(measured.distances, measured.bound, measured.measure, measured.worst, look)


@pytest.mark.claim("AGREE-02")
def test_special_tokens_stand_where_the_reference_puts_them(encoder, reference, evidence):
    """The ids that a text without words has are the special ones; in every text they begin and end it as they should."""
    texts, special = stages.texts_of(reference), set(reference.token_ids([""])[0].tolist())
    if not special:
        raise ClaimViolation("the reference adds no special tokens", "some, to be compared")

    def ends(ids):
        """How many special ids a list begins and ends with."""
        known = np.isin(ids, list(special))
        return [int(np.argmin(np.append(row, False))) for row in (known, known[::-1])]
    found, expected = ([ends(ids) for ids in ask(texts)] for ask in (encoder.token_ids, reference.token_ids))
    distances = np.array([float(mine != other) for mine, other in zip(found, expected, strict=True)])

    def worst(place):
        return [stages.shown(reference, texts[place]), f"reference  {expected[place][0]} in front, {expected[place][1]} behind",
                f"subject    {found[place][0]} in front, {found[place][1]} behind"]
    look = stages.explained(reference, encoder.subject, lambda: stages.look_at_ids(encoder, reference))
    evidence.texts_agree(distances, Bound(0.0, "as many special tokens at both ends"), "0 the same, 1 not", worst, look)


@pytest.mark.claim("AGREE-03")
def test_long_texts_are_cut_where_the_reference_cuts(encoder, reference, evidence):
    """The longest text over and over, up to a thousand words: as many ids, and the same last one."""
    longest = max(stages.texts_of(reference), key=len)
    times = [1 + words // (1 + longest.count(" ")) for words in (20, 40, 80, 150, 300, 600, 1000)]
    texts = [" ".join([longest] * many) for many in times]
    found, expected = encoder.token_ids(texts), reference.token_ids(texts)
    distances = np.array([float(len(mine) != len(other) or mine[-1] != other[-1])
                          for mine, other in zip(found, expected, strict=True)])

    def worst(place):
        return [f"{stages.shown(reference, longest)}, {times[place]} times", f"reference  {len(expected[place])} ids",
                f"subject    {len(found[place])} ids"]
    look = stages.explained(reference, encoder.subject, lambda: stages.look_at_ids(encoder, reference))
    evidence.texts_agree(distances, Bound(0.0, "as many ids, with the same end"), "0 the same, 1 not", worst, look)
