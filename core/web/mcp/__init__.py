"""The memory for programs that speak the Model Context Protocol. Needs the extra `mcp`.

`prompt-engine mcp` serves it over standard input and output, `prompt-engine serve --mcp` over HTTP.

| Module | Owns |
|---|---|
| speaker | who speaks: a scope that no argument of a call can change |
| schemas | what the tools take and answer |
| tools | the seven tools |
| server | the protocol: handlers of the SDK's server, errors |
| stdio, http | over standard input and output; over HTTP, by token |
"""
