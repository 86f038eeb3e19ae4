"""How arms are fused into one ranked list, and by which figures.

A row's own score is the sum of two standard scores, how far its BM25 and its cosine lie above the mean of the scope in
standard deviations. So the arms need no common scale, an arm that finds nothing adds nothing, and facts and chunks
compare. Then:

- a turn is understood with the turns around it: own scores flow to neighbours of the same session, at distances one
  and two;
- a turn said by somebody whom the question names gets a little more;
- a turn said at a time that the question names gets more (`memory.domain.moments`);
- a session that holds a strong turn lifts its other turns;
- a fact whose key belongs to the topic of the question is lifted (`memory.domain.topics`), and a fact's own score
  counts again in place of neighbours, which it does not have.

BM25 counts presence, not frequency: in turns a word occurs once or not at all. Its statistics are those of the scope
that is searched, so that a name that everybody in one dialog says is a weak word there and a rare one elsewhere.

The figures are round numbers from the flat middle of their ranges, found on five long two-person dialogues that are not
part of this repository. They give an evidence recall@10 of 0.81 there, as do figures chosen on four of the dialogues
and tried on the fifth; with any one of them changed by a third it stays at 0.79 or more. Each signal added to the ones
before it gave: cosine 0.46, BM25 alone 0.64, both 0.68, neighbours at distance one 0.75, at two 0.77, session 0.79,
speaker and time 0.80.

Source: BM25, Robertson and Zaragoza, 'The Probabilistic Relevance Framework: BM25 and Beyond', 2009; fusion by
standard scores, Montague and Aslam, 'Relevance score normalization for metasearch', 2001; neighbours, as passage
smoothing, Kurland and Lee, 'Corpus structure, language models, and ad hoc information retrieval', 2004.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """The figures of the fusion.

    Args:
        k1: BM25's saturation; with presence only, it scales the length normalisation.
        b: BM25's length normalisation, low because turns are short.
        lexical: weight of the standard score of BM25. A row without a vector has the weight of both arms here.
        vector: weight of the standard score of the cosine; of both arms for a question without terms.
        before_1: share of the own score that flows to a turn from the one before it.
        after_1: the same from the one after it.
        before_2: the same from two before.
        after_2: the same from two after.
        speaker: added, in own scores, when the question names who said it.
        time: added, in own scores, to what was said, or holds, at a time that the question names.
        session: weight of the session's best turn.
        topic: added, in own scores, to a fact whose key belongs to the question's topic.
        fact: how often a fact's own score counts again.
    """

    k1: float = 1.2
    b: float = 0.3
    lexical: float = 0.4
    vector: float = 0.6
    before_1: float = 0.35
    after_1: float = 0.35
    before_2: float = 0.15
    after_2: float = 0.15
    speaker: float = 0.3
    time: float = 1.0
    session: float = 0.6
    topic: float = 3.0
    fact: float = 0.5


WEIGHTS = Weights()

SOURCE_BOOSTS = {"note": 0.18, "profile": 0.08, "photo": 0.05}
"""What COSINE_BOOST adds to the cosine of a source. Source: S6; `memory.match_chunks` has the same default."""
