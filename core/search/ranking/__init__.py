"""How well a row answers a question, reason by reason. Pure.

| Module | Owns |
|---|---|
| `ranking` | ranks all rows that match, over arrays |
| `frame` | what is known of rows without reading them |
| `own_words`, `reasons`, `days`, `around` | what speaks for a row: its words, its place, its time, its neighbours |
| `relevance` | reads the best of them closely, and orders them |
| `weights` | what each reason is worth |
| `rows` | the types |
"""
