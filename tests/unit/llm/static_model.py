"""A tiny model of static vectors, written by the package that reads such models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace

MEANS = {
    "dog": 0, "hound": 0, "canine": 0, "soup": 1, "lunch": 1, "rain": 2, "car": 3, "vehicle": 3,
    "my": None, "a": None, "the": None, "we": None, "had": None, "sleeps": None,
}  # fmt: skip
"""Each word with what it means; None for next to nothing."""
DIMENSIONS = 4


def write_model(folder: Path, turn: int = 0) -> Path:
    """Write a model to a folder and return that.

    Args:
        turn: by how many places what the words mean is turned: another model.
    """
    vocabulary = {"[PAD]": 0, "[UNK]": 1} | {word: n for n, word in enumerate(MEANS, 2)}
    vectors = np.full((len(vocabulary), DIMENSIONS), 0.01, np.float32)
    for word, means in MEANS.items():
        if means is not None:
            vectors[vocabulary[word], (means + turn) % DIMENSIONS] = 1.0
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    StaticModel(vectors, tokenizer, normalize=True).save_pretrained(folder)
    return folder
