"""A handbook of invented mills, people, ferries and hotels, and a stand-in for the language model that reads it."""

import re

from acqo_rl.language_models.structured import example
from acqo_rl.roles import LanguageModel
from acqo_rl.types import Completion

FIRST = ("Mar", "Vel", "Hoo", "Ter", "Bra", "Nij", "Oos", "Wes", "Kam", "Lin")
LAST = ("ken", "drecht", "wold")
TOWNS = ("Edam", "Urk", "Sneek", "Goes", "Tiel")
GOODS = ("mustard seed", "chalk", "barley", "cocoa", "pepper")
NAMES = [first + last for first in FIRST for last in LAST]


def pages():
    """Title -> text."""
    found = {}
    for i, name in enumerate(NAMES):
        person = f"Anna {name[::-1].capitalize()}"
        town = TOWNS[i % 5]
        goods = GOODS[i % 5]
        found[f"{name} mill"] = (
            f"The mill stands on a dyke outside the village. It was built by {person} in {1700 + i}, and {goods} is "
            "ground there on every second Sunday of the month."
        )
        found[person] = (
            f"She was an engineer who worked on pumps and locks for most of her life. She died in {town} in "
            f"{1760 + i}, and a street near the harbour has her name."
        )
        if i % 3 == 0:
            found[f"{name} (ferry)"] = (
                f"The ferry has {i + 20} seats and sails from April to October if the wind is right."
            )
            found[f"{name} (hotel)"] = f"The hotel has {i + 30} rooms and is closed in January, when it is repaired."
    return found


def write_pages(folder):
    """One Markdown file a page."""
    folder.mkdir(parents=True)
    for title, text in pages().items():
        (folder / f"{re.sub('[^a-z]+', '_', title.lower())}.md").write_text(
            f"# {title}\n\n{text}\n\n## Visits by boat\n\nAsk at the gate.\n"
        )


def _asks_for(title):
    if title.endswith("mill"):
        return f"what is produced by {title}"
    if title.endswith("(ferry)"):
        return f"how large is the ferry {title.split()[0]}"
    return f"how large is the hotel {title.split()[0]}" if title.endswith("(hotel)") else f"where did {title} die"


class Writer(LanguageModel):
    """Writes the question that each prompt asks for."""

    def __init__(self):
        self.asked = 0

    def generate(self, conversations, schema=None):
        self.asked += len(conversations)
        return [Completion(self.reply(conversation), 9) for conversation in conversations]

    def reply(self, conversation):
        task = conversation[0]["content"]
        titles = re.findall(r"Passage \d \((.*?)\): ", conversation[-1]["content"])
        first = titles[0]
        last = titles[-1]
        if "short conversation" in task:
            return example(question=f"Tell me about {first}", answer="It is known.", second_question="How old is it?")
        return example(question=self._question(task, first, last))

    @staticmethod
    def _question(task, first, last):
        if "two separate things" in task:
            return f"{_asks_for(first)} and {_asks_for(last)}?"
        if "compares" in task:
            return f"Which is older, {first} or {last}?"
        if "mentions" in task:
            return f"In which town did the builder of {first} die?"
        if "something called" in task:
            return f"How large is {first.split()[0]}?"
        return f"{_asks_for(first)}?"
