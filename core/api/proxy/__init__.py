"""The proxy: a model server in the OpenAI dialect, which asks another one with what belongs to the message put in.

| Module | Owns |
|---|---|
| routes | the two routes, one request in a straight line |
| upstream | the connections to LLM_BASE_URL: what is sent, what is passed back |
| rules_request | what a request says: its lines, whose chat it is, whether it is a turn |
| rules_splice | a message put into a body whose other bytes stay as they are |
| rules_answer | the text of an answer, whole or in a stream |
"""
