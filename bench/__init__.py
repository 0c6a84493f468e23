"""Measurements: how quick the package is on large tables, and how much a search finds.

| command | prints |
|---|---|
| `python -m bench` | speed: searching, whole prompts, reducing, writing, starting |
| `python -m bench.public DATA` | measures of others over data that others publish, beside BM25 and newest first |
| `python -m bench.recall` | recall of `search_memories` on labelled conversations |
| `python -m bench.scale` | the same among ever more talk of others |
| `python -m bench.plots FILE` | pictures of what `bench` and `bench.public` wrote |

`bench.retrievers` is this engine for the harnesses of BEIR and MTEB.
"""
