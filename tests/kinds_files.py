"""Writes `prompts/kinds/en.txt` from the nouns of WordNet: `python -m tests.kinds_files FOLDER`.

FOLDER holds `data.noun` and `index.noun` of WordNet 3.0, as the package wordnet-base of Debian installs them in
/usr/share/wordnet. The lines above HEAD are written by hand and stay.
"""

import re
import sys
from pathlib import Path

OUTPUT = Path(__file__).resolve().parents[1] / "prompts" / "kinds" / "en.txt"
HEAD = """\
# Made by `python -m tests.kinds_files` from WordNet 3.0, Copyright 2006 by Princeton University. All rights reserved.
# Its licence is in LICENSE.wordnet.
"""
CLASSES = {
    "instrument": "musical_instrument#1", "fruit": "edible_fruit#1", "vegetable veggie": "vegetable#1",
    "berry": "berry#1", "tree": "tree#1", "bird": "bird#1", "fish": "fish#1 food_fish#1", "flower": "flower#1",
    "insect bug": "insect#1", "color colour": "chromatic_color#1 achromatic_color#1", "drink beverage": "beverage#1",
    "food": "solid_food#1 dish#2", "dish": "dish#2", "meat": "meat#1", "cheese": "cheese#1",
    "dessert sweet": "dessert#1 candy#1", "cake": "cake#3", "bread": "bread#1", "soup": "soup#1", "sauce": "sauce#1",
    "pasta": "pasta#2", "alcohol": "alcohol#1", "wine": "wine#1", "beer": "beer#1", "sport": "sport#1",
    "game": "game#1 game#3", "clothes clothing garment": "clothing#1", "shoe": "footwear#2", "hat": "hat#1 cap#1",
    "furniture": "furniture#1", "tool": "tool#1", "vehicle": "wheeled_vehicle#1 motor_vehicle#1", "boat": "boat#1",
    "ship": "ship#1", "aircraft plane": "aircraft#1", "injury wound": "injury#1",
    "disease illness sickness": "illness#1", "symptom": "symptom#1", "medicine medication drug": "medicine#2",
    "profession occupation": "occupation#1 profession#2", "relative": "relative#1", "language": "natural_language#1",
    "religion faith": "religion#2", "dance": "dancing#1", "metal": "metallic_element#1 alloy#1",
    "gem stone jewel": "gem#2 gem#5", "month": "gregorian_calendar_month#1", "weekday": "day_of_the_week#1",
    "room": "room#1", "building": "building#1", "weather": "weather#1 precipitation#3", "appliance": "home_appliance#1",
    "device gadget": "electronic_device#1 home_appliance#1", "currency": "monetary_unit#1", "planet": "planet#1",
    "shape": "plane_figure#1 solid#3", "fabric cloth textile": "fabric#1", "herb": "herb#2",
    "spice": "spice#2 flavorer#1", "nut": "nut#1 nut#3", "reptile": "reptile#1", "snake": "snake#1",
    "amphibian": "amphibian#3", "dog": "dog#1", "horse": "horse#1", "mammal": "mammal#1",
    "animal": "mammal#1 bird#1 reptile#1 amphibian#3", "country": "country#2", "city town": "city#1",
    "state": "american_state#1", "continent": "continent#1", "river": "river#1", "lake": "lake#1",
    "mountain": "mountain#1", "island": "island#1", "subject": "science#1 humanistic_discipline#1",
    "science": "science#1", "jewelry jewellery": "jewelry#1", "toy": "plaything#1", "weapon": "weapon#1",
    "season": "season#2", "crime": "crime#1", "holiday": "holiday#2", "meal": "meal#1", "shop store": "shop#1",
    "machine": "machine#1", "emotion feeling": "emotion#1", "grain cereal": "grain#2",
    "mushroom": "mushroom#2 mushroom#4", "seafood": "seafood#1", "sausage": "sausage#1", "salad": "salad#1",
    "container": "vessel#3 box#1", "cutlery": "cutlery#2 tableware#1", "musician": "musician#1", "artist": "artist#1",
    "scientist": "scientist#1", "doctor": "doctor#1", "craft": "craft#1 handicraft#2", "bag": "bag#1 bag#4",
    "lamp light": "lamp#1 lamp#2", "bed": "bed#1", "chair": "chair#1", "organ": "organ#1", "bone": "bone#1",
    "muscle": "muscle#1", "wood": "wood#1", "rock mineral": "rock#2 mineral#1", "gas": "gas#2",
    "chemical": "chemical_element#1", "treatment therapy": "therapy#1 surgery#1 operation#6", "exam": "examination#2",
    "degree": "academic_degree#1", "body": "external_body_part#1",
}  # fmt: skip
_NAMES = "country city state continent river lake mountain island language religion month weekday planet holiday"
NAMES = frozenset(f"{_NAMES} currency cheese wine".split())
"""Classes whose kinds are written with a capital; elsewhere a capital is a name of biology."""
MANY = 500
"""Most kinds of a class: those with the most relations to other nouns, which are the best known."""
USUAL = 3
"""Of the senses of a word, the usual ones."""


class Nouns:
    def __init__(self, folder: Path) -> None:
        self.words: dict[int, list[str]] = {}
        self.below: dict[int, list[int]] = {}
        self.senses: dict[str, list[int]] = {}
        self.relations: dict[int, int] = {}
        for line in self._lines(folder / "data.noun"):
            parts = line.partition(" | ")[0].split()
            at, end = int(parts[0]), 4 + 2 * int(parts[3], 16)
            self.words[at] = parts[4:end:2]
            self.relations[at] = int(parts[end])
            pointers = zip(*(parts[end + 1 + n :: 4] for n in range(3)), strict=False)
            self.below[at] = [int(place) for sign, place, kind in pointers if sign in ("~", "~i") and kind == "n"]
        for line in self._lines(folder / "index.noun"):
            parts = line.split()
            self.senses[parts[0]] = [int(place) for place in parts[-int(parts[2]) :]]

    @staticmethod
    def _lines(file: Path) -> list[str]:
        return [line for line in file.read_text(encoding="latin-1").splitlines() if not line.startswith(" ")]

    def list_kinds(self, sense: str, *, with_names: bool) -> list[str]:
        """Return the single words below a sense (`fruit#1`) that usually mean this, the best known first."""
        lemma, _, number = sense.partition("#")
        seen, queue, found = set[int](), [self.senses[lemma][int(number) - 1]], dict[str, int]()
        for at in queue:
            for place in self.below[at]:
                if place not in seen:
                    seen.add(place)
                    queue.append(place)
                    for word in self.words[place]:
                        is_written = re.fullmatch("[A-Za-z][a-z]{2,}" if with_names else "[a-z]{3,}", word)
                        if is_written and place in self.senses.get(word.lower(), [])[:USUAL]:
                            found[word.lower()] = max(self.relations[place], found.get(word.lower(), 0))
        return sorted(found, key=lambda word: (-found[word], word))


def write(folder: Path) -> None:
    nouns, lines = Nouns(folder), list[str]()
    for heads, senses in sorted(CLASSES.items()):
        with_names = heads.split()[0] in NAMES
        kinds = [kind for sense in senses.split() for kind in nouns.list_kinds(sense, with_names=with_names)]
        lines.append(f"{heads}: {' '.join(list(dict.fromkeys(kinds))[:MANY])}\n")
    by_hand = OUTPUT.read_text(encoding="utf-8").partition(HEAD)[0]
    OUTPUT.write_text(by_hand + HEAD + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
