"""Words that stand before a statement and do not change it: greetings, adverbs, 'remember that', 'I told you'."""

from __future__ import annotations

import re

from memory.domain.statements.english import dates

_MAX_OPENERS = 6

_ADVERB = (
    r"(?:well|so|oh|ah|hey|hi|hello|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|yes|yeah|yep|yup|no"
    r"|nope|nah|ok|"
    r"okay|sure|right|thanks|thank you|actually|honestly|anyway|anyways|btw|by the way|fyi|in fact|as a matter of "
    r"fact|also|"
    r"and|but|or|because|plus|then|now|currently|right now|at the moment|at present|these days|nowadays|today|lately"
    r"|recently|"
    r"sorry|oops|as you know|to be honest|tbh|just so you know|for context|for the record|for your information"
    r"|unfortunately|"
    r"luckily|sadly|happily|personally|finally|still|since|so that|although|though|even though|please|correction"
    r"|update|good news|big news|great news|great|perfect|cool|nice|awesome|listen|look|guess what|in general|generally"
    r"|basically|"
    r"first of all|first|second|for starters|in addition|on top of that|after all|in my free time|in my spare time"
    r"|at home|a bit about me|about me|some background|quick note|one more thing|another thing|ps|p\.s\.|since|by "
    r"(?:profession|trade|training)|professionally)"
)
_PUNCTUATED = re.compile(rf"{_ADVERB}\b(?:[\s,!:.–-]+|$)", re.IGNORECASE)
_AFTER_PHRASE = re.compile(
    r"(?:after|following) (?:[\w-]{1,20} ){1,5}(?:in|at|of|with) [\w -]{1,40}?,? (?=(?:i|we|my)\b)", re.IGNORECASE
)
_GREETING_NAME = re.compile(
    r"(?:(?i:hi|hello|hey|dear|thanks|thank you)\s+[A-Z][\w'-]{1,30}|(?i:hi|hello|hey) (?i:there|everyone|all|guys"
    r"|folks|again))(?:[\s,!.–-]+|$)"
)
_CARRIER = re.compile(
    r"(?:(?:please |just |and )*(?:do )?(?:remember|note|keep in mind|bear in mind|don't forget|be aware|mind you"
    r"|know)(?: that|,|:)?"
    r"|i(?:'ve| have)? ?(?:already |just )?(?:told you|said|mentioned|meant|mean)(?: already| before| earlier| "
    r"yesterday)?(?: that|,|:)?"
    r"|i(?:'d like| want| wanted| just wanted| should| must| have| need| forgot| just want|'d love)(?: to)? "
    r"(?:mention|say|tell you|add|let you know|point out|confess|admit|introduce myself|remind you)(?: that|,|:)?"
    r"|you (?:should|need to|must|might want to|ought to) know(?: that)?"
    r"|(?:it )?turns out(?: that)?|(?:the (?:thing|truth) is|fun fact|fact)(?: that|,|:)?"
    r"|(?:it's|it is) true(?: that)?|let me introduce myself(?:,|:)?"
    r")\s+(?=(?:i|i'm|i've|i'll|im|ive|we|we're|we've|my|our|the name's)\b)",
    re.IGNORECASE,
)


def without_openers(text: str) -> str:
    """Return a clause from its subject on."""
    rest = text.lstrip(" ,.:!–-\"'")
    for _ in range(_MAX_OPENERS):
        match = (
            _GREETING_NAME.match(rest) or _PUNCTUATED.match(rest) or _CARRIER.match(rest) or _AFTER_PHRASE.match(rest)
        )
        if match is not None:
            rest = rest[match.end() :]
        elif (length := dates.leading(rest)) > 0:
            rest = rest[length:].lstrip(" ,–-")
        else:
            break
    return rest
