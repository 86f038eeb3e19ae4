"""Words that are too common to search by, in the languages that the lexical arm treats by rule.

They are left out of stored lexemes and of queries alike. A word stands here when nearly every conversation holds it:
articles, pronouns, auxiliaries, question words, and the fillers of chat. Content words stay, however frequent, because
their weight falls by itself with their frequency in the scope (`memory.domain.fusion`).
"""

from __future__ import annotations

_ENGLISH = """
a about above after again against all also am an and any are aren't as at be because been before being below between
both but by can can't cannot could couldn't d did didn't do does doesn't doing don't down during each few for from
further get gets getting go goes going got had hadn't has hasn't have haven't having he he'd he'll he's hello her here
here's hers herself hey hi him himself his how how's i i'd i'll i'm i've if in into is isn't it it's its itself just
let let's ll m me might mine more most must my myself no nor not now of off oh ok okay on once one only or other
our ours ourselves out over own please re really s same shall she she'd she'll she's should shouldn't so some such t
than that that's thanks the their theirs them themselves then there there's these they they'd they'll they're they've
this those through to too under until up us ve very was wasn't we we'd we'll we're we've well were weren't what what's
when when's where where's which while who who's whom whose why why's will with won't would wouldn't yeah yes you you'd
you'll you're you've your yours yourself yourselves
"""

_UKRAINIAN = """
а або але б без би бо був була були було бути в вам вас ваш ваша ваше ваші вже ви від він вона вони воно все всі весь
да де для до дуже є ж же з за зі й його її їй їм їх і із інший як яка яке який якого якому які якій коли кого кому крім
кожен ледве лише ми мене мені мій моя моє мої мною на над нам нас наш наша наше наші не нема ні ніж них ну о об от ось
по при про під скільки сам свій своя своє свої себе та так такий також там твій твоя твоє твої те тебе тей ти тим тих
то той тобі тобою тоді того тому тут у усе усі хіба хоч хто це цей ця ці цього цим чи чий чия чому чого через чим що
щоб щось я привіт добре дякую
"""

_RUSSIAN = """
а без бы был была были было быть в вам вас ваш ваша ваше ваши весь во вот все всего всех вы где да даже для до его ее
ей если есть еще ж же за здесь и из или им их к как какая какой какие когда кто куда ли лишь меня мне мной мои мой моя
мое мы на над надо нам нас наш наша наше наши не него нее нет ни них но ну о об он она они оно от очень по под при про
с сам свой своя свое свои себе себя со так также такой такое такая такие там твой твоя твое твои те тебе тебя тем то
тобой того тоже той только том тот ты у уж уже чем чего чей что чтобы это этого этой этом этот эту эти я привет хорошо
спасибо
"""

# Without words that mean something in English: die, war, man, hat, bin, den.
_GERMAN = """
aber als am an auch auf aus bei bis bist da dann das dass dein deine dem der des dich dir doch du ein eine einem einen
einer eines er es euch euer für hab habe haben hast hatte ich ihm ihn ihr ihre im ist ja kann kannst kein keine mein
meine meinem meinen meiner mich mir mit nach nicht noch nur oder schon sehr sein seine sich sie sind und uns unser vom
von vor wann warum waren was weil wenn wer wie wird wo wurde zu zum zur über
"""

_ARABIC = """
أن أنا أنت أنه إلى إن التي الذي الى او أو اي أي انا انت به بها ثم حتى عن على علي عند في فيه فيها قد كان كانت كل كما كيف
لا لك لم لن له لها لي ليس ما ماذا متى مع من منه منها نحن هذا هذه هل هم هو هي و وهو وهي يا
"""

STOP_WORDS = frozenset(f"{_ENGLISH} {_UKRAINIAN} {_RUSSIAN} {_GERMAN} {_ARABIC}".split())
"""Casefolded, apostrophes as `'`."""

ARTICLES = frozenset(["a", "an", "the", "der", "das", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines"])
"""Words that change nothing about what a value says."""

_NEGATIONS = """
no not never none nothing neither nor without не ні ніколи нема немає без нет никогда nicht kein keine keinen nie ohne
لا ليس لن لم 不 没 沒 無
"""

NEGATIONS = frozenset(_NEGATIONS.split())
"""Words that turn what a value says into its opposite."""
