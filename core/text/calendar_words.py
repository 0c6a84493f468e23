"""How ten languages name days, months and spans of time: the table that `search.question.days` reads by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from .languages import bare

Unit = Literal["day", "week", "weekend", "month", "year"]
UNITS: tuple[Unit, ...] = ("day", "week", "weekend", "month", "year")


@dataclass(frozen=True, slots=True)
class CalendarWords:
    """The words of one language; a `|` separates things, a space the forms of one thing."""

    months: str
    """January to December."""
    weekdays: str
    """Monday to Sunday."""
    units: str
    """Day, week, weekend, month, year, as in UNITS."""
    days: str
    """Phrases that name one day, each with how many days it lies back: `yesterday=1`, `_` for a space."""
    last: str
    """What stands beside a unit, month or weekday to say the one before; likewise `next`, `this`."""
    next: str
    this: str
    ago: str
    """What stands after a span to say it is counted back from now."""
    back: str
    """What stands before such a span."""
    numbers: str
    """Words from one to twelve; of each all forms."""
    few: str
    """Words for a number left open; they count as two."""
    into: str
    """What stands before a month or year that is one; needed where the month's name is also another word."""
    ambiguous: str = ""
    """Months that are also other words."""
    names: str = ""
    """Of these the ones that are written with a capital where they are months."""
    joins: str = ""
    """What may stand between a day, its month and its year."""
    day: tuple[str, str] = ("", "")
    """What stands before, and what behind, a number that is a day of the month: `on the 6th`."""
    seasons: str = ""
    """Spring, summer, autumn, winter."""
    loose: str = ""
    """Other words that make a text one that tells a time."""


CALENDARS: Mapping[str, CalendarWords] = {
    "en": CalendarWords(
        months="january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sep sept|"
        "october oct|november nov|december dec",
        weekdays="monday mondays|tuesday tuesdays tues|wednesday wednesdays|thursday thursdays thurs|friday fridays|"
        "saturday saturdays|sunday sundays",
        units="day days|week weeks|weekend weekends|month months|year years",
        days="today=0 tonight=0 yesterday=1 last_night=1 tomorrow=-1 day_before_yesterday=2 this_morning=0",
        last="last past previous",
        next="next coming",
        this="this current",
        ago="ago back earlier",
        back="",
        numbers="one a an|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve",
        few="couple few several",
        into="in during since of until till by before after around from early late mid",
        ambiguous="may march mar",
        names="may march",
        joins="st nd rd th of the",
        day=("", "st nd rd th"),
        seasons="spring|summer|autumn fall|winter",
        loose="ago recently since last next weekend tonight lately",
    ),
    "de": CalendarWords(
        months="januar janner jan|februar feber feb|marz|april apr|mai|juni jun|juli jul|august aug|september sep sept|"
        "oktober okt|november nov|dezember dez",
        weekdays="montag montags|dienstag dienstags|mittwoch mittwochs|donnerstag donnerstags|freitag freitags|"
        "samstag samstags sonnabend|sonntag sonntags",
        units="tag tage tagen tages|woche wochen|wochenende wochenenden|monat monate monaten monats|jahr jahre jahren "
        "jahres",
        days="heute=0 gestern=1 vorgestern=2 morgen=-1 ubermorgen=-2 gestern_abend=1 heute_abend=0",
        last="letzte letzten letzter letztes letztem vorige vorigen voriges vergangene vergangenen vergangenes",
        next="nachste nachsten nachster nachstes kommende kommenden",
        this="diese diesen dieser dieses diesem",
        ago="her zuvor",
        back="vor",
        numbers="ein eine einem einer einen eins|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|elf|zwolf",
        few="paar einigen einige mehreren",
        into="im in seit bis ab vor nach anfang mitte ende vom",
        joins="den der des im",
        day=("am vom den", ""),
        seasons="fruhling fruhjahr|sommer|herbst|winter",
        loose="kurzlich neulich seit letztens damals",
    ),
    "fr": CalendarWords(
        months="janvier janv|fevrier fevr|mars|avril avr|mai|juin|juillet juil|aout|septembre sept|octobre oct|"
        "novembre nov|decembre dec",
        weekdays="lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche",
        units="jour jours|semaine semaines|weekend weekends|mois|an ans annee annees",
        days="aujourd_hui=0 hier=1 avant_hier=2 hier_soir=1 demain=-1 apres_demain=-2 ce_matin=0 ce_soir=0",
        last="dernier derniere passe passee precedent precedente",
        next="prochain prochaine",
        this="ce cet cette",
        ago="plus_tot",
        back="y_a",
        numbers="un une|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze",
        few="quelques plusieurs",
        into="en depuis de au du avant apres vers debut fin",
        ambiguous="sept mars",
        joins="er le de du",
        day=("le", "er"),
        seasons="printemps|ete|automne|hiver",
        loose="recemment depuis dernierement",
    ),
    "es": CalendarWords(
        months="enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre setiembre|octubre|noviembre|diciembre",
        weekdays="lunes|martes|miercoles|jueves|viernes|sabado sabados|domingo domingos",
        units="dia dias|semana semanas|finde|mes meses|ano anos",
        days="hoy=0 ayer=1 anteayer=2 antier=2 antes_de_ayer=2 anoche=1 esta_noche=0 pasado_manana=-2",
        last="pasado pasada ultimo ultima anterior",
        next="proximo proxima viene",
        this="este esta",
        ago="atras antes",
        back="hace",
        numbers="un una uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce",
        few="par_de unos unas algunos varios pocos",
        into="en desde de hasta antes despues hacia durante",
        joins="de del el",
        day=("dia el", ""),
        seasons="primavera|verano|otono|invierno",
        loose="recientemente desde ultimamente manana",
    ),
    "it": CalendarWords(
        months="gennaio genn|febbraio febbr|marzo|aprile|maggio|giugno|luglio|agosto|settembre sett|ottobre ott|"
        "novembre|dicembre",
        weekdays="lunedi|martedi|mercoledi|giovedi|venerdi|sabato|domenica",
        units="giorno giorni|settimana settimane|weekend|mese mesi|anno anni",
        days="oggi=0 ieri=1 ieri_sera=1 l_altro_ieri=2 avantieri=2 domani=-1 dopodomani=-2 stasera=0 stamattina=0",
        last="scorso scorsa ultimo ultima passato passata",
        next="prossimo prossima",
        this="questo questa quest",
        ago="fa or_sono",
        back="",
        numbers="un uno una|due|tre|quattro|cinque|sei|sette|otto|nove|dieci|undici|dodici",
        few="paio_di qualche alcuni alcune",
        into="a in ad nel da di fino prima dopo verso durante del dal",
        joins="di del il",
        day=("il giorno", ""),
        seasons="primavera|estate|autunno|inverno",
        loose="recentemente ultimamente",
    ),
    "pt": CalendarWords(
        months="janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro",
        weekdays="segunda|terca|quarta|quinta|sexta|sabado sabados|domingo domingos",
        units="dia dias|semana semanas|fds|mes meses|ano anos",
        days="hoje=0 ontem=1 anteontem=2 amanha=-1 ontem_a_noite=1",
        last="passado passada ultimo ultima anterior",
        next="proximo proxima que_vem",
        this="este esta neste nesta nesse nessa",
        ago="atras",
        back="ha faz",
        numbers="um uma|dois duas|tres|quatro|cinco|seis|sete|oito|nove|dez|onze|doze",
        few="uns umas alguns algumas varios par_de",
        into="em no desde de ate antes depois durante",
        ambiguous="quarta terca quinta segunda sexta",
        joins="de do",
        day=("dia", ""),
        seasons="primavera|verao|outono|inverno",
        loose="recentemente desde ultimamente",
    ),
    "nl": CalendarWords(
        months="januari jan|februari feb|maart|april apr|mei|juni jun|juli jul|augustus aug|september sept|"
        "oktober okt|november nov|december dec",
        weekdays="maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag",
        units="dag dagen|week weken|weekend weekeinde|maand maanden|jaar jaren",
        days="vandaag=0 gisteren=1 eergisteren=2 gisteravond=1 vanavond=0 morgen=-1 overmorgen=-2",
        last="vorige vorig afgelopen laatste",
        next="volgende volgend komende",
        this="deze dit",
        ago="geleden terug",
        back="",
        numbers="een|twee|drie|vier|vijf|zes|zeven|acht|negen|tien|elf|twaalf",
        few="paar enkele",
        into="in sinds van tot voor na rond begin eind",
        joins="de van",
        day=("", "e de ste"),
        seasons="lente voorjaar|zomer|herfst najaar|winter",
        loose="onlangs sinds laatst",
    ),
    "ru": CalendarWords(
        months="январь января январе|февраль февраля феврале|март марта марте|апрель апреля апреле|май мая мае|"
        "июнь июня июне|июль июля июле|август августа августе|сентябрь сентября сентябре|октябрь октября октябре|"
        "ноябрь ноября ноябре|декабрь декабря декабре",
        weekdays="понедельник понедельника|вторник вторника|среда среду среды|четверг четверга|пятница пятницу пятницы|"
        "суббота субботу субботы|воскресенье воскресенья",
        units="день дня дней|неделя неделю недели недель неделе|выходные выходных|месяц месяца месяцев месяце|"
        "год года лет году",
        days="сегодня=0 вчера=1 позавчера=2 завтра=-1 послезавтра=-2",
        last="прошлый прошлая прошлую прошлое прошлой прошлом прошлого прошлые прошлых последний последнюю",
        next="следующий следующая следующую следующем следующей следующее",
        this="этот эта эту это этом этой этого",
        ago="назад",
        back="",
        numbers="один одна одну одного|два две|три|четыре|пять|шесть|семь|восемь|девять|десять|одиннадцать|двенадцать",
        few="пару несколько",
        into="в с до после к около",
        joins="числа",
        day=("", "числа го"),
        seasons="весна весной весну|лето летом|осень осенью|зима зимой зиму",
        loose="недавно тогда",
    ),
}


@dataclass(frozen=True, slots=True)
class Calendar:
    """The same words, ready to be looked up."""

    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    units: Mapping[str, Unit]
    days: Mapping[tuple[str, ...], int]
    numbers: Mapping[str, int]
    seasons: Mapping[str, int]
    """To the first month of the season."""
    last: frozenset[str]
    next: frozenset[str]
    this: frozenset[str]
    ago: frozenset[str]
    back: frozenset[str]
    into: frozenset[str]
    ambiguous: frozenset[str]
    names: frozenset[str]
    joins: frozenset[str]
    loose: frozenset[str]
    day: tuple[frozenset[str], frozenset[str]]


def _numbered(text: str, first: int = 1) -> dict[str, int]:
    return {bare(form): at for at, forms in enumerate(text.split("|"), first) for form in forms.split() if form}


def _set(text: str) -> frozenset[str]:
    return frozenset(bare(word).rpartition("_")[2] for word in text.split())


@lru_cache(maxsize=32)
def calendar(language: str) -> Calendar | None:
    """Return the words of a language, None for one that is not known."""
    words = CALENDARS.get(language)
    if words is None:
        return None
    numbers = _numbered(words.numbers) | dict.fromkeys(_set(words.few), 2)
    return Calendar(
        months=_numbered(words.months),
        weekdays=_numbered(words.weekdays, 0),
        units={form: UNITS[at] for form, at in _numbered(words.units, 0).items()},
        days={
            tuple(bare(name).split("_")): int(back) for name, _, back in (d.partition("=") for d in words.days.split())
        },
        numbers=numbers,
        seasons={form: (3, 6, 9, 12)[at] for form, at in _numbered(words.seasons, 0).items()},
        last=_set(words.last),
        next=_set(words.next),
        this=_set(words.this),
        ago=_set(words.ago),
        back=_set(words.back),
        into=_set(words.into),
        ambiguous=_set(words.ambiguous),
        names=_set(words.names),
        joins=_set(words.joins),
        loose=_set(words.loose),
        day=(_set(words.day[0]), _set(words.day[1])),
    )
