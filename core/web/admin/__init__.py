"""The operator's API and page under `/admin`.

| Module | Owns |
|---|---|
| memory | the routes of memory items, also in files; pruning and consolidation |
| operations | relationships, the queue, quarantine, forgetting, why a prompt is so |
| metrics | the numbers for Prometheus |
| pages | the page |
"""
