"""How well a row answers a question, reason by reason. Pure.

| Module | Owns |
|---|---|
| `all_rows` | ranks all rows that match, over arrays |
| `relevance` | reads the best of them closely, and orders them |
| `weights` | what each reason is worth |
| `rows` | the types |
"""
