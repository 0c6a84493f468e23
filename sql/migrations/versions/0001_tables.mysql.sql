-- The tables of the first release: MySQL 8.0+, MariaDB 10.11+, OceanBase, TiDB. Read it in with a client that uses utf8mb4.

CREATE TABLE IF NOT EXISTS audiences (
    audience_id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    kind VARBINARY(12) NOT NULL DEFAULT '',
    server_id VARBINARY(191) NOT NULL DEFAULT '',
    ref VARBINARY(512) NOT NULL DEFAULT '',
    -- the row (8 bytes)
    PRIMARY KEY (audience_id),
    -- find or make the audience of a row (779 bytes)
    UNIQUE KEY uq_audiences_owner (persona_id, kind, server_id, ref)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS conversations (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    audience_id BIGINT NOT NULL,
    conversation_key VARBINARY(512) NOT NULL DEFAULT '',
    interface VARBINARY(64) NOT NULL DEFAULT '',
    chat_id VARBINARY(255) NOT NULL DEFAULT '',
    thread_id VARBINARY(255) NOT NULL DEFAULT '',
    parent_key VARBINARY(512),
    server_id VARBINARY(191) NOT NULL DEFAULT '',
    server_name VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    is_private TINYINT NOT NULL DEFAULT 0,
    direct_person_key VARBINARY(255),
    local_only TINYINT NOT NULL DEFAULT 0,
    title VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    status VARBINARY(8) NOT NULL DEFAULT 'open',
    stories_off TINYINT NOT NULL DEFAULT 0,
    current_recap_version INTEGER,
    next_recap_version INTEGER NOT NULL DEFAULT 0,
    consolidated_to BIGINT,
    last_message_at DATETIME(6),
    created_at DATETIME(6),
    closed_at DATETIME(6),
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- the conversation of a message (576 bytes)
    UNIQUE KEY uq_conversations_key (persona_id, conversation_key),
    -- newest other conversations of an audience: history_recent (80 bytes)
    KEY ix_conversations_audience (persona_id, audience_id, last_message_at),
    -- conversations of a server, newest first (263 bytes)
    KEY ix_conversations_server (persona_id, server_id, last_message_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS participants (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    participant_key VARBINARY(255) NOT NULL DEFAULT '',
    person_key VARBINARY(255) NOT NULL DEFAULT '',
    display_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    privacy VARBINARY(8) NOT NULL DEFAULT '',
    created_at DATETIME(6),
    updated_at DATETIME(6),
    -- the row (319 bytes)
    PRIMARY KEY (persona_id, participant_key),
    -- all identities of a person (319 bytes)
    KEY ix_participants_person (persona_id, person_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS chat_history_cache (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    audience_id BIGINT NOT NULL DEFAULT 0,
    interface_path VARBINARY(512) NOT NULL DEFAULT '',
    message_id VARBINARY(191),
    sender_id VARBINARY(255) NOT NULL DEFAULT '',
    participant_key VARBINARY(255),
    sender_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    `role` VARBINARY(12) NOT NULL DEFAULT 'user',
    message_text MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    text_folded MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    triggered_by VARBINARY(255),
    metadata JSON,
    timestamp DATETIME(6) NOT NULL,
    hidden TINYINT NOT NULL DEFAULT 0,
    excluded TINYINT NOT NULL DEFAULT 0,
    token_count INTEGER,
    content_hash BINARY(32),
    edited_at DATETIME(6),
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- same id twice (NULLs do not collide) (767 bytes)
    UNIQUE KEY uq_chat_message (persona_id, interface_path, message_id),
    -- newest over conversations, walk of a search (88 bytes)
    KEY ix_chat_audience (persona_id, audience_id, timestamp, id),
    -- same text within 5 s (616 bytes)
    KEY ix_chat_content (persona_id, interface_path, content_hash, timestamp),
    -- newest of a conversation, range of a story (592 bytes)
    KEY ix_chat_conversation (persona_id, interface_path, timestamp, id),
    -- forgetting a participant (327 bytes)
    KEY ix_chat_participant (persona_id, participant_key, id),
    -- forgetting a participant (327 bytes)
    KEY ix_chat_triggered (persona_id, triggered_by, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS memories (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    audience_id BIGINT NOT NULL DEFAULT 0,
    timestamp DATETIME(6),
    content MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    text_folded MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    response_text MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    author VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    source VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    tags JSON,
    scope VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    emotion VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    intensity INTEGER,
    emotion_state VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    tier VARBINARY(10) NOT NULL DEFAULT 'long_term',
    kind VARBINARY(20) NOT NULL DEFAULT '',
    importance NUMERIC(4, 3) NOT NULL DEFAULT '0.5',
    pinned TINYINT NOT NULL DEFAULT 0,
    local_only TINYINT NOT NULL DEFAULT 0,
    quarantined TINYINT NOT NULL DEFAULT 0,
    conversation_key VARBINARY(512),
    participant_key VARBINARY(255),
    source_message_ids JSON,
    provenance VARBINARY(8) NOT NULL DEFAULT 'host',
    expires_at DATETIME(6),
    archived_at DATETIME(6),
    superseded_by BIGINT,
    metadata JSON,
    content_hash BINARY(32),
    created_at DATETIME(6),
    updated_at DATETIME(6),
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- listing, walk of a search (96 bytes)
    KEY ix_memories_audience (persona_id, audience_id, archived_at, timestamp, id),
    -- duplicates (104 bytes)
    KEY ix_memories_content (persona_id, audience_id, content_hash),
    -- forgetting, relationship of items (584 bytes)
    KEY ix_memories_conversation (persona_id, conversation_key, id),
    -- expiry (90 bytes)
    KEY ix_memories_expiry (persona_id, tier, expires_at, id),
    -- admin search, saved memories, export (100 bytes)
    KEY ix_memories_kind (persona_id, kind, timestamp, id),
    -- forgetting, relationship of items (327 bytes)
    KEY ix_memories_participant (persona_id, participant_key, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS ai_diary (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    audience_id BIGINT NOT NULL DEFAULT 0,
    content MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    personal_thought MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    interaction_summary MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    user_message MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    text_folded MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    emotions JSON,
    context_tags JSON,
    involved_users JSON,
    timestamp DATETIME(6),
    interface VARBINARY(50) NOT NULL DEFAULT '',
    chat_id VARBINARY(255) NOT NULL DEFAULT '',
    thread_id VARBINARY(255) NOT NULL DEFAULT '',
    local_only TINYINT NOT NULL DEFAULT 0,
    quarantined TINYINT NOT NULL DEFAULT 0,
    archived_at DATETIME(6),
    content_hash BINARY(32),
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- recent entries, walk of a search (96 bytes)
    KEY ix_diary_audience (persona_id, audience_id, archived_at, timestamp, id),
    -- entries of a chat (385 bytes)
    KEY ix_diary_chat (persona_id, interface, chat_id, timestamp, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS tags (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    tag VARBINARY(255) NOT NULL DEFAULT '',
    uses INTEGER NOT NULL DEFAULT 0,
    created_at DATETIME(6),
    -- the row (319 bytes)
    PRIMARY KEY (persona_id, tag)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS tag_aliases (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    alias VARBINARY(255) NOT NULL DEFAULT '',
    tag VARBINARY(255) NOT NULL DEFAULT '',
    -- the row (319 bytes)
    PRIMARY KEY (persona_id, alias)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS tag_links (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    tag VARBINARY(255) NOT NULL DEFAULT '',
    related_tag VARBINARY(255) NOT NULL DEFAULT '',
    weight NUMERIC(6, 3) NOT NULL DEFAULT 1,
    -- the row (574 bytes)
    PRIMARY KEY (persona_id, tag, related_tag),
    -- the other direction (574 bytes)
    KEY ix_tag_links_related (persona_id, related_tag, tag)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_tag (
    audience_id BIGINT NOT NULL,
    tag VARBINARY(255) NOT NULL DEFAULT '',
    source TINYINT NOT NULL,
    at_us BIGINT NOT NULL,
    row_id BIGINT NOT NULL,
    local_only TINYINT NOT NULL DEFAULT 0,
    -- newest rows with a tag (283 bytes)
    PRIMARY KEY (audience_id, tag, source, at_us, row_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_term (
    audience_id BIGINT NOT NULL,
    term VARBINARY(160) NOT NULL DEFAULT '',
    source TINYINT NOT NULL,
    at_us BIGINT NOT NULL,
    row_id BIGINT NOT NULL,
    tf SMALLINT UNSIGNED NOT NULL,
    words SMALLINT UNSIGNED NOT NULL,
    local_only TINYINT NOT NULL DEFAULT 0,
    -- newest rows with a word or pair (188 bytes)
    PRIMARY KEY (audience_id, term, source, at_us, row_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_count (
    audience_id BIGINT NOT NULL,
    kind TINYINT NOT NULL,
    term VARBINARY(255) NOT NULL DEFAULT '',
    source TINYINT NOT NULL,
    docs INTEGER NOT NULL,
    -- in how many rows of an audience a word (kind 0) or tag (kind 1) stands (271 bytes)
    PRIMARY KEY (audience_id, kind, term, source)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_stats (
    audience_id BIGINT NOT NULL,
    source TINYINT NOT NULL,
    docs BIGINT NOT NULL,
    words BIGINT NOT NULL,
    -- the row (12 bytes)
    PRIMARY KEY (audience_id, source)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_vocab (
    head TINYINT NOT NULL,
    part VARBINARY(160) NOT NULL DEFAULT '',
    term VARBINARY(160) NOT NULL DEFAULT '',
    -- words that begin with a text (head 1: part is the word), words that hold it further in (head 0: part is an ending) (324 bytes)
    PRIMARY KEY (head, part, term)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_progress (
    source TINYINT NOT NULL,
    ready TINYINT NOT NULL DEFAULT 0,
    next_id BIGINT NOT NULL DEFAULT 0,
    until_id BIGINT NOT NULL DEFAULT 0,
    updated_at DATETIME(6),
    -- the row (4 bytes)
    PRIMARY KEY (source)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS memory_recalls (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    memory_id BIGINT NOT NULL,
    recalled INTEGER NOT NULL DEFAULT 0,
    last_recalled_at DATETIME(6),
    -- the row (72 bytes)
    PRIMARY KEY (persona_id, memory_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS counters (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    name VARBINARY(64) NOT NULL DEFAULT '',
    value BIGINT NOT NULL DEFAULT 0,
    lease_until DATETIME(6),
    claimed_by VARBINARY(64),
    -- the row (128 bytes)
    PRIMARY KEY (persona_id, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS config (
    config_key VARBINARY(128) NOT NULL DEFAULT '',
    value MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    created_at DATETIME(6),
    updated_at DATETIME(6),
    -- the row (128 bytes)
    PRIMARY KEY (config_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

-- nothing is there, so everything is indexed
INSERT IGNORE INTO search_progress (source, ready) VALUES (0, 1), (1, 1), (2, 1);
