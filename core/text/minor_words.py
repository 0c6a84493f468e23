"""Stop words that tell what a message is about, where it says little else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice

from .languages import bare, common_words
from .words import iter_words, stop_words

_TELLING_NOTHING = (
    "about above according across after again against ago ahead all almost alone along already also although always "
    "among another any anybody anyone anything anyway around aside away because become been before behind being below "
    "beside besides best better between beyond both came can cannot come comes coming could describe described did "
    "does doing done down during each either else enough especially etc even ever every everybody everyone everything "
    "except far few for former forward from further gave get gets getting give given gives going gone got gotten had "
    "happen happened happens has having hence her here hers herself him himself his how however indeed instead into "
    "its itself just keep keeps kept kind know known knows last lately later least less let like liked likely long "
    "longer made mainly make makes making many may maybe mean means meant mention mentioned mentions might mine more "
    "moreover most mostly much must myself namely near nearly need needs neither never nevertheless next nobody none "
    "nor nothing now nowhere obviously off often okay once one ones only onto other others otherwise ought our ours "
    "ourselves out over overall own particular particularly per perhaps please possible possibly probably put puts "
    "quite rather really recent recently regarding said same saw say saying says see seem seems seen several shall "
    "should show showed shown since some somebody somehow someone something sometime sometimes somewhat somewhere "
    "soon sort still such take taken takes taking talk talked tell tells than that their theirs them themselves then "
    "there therefore these they thing things think thinks this those though thought through throughout thus till time "
    "times together told too took toward towards tried try trying twice under unless until unto upon use used uses "
    "using usually various very via want wanted wants was way ways well went were what whatever when whenever where "
    "wherever whether which whichever while who whoever whole whom whose why will with within without would yet you "
    "your yours yourself"
)
_TELLS_NOTHING = frozenset(_TELLING_NOTHING.split())
"""English stop words that tell nothing even where a message says little else."""


def minor_words(text: str, languages: Sequence[str], taken: Collection[str], limit: int) -> list[str]:
    """Return words of a message that are stop words, yet none of the commonest of their language."""
    common = frozenset().union(*(common_words(language) for language in languages))
    stops = [stop_words(language) for language in languages]
    found = (
        word
        for word in iter_words(text)
        if bare(word) not in common
        and word not in taken
        and word not in _TELLS_NOTHING
        and any(word in known for known in stops)
    )
    return list(islice(found, limit))
