"""Scores how well a row answers a question, one score for each reason. Pure.

| Module | Content |
|---|---|
| `ranking` | ranking of all matching rows, over arrays, with their neighbours |
| `frame` | facts about rows from the index, and the words they hold |
| `reasons`, `days` | reasons for a row: its words, place and time |
| `relevance` | reasons from the texts of the best rows, and their order |
| `weights` | the weight of each reason |
| `rows` | the types |
"""
