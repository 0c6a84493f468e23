"""How well a row answers a question, reason by reason. Pure.

| Module | Owns |
|---|---|
| `ranking` | ranks all rows that match, over arrays |
| `frame` | facts about rows that the index holds |
| `own_words`, `reasons`, `days`, `around` | reasons for a row: its words, place, time and neighbours |
| `relevance` | reads the best of them closely, and orders them |
| `weights` | the weight of each reason |
| `rows` | the types |
"""
