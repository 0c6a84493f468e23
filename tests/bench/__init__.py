"""Measurements: how quick the package is on large tables, and how much a search finds.

| command | prints |
|---|---|
| `python -m tests.bench` | speed: searching, whole prompts, reducing, writing, starting |
| `python -m tests.bench.recall` | recall of `search_memories` on labelled conversations |
| `python -m tests.bench.main_job` | prompts for every question of the labelled conversations, and what is in them |

Nothing here is a test that looks at a clock; `test_generator.py` alone is run by pytest, and checks the generated data.
"""
