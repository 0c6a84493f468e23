-- The database as it is today: MySQL 8.0+, MariaDB 10.11+, OceanBase, TiDB. Read it in with a client that uses utf8mb4.
-- Written by `make docs`.

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
    metadata JSON,
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
    created_at DATETIME(6),
    updated_at DATETIME(6),
    -- the row (319 bytes)
    PRIMARY KEY (persona_id, participant_key),
    -- a participant over all personas: what may be kept of them (255 bytes)
    KEY ix_participants_key (participant_key),
    -- all identities of a person (319 bytes)
    KEY ix_participants_person (persona_id, person_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS privacy_levels (
    participant_key VARBINARY(255) NOT NULL DEFAULT '',
    level VARBINARY(8) NOT NULL DEFAULT '',
    updated_at DATETIME(6),
    -- the row (255 bytes)
    PRIMARY KEY (participant_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS chat_history_cache (
    id BIGINT NOT NULL AUTO_INCREMENT,
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
    made_with JSON,
    timestamp DATETIME(6),
    hidden TINYINT NOT NULL DEFAULT 0,
    excluded TINYINT NOT NULL DEFAULT 0,
    no_items TINYINT NOT NULL DEFAULT 0,
    content_hash BINARY(32),
    edited_at DATETIME(6),
    indexed TINYINT NOT NULL DEFAULT 0,
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
    KEY ix_chat_triggered (persona_id, triggered_by, id),
    -- rows that wait to be indexed (76 bytes)
    KEY ix_chat_waiting (persona_id, indexed, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS memories (
    id BIGINT NOT NULL AUTO_INCREMENT,
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
    indexed TINYINT NOT NULL DEFAULT 0,
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
    KEY ix_memories_participant (persona_id, participant_key, id),
    -- rows that wait to be indexed (76 bytes)
    KEY ix_memories_waiting (persona_id, indexed, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS ai_diary (
    id BIGINT NOT NULL AUTO_INCREMENT,
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
    archived_at DATETIME(6),
    content_hash BINARY(32),
    source_message_ids JSON,
    participant_keys JSON,
    indexed TINYINT NOT NULL DEFAULT 0,
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- recent entries, walk of a search (96 bytes)
    KEY ix_diary_audience (persona_id, audience_id, archived_at, timestamp, id),
    -- entries of a chat (385 bytes)
    KEY ix_diary_chat (persona_id, interface, chat_id, timestamp, id),
    -- rows that wait to be indexed (76 bytes)
    KEY ix_diary_waiting (persona_id, indexed, id)
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

CREATE TABLE IF NOT EXISTS message_recaps (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    message_row BIGINT NOT NULL,
    alternative INTEGER NOT NULL DEFAULT (-1),
    conversation_key VARBINARY(512) NOT NULL DEFAULT '',
    memory MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    include VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    token_count INTEGER,
    data JSON,
    edited TINYINT NOT NULL DEFAULT 0,
    stale TINYINT NOT NULL DEFAULT 0,
    provenance VARBINARY(8) NOT NULL DEFAULT 'model',
    updated_at DATETIME(6),
    -- the row (76 bytes)
    PRIMARY KEY (persona_id, message_row, alternative),
    -- one story in order (584 bytes)
    KEY ix_recaps_conversation (persona_id, conversation_key, message_row),
    -- recaps that are included, in the prompt and at each refresh, however many there are (736 bytes)
    KEY ix_recaps_included (persona_id, conversation_key, include)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS message_alternatives (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    message_row BIGINT NOT NULL,
    alternative INTEGER NOT NULL,
    text MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    is_current TINYINT NOT NULL DEFAULT 0,
    metadata JSON,
    -- the row (76 bytes)
    PRIMARY KEY (persona_id, message_row, alternative)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS scenes (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    conversation_key VARBINARY(512) NOT NULL DEFAULT '',
    break_row BIGINT NOT NULL,
    name VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    visible TINYINT NOT NULL DEFAULT 1,
    current_recap_index INTEGER,
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- one scene a break (72 bytes)
    UNIQUE KEY uq_scenes_break (persona_id, break_row),
    -- breaks in order (584 bytes)
    KEY ix_scenes_conversation (persona_id, conversation_key, break_row)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS scene_recaps (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    scene_id BIGINT NOT NULL,
    version_index INTEGER NOT NULL,
    content MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    metadata JSON,
    provenance VARBINARY(8) NOT NULL DEFAULT 'model',
    created_at DATETIME(6),
    -- the row (76 bytes)
    PRIMARY KEY (persona_id, scene_id, version_index)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS running_recaps (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    conversation_key VARBINARY(512) NOT NULL DEFAULT '',
    version INTEGER NOT NULL,
    content MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    scene_count INTEGER NOT NULL DEFAULT 0,
    excluded_count INTEGER NOT NULL DEFAULT 0,
    prev_scene_index INTEGER NOT NULL DEFAULT 0,
    new_scene_index INTEGER NOT NULL DEFAULT 0,
    provenance VARBINARY(8) NOT NULL DEFAULT 'model',
    data JSON,
    created_at DATETIME(6),
    deleted_at DATETIME(6),
    -- the row (580 bytes)
    PRIMARY KEY (persona_id, conversation_key, version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS conversation_summaries (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    audience_id BIGINT NOT NULL DEFAULT 0,
    conversation_key VARBINARY(512) NOT NULL DEFAULT '',
    title VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    summary MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    occurred_at DATETIME(6),
    last_message_row BIGINT,
    local_only TINYINT NOT NULL DEFAULT 0,
    provenance VARBINARY(8) NOT NULL DEFAULT 'model',
    created_at DATETIME(6),
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- the same end twice (584 bytes)
    UNIQUE KEY uq_summaries_end (persona_id, conversation_key, last_message_row),
    -- the rolling list (88 bytes)
    KEY ix_summaries_audience (persona_id, audience_id, occurred_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS item_history (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    item_id BIGINT NOT NULL,
    old_text MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    reason VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    changed_by VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    changed_at DATETIME(6),
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- the texts an item had, in order (80 bytes)
    KEY ix_item_history_item (persona_id, item_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS short_term_memories (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    audience_id BIGINT NOT NULL DEFAULT 0,
    participant_key VARBINARY(255) NOT NULL DEFAULT '',
    channel_id VARBINARY(512) NOT NULL DEFAULT '',
    lineage_id VARBINARY(64) NOT NULL DEFAULT '',
    server_id VARBINARY(191) NOT NULL DEFAULT '',
    server_name VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    channel_name VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    parent_channel_id VARBINARY(512),
    local_only TINYINT NOT NULL DEFAULT 0,
    messages JSON,
    summary MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    summary_updated_at DATETIME(6),
    last_updated DATETIME(6),
    turns_since_summary INTEGER NOT NULL DEFAULT 0,
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- the entry of a person in a channel (831 bytes)
    UNIQUE KEY uq_short_term_entry (persona_id, participant_key, channel_id),
    -- entries of a channel, which go and move with it, and whether one of them is the newest (592 bytes)
    KEY ix_short_term_channel (persona_id, channel_id, last_updated, id),
    -- expiry (80 bytes)
    KEY ix_short_term_expiry (persona_id, last_updated, id),
    -- channels of a server, newest first (271 bytes)
    KEY ix_short_term_server (persona_id, server_id, last_updated, id),
    -- other channels of a person, newest first (335 bytes)
    KEY ix_short_term_user (persona_id, participant_key, last_updated, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS user_relationships (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    user_id VARBINARY(255) NOT NULL DEFAULT '',
    username VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    realname VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    affinity TINYINT NOT NULL DEFAULT 0,
    affinity_base TINYINT NOT NULL DEFAULT 0,
    base_days INTEGER NOT NULL DEFAULT 0,
    trust TINYINT NOT NULL DEFAULT 0,
    interaction_count INTEGER NOT NULL DEFAULT 0,
    last_interaction DATETIME(6),
    -- the row (319 bytes)
    PRIMARY KEY (persona_id, user_id),
    -- recent list, decay (327 bytes)
    KEY ix_relationships_recent (persona_id, last_interaction, user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS consolidation_runs (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    kind VARBINARY(16) NOT NULL DEFAULT '',
    conversation_key VARBINARY(512) NOT NULL DEFAULT '',
    reason VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    window_size INTEGER NOT NULL DEFAULT 0,
    items_added INTEGER NOT NULL DEFAULT 0,
    items_pruned INTEGER NOT NULL DEFAULT 0,
    started_at DATETIME(6),
    finished_at DATETIME(6),
    error VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- what ran last (72 bytes)
    KEY ix_runs_persona (persona_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS stored_values (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    audience_id BIGINT NOT NULL,
    participant_key VARBINARY(255) NOT NULL DEFAULT '',
    conversation_key VARBINARY(512) NOT NULL DEFAULT '',
    kind VARBINARY(8) NOT NULL DEFAULT '',
    namespace VARBINARY(1000) NOT NULL DEFAULT '',
    name VARBINARY(512) NOT NULL DEFAULT '',
    value MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    memory_id BIGINT,
    ttl_seconds INTEGER,
    expires_at DATETIME(6),
    created_at DATETIME(6),
    updated_at DATETIME(6),
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- forgetting (584 bytes)
    KEY ix_values_conversation (persona_id, conversation_key, id),
    -- forgetting (72 bytes)
    KEY ix_values_memory (persona_id, memory_id),
    -- one value by name, those below a namespace. Not unique: two may meet when a conversation turns private (1600 bytes)
    KEY ix_values_name (persona_id, audience_id, kind, namespace, name, id),
    -- forgetting (327 bytes)
    KEY ix_values_participant (persona_id, participant_key, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_fresh (
    audience_id BIGINT NOT NULL,
    source TINYINT NOT NULL,
    row_id BIGINT NOT NULL,
    digest BIGINT NOT NULL,
    content MEDIUMBLOB NOT NULL,
    -- rows of an audience that are not packed yet: what ranks a row, with its words, tags and days (20 bytes)
    PRIMARY KEY (audience_id, source, row_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_segment (
    audience_id BIGINT NOT NULL,
    segment_id BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    docs INTEGER NOT NULL,
    head MEDIUMBLOB NOT NULL,
    terms MEDIUMBLOB NOT NULL,
    -- packed rows of an audience (16 bytes)
    PRIMARY KEY (audience_id, segment_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_block (
    audience_id BIGINT NOT NULL,
    segment_id BIGINT NOT NULL,
    kind TINYINT NOT NULL,
    term VARBINARY(255) NOT NULL DEFAULT '',
    postings MEDIUMBLOB NOT NULL,
    -- where a word (kind 0) or tag (kind 1) stands in a segment, and what is about a day (kind 3) (275 bytes)
    PRIMARY KEY (audience_id, segment_id, kind, term)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_gone (
    audience_id BIGINT NOT NULL,
    source TINYINT NOT NULL,
    row_id BIGINT NOT NULL,
    segment_id BIGINT NOT NULL,
    -- packed rows that changed or went since (20 bytes)
    PRIMARY KEY (audience_id, source, row_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_vector (
    audience_id BIGINT NOT NULL,
    model VARBINARY(100) NOT NULL DEFAULT '',
    at_us BIGINT NOT NULL,
    source TINYINT NOT NULL,
    row_id BIGINT NOT NULL,
    part TINYINT NOT NULL,
    `vector` BLOB NOT NULL,
    stamp BIGINT NOT NULL DEFAULT 0,
    -- newest vectors of an audience that one embedder made (132 bytes)
    PRIMARY KEY (audience_id, model, at_us, source, row_id, part),
    -- the vectors of a row: those of candidates, and of a row that changes or goes (20 bytes)
    KEY ix_vector_row (audience_id, source, row_id),
    -- what came since a process read the others (116 bytes)
    KEY ix_vector_stamp (audience_id, model, stamp)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_vector_version (
    audience_id BIGINT NOT NULL,
    version BIGINT NOT NULL,
    -- whether what a process holds is what is stored (8 bytes)
    PRIMARY KEY (audience_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_vector_gone (
    audience_id BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    source TINYINT NOT NULL,
    row_id BIGINT NOT NULL,
    -- rows whose vectors went since a process read them; the last thousand versions (28 bytes)
    PRIMARY KEY (audience_id, stamp, source, row_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS memory_jobs (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    conversation_key VARBINARY(512),
    participant_key VARBINARY(255),
    type VARBINARY(32) NOT NULL DEFAULT '',
    priority TINYINT NOT NULL DEFAULT 1,
    status VARBINARY(12) NOT NULL DEFAULT 'pending',
    payload JSON,
    depends_on JSON,
    tries INTEGER NOT NULL DEFAULT 0,
    available_at DATETIME(6),
    lease_until DATETIME(6),
    claimed_by VARBINARY(64),
    error VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    created_at DATETIME(6),
    updated_at DATETIME(6),
    -- the row (8 bytes)
    PRIMARY KEY (id),
    -- operations of a conversation: one detection at a time, forgetting (620 bytes)
    KEY ix_jobs_conversation (persona_id, conversation_key, type, status),
    -- next operation (96 bytes)
    KEY ix_jobs_next (persona_id, status, priority, created_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS counters (
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    name VARBINARY(64) NOT NULL DEFAULT '',
    value BIGINT NOT NULL DEFAULT 0,
    -- the row (128 bytes)
    PRIMARY KEY (persona_id, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS access_tokens (
    id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    kind VARBINARY(8) NOT NULL DEFAULT '',
    token_hash BINARY(32) NOT NULL,
    participant_key VARBINARY(255),
    conversation_key VARBINARY(512),
    server_id VARBINARY(191) NOT NULL DEFAULT '',
    personas VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    label VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    resource VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    created_at DATETIME(6),
    expires_at DATETIME(6),
    revoked_at DATETIME(6),
    -- the row (8 bytes)
    PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS model_usage (
    day VARBINARY(10) NOT NULL DEFAULT '',
    asker VARBINARY(16) NOT NULL DEFAULT '',
    model VARBINARY(191) NOT NULL DEFAULT '',
    calls BIGINT NOT NULL DEFAULT 0,
    characters BIGINT NOT NULL DEFAULT 0,
    last_at DATETIME(6),
    -- the row (217 bytes)
    PRIMARY KEY (day, asker, model)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS schema_version (
    version_num VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    fingerprint VARBINARY(16) NOT NULL DEFAULT '',
    -- the row (128 bytes)
    PRIMARY KEY (version_num)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

INSERT IGNORE INTO schema_version (version_num, fingerprint) VALUES ('0010', 'd23abb4c64022348');

INSERT INTO audiences (audience_id, persona_id, kind, server_id, ref) VALUES (153413222401111, 'iris', 'direct', '', 'discord/ann');
INSERT INTO audiences (audience_id, persona_id, kind, server_id, ref) VALUES (153413222401119, 'iris', 'saved', '', 'discord/ann');
INSERT INTO audiences (audience_id, persona_id, kind, server_id, ref) VALUES (153413222401102, 'iris', 'server', 's1', '');
INSERT INTO audiences (audience_id, persona_id, kind, server_id, ref) VALUES (153413222401114, 'iris', 'server', 's2', '');
INSERT INTO audiences (audience_id, persona_id, kind, server_id, ref) VALUES (153413222401105, 'juno', 'server', '', '');
INSERT INTO conversations (id, persona_id, audience_id, conversation_key, interface, chat_id, thread_id, parent_key, server_id, server_name, is_private, direct_person_key, local_only, title, status, stories_off, current_recap_version, next_recap_version, consolidated_to, last_message_at, created_at, closed_at, metadata) VALUES (153413222401101, 'iris', 153413222401102, 'discord/plaza', 'discord', 'plaza', '', NULL, 's1', '', 0, NULL, 0, '', 'open', 0, 0, 1, 153413222401108, '2026-03-10 11:52:00', '2026-03-10 12:00:00', NULL, NULL);
INSERT INTO conversations (id, persona_id, audience_id, conversation_key, interface, chat_id, thread_id, parent_key, server_id, server_name, is_private, direct_person_key, local_only, title, status, stories_off, current_recap_version, next_recap_version, consolidated_to, last_message_at, created_at, closed_at, metadata) VALUES (153413222401104, 'juno', 153413222401105, 'web/1', 'web', '1', '', NULL, '', '', 0, NULL, 0, '', 'open', 0, NULL, 0, NULL, NULL, '2026-03-10 12:00:00', NULL, NULL);
INSERT INTO conversations (id, persona_id, audience_id, conversation_key, interface, chat_id, thread_id, parent_key, server_id, server_name, is_private, direct_person_key, local_only, title, status, stories_off, current_recap_version, next_recap_version, consolidated_to, last_message_at, created_at, closed_at, metadata) VALUES (153413222401110, 'iris', 153413222401111, 'discord/dm-ann', 'discord', 'dm-ann', '', NULL, '', '', 1, 'discord/ann', 0, '', 'open', 0, NULL, 0, NULL, '2026-03-10 12:00:00', '2026-03-10 12:00:00', NULL, NULL);
INSERT INTO conversations (id, persona_id, audience_id, conversation_key, interface, chat_id, thread_id, parent_key, server_id, server_name, is_private, direct_person_key, local_only, title, status, stories_off, current_recap_version, next_recap_version, consolidated_to, last_message_at, created_at, closed_at, metadata) VALUES (153413222401113, 'iris', 153413222401114, 'discord/hall', 'discord', 'hall', '', NULL, 's2', '', 0, NULL, 0, '', 'open', 0, NULL, 0, NULL, '2026-03-10 12:00:00', '2026-03-10 12:00:00', NULL, NULL);
INSERT INTO conversations (id, persona_id, audience_id, conversation_key, interface, chat_id, thread_id, parent_key, server_id, server_name, is_private, direct_person_key, local_only, title, status, stories_off, current_recap_version, next_recap_version, consolidated_to, last_message_at, created_at, closed_at, metadata) VALUES (153413222401124, 'iris', 153413222401102, 'discord/harbour', 'discord', 'harbour', '', NULL, 's1', '', 0, NULL, 0, '', 'open', 0, NULL, 0, NULL, NULL, '2026-03-10 12:00:00', NULL, NULL);
INSERT INTO participants (persona_id, participant_key, person_key, display_name, created_at, updated_at) VALUES ('iris', 'discord/ann', 'discord/ann', 'Ann', '2026-03-10 12:00:00', '2026-03-10 12:00:00');
INSERT INTO participants (persona_id, participant_key, person_key, display_name, created_at, updated_at) VALUES ('iris', 'discord/bob', 'discord/bob', 'Bob', '2026-03-10 12:00:00', '2026-03-10 12:00:00');
INSERT INTO participants (persona_id, participant_key, person_key, display_name, created_at, updated_at) VALUES ('iris', 'discord/carl', 'discord/carl', '', '2026-03-10 12:00:00', '2026-03-10 12:00:00');
INSERT INTO participants (persona_id, participant_key, person_key, display_name, created_at, updated_at) VALUES ('iris', 'telegram_bot/7', 'discord/ann', '', '2026-03-10 12:00:00', '2026-03-10 12:00:00');
INSERT INTO privacy_levels (participant_key, level, updated_at) VALUES ('discord/carl', 'full', '2026-03-10 12:00:00');
INSERT INTO chat_history_cache (id, persona_id, audience_id, interface_path, message_id, sender_id, participant_key, sender_name, `role`, message_text, text_folded, triggered_by, metadata, made_with, timestamp, hidden, excluded, no_items, content_hash, edited_at, indexed) VALUES (153413222401106, 'iris', 153413222401102, 'discord/plaza', '1', 'ann', 'discord/ann', 'Ann', 'user', 'The harbour festival begins on Friday.', 'the harbour festival begins on friday.', NULL, NULL, NULL, '2026-03-10 11:51:00', 1, 0, 0, X'4078d3df378baa1dd585e00d8c61fa852380951bc8b1fa7a3f2aad120b9b6ce1', NULL, 1);
INSERT INTO chat_history_cache (id, persona_id, audience_id, interface_path, message_id, sender_id, participant_key, sender_name, `role`, message_text, text_folded, triggered_by, metadata, made_with, timestamp, hidden, excluded, no_items, content_hash, edited_at, indexed) VALUES (153413222401108, 'iris', 153413222401102, 'discord/plaza', '2', '', NULL, '', 'persona', 'Take an umbrella, Ann.', 'take an umbrella, ann.', 'discord/ann', NULL, NULL, '2026-03-10 11:52:00', 1, 0, 0, X'71ee7df63d1f37846bb3097e20c837a2f31358da8abfd7cc30161f3c6447bf39', NULL, 1);
INSERT INTO chat_history_cache (id, persona_id, audience_id, interface_path, message_id, sender_id, participant_key, sender_name, `role`, message_text, text_folded, triggered_by, metadata, made_with, timestamp, hidden, excluded, no_items, content_hash, edited_at, indexed) VALUES (153413222401109, 'iris', 153413222401111, 'discord/dm-ann', NULL, 'ann', 'discord/ann', 'Ann', 'user', 'My new job is at the lighthouse.', 'my new job is at the lighthouse.', NULL, NULL, NULL, '2026-03-10 12:00:00', 0, 0, 0, X'b6807858d4293fae74628be8fe1ec29b70a61fe564d9c40b0cc713f686d959a5', NULL, 1);
INSERT INTO chat_history_cache (id, persona_id, audience_id, interface_path, message_id, sender_id, participant_key, sender_name, `role`, message_text, text_folded, triggered_by, metadata, made_with, timestamp, hidden, excluded, no_items, content_hash, edited_at, indexed) VALUES (153413222401112, 'iris', 153413222401114, 'discord/hall', NULL, 'bob', 'discord/bob', 'Bob', 'user', 'Bob repairs gliders — 日本, İzmir, 🛩.', 'bob repairs gliders — 日本, izmir, 🛩.', NULL, NULL, NULL, '2026-03-10 12:00:00', 0, 0, 0, X'7a220ee03d5e40214c94ce3241edc6e0a6cfb58ba224211548af912ca98b0543', NULL, 1);
INSERT INTO memories (id, persona_id, audience_id, timestamp, content, text_folded, response_text, author, source, tags, scope, emotion, intensity, emotion_state, tier, kind, importance, pinned, local_only, conversation_key, participant_key, source_message_ids, provenance, expires_at, archived_at, superseded_by, metadata, content_hash, created_at, updated_at, indexed) VALUES (153413222401100, 'iris', 153413222401102, '2026-03-10 12:00:00', 'Ann\'s cat is called Mio.', 'ann\'s cat is called mio.', NULL, 'Ann', 'chat', '[\"cat\"]', 'general', NULL, NULL, NULL, 'long_term', '', 0.500, 0, 0, 'discord/plaza', 'discord/ann', NULL, 'host', NULL, NULL, NULL, NULL, X'72de8664358d87fea8a18c0a22912edeea133a6fb18ffbea43f16bdea039451d', '2026-03-10 12:00:00', '2026-03-10 12:00:00', 1);
INSERT INTO memories (id, persona_id, audience_id, timestamp, content, text_folded, response_text, author, source, tags, scope, emotion, intensity, emotion_state, tier, kind, importance, pinned, local_only, conversation_key, participant_key, source_message_ids, provenance, expires_at, archived_at, superseded_by, metadata, content_hash, created_at, updated_at, indexed) VALUES (153413222401103, 'juno', 153413222401105, '2026-03-10 12:00:00', 'Juno keeps bees.', 'juno keeps bees.', NULL, 'Juno', 'chat', '[\"bees\"]', 'general', NULL, NULL, NULL, 'long_term', '', 0.500, 0, 0, 'web/1', 'discord/ann', NULL, 'host', NULL, NULL, NULL, NULL, X'ee80312b58a786049a02d5a400ba8d5963ed7ddb9035892ad63103dca386f9c2', '2026-03-10 12:00:00', '2026-03-10 12:00:00', 1);
INSERT INTO memories (id, persona_id, audience_id, timestamp, content, text_folded, response_text, author, source, tags, scope, emotion, intensity, emotion_state, tier, kind, importance, pinned, local_only, conversation_key, participant_key, source_message_ids, provenance, expires_at, archived_at, superseded_by, metadata, content_hash, created_at, updated_at, indexed) VALUES (153413222401116, 'iris', 153413222401111, '2026-03-10 12:00:00', 'Ann plays the oboe.', 'ann plays the oboe.', NULL, 'host', 'facts', '[\"music\"]', 'general', NULL, NULL, NULL, 'long_term', 'KeyFacts', 0.500, 0, 0, 'discord/dm-ann', 'discord/ann', NULL, 'host', NULL, NULL, NULL, NULL, X'd4fe4b8dfeaf74e0af9783e6ef79767f6e749a1ab3c58407a53f20fdccb5d1c1', '2026-03-10 12:00:00', '2026-03-10 12:00:00', 1);
INSERT INTO memories (id, persona_id, audience_id, timestamp, content, text_folded, response_text, author, source, tags, scope, emotion, intensity, emotion_state, tier, kind, importance, pinned, local_only, conversation_key, participant_key, source_message_ids, provenance, expires_at, archived_at, superseded_by, metadata, content_hash, created_at, updated_at, indexed) VALUES (153413222401118, 'iris', 153413222401119, '2026-03-10 12:00:00', 'Ann is allergic to hazelnuts.', 'ann is allergic to hazelnuts.', NULL, 'user', 'user', '[]', 'general', NULL, NULL, NULL, 'long_term', 'saved', 0.500, 1, 0, 'discord/dm-ann', 'discord/ann', NULL, 'host', NULL, NULL, NULL, NULL, X'1bd75c053cf021f95d4d5d9c3ae477088b2d88392c5b3dad6ac8b987fe31441d', '2026-03-10 12:00:00', '2026-03-10 12:00:00', 1);
INSERT INTO memories (id, persona_id, audience_id, timestamp, content, text_folded, response_text, author, source, tags, scope, emotion, intensity, emotion_state, tier, kind, importance, pinned, local_only, conversation_key, participant_key, source_message_ids, provenance, expires_at, archived_at, superseded_by, metadata, content_hash, created_at, updated_at, indexed) VALUES (153413222401130, 'iris', 153413222401102, '2026-03-10 12:00:00', 'Ann\'s boat is the Seagull.', 'ann\'s boat is the seagull.', NULL, '', 'store', '[]', 'general', NULL, NULL, NULL, 'long_term', 'entry', 0.500, 1, 0, 'discord/plaza', 'discord/ann', NULL, 'host', NULL, NULL, NULL, NULL, X'3e62c9a9ac5c3845e3b0a10c2c2b28150ea21ce337652bbafeb847c3a1470a3b', '2026-03-10 12:00:00', '2026-03-10 12:00:00', 1);
INSERT INTO ai_diary (id, persona_id, audience_id, content, personal_thought, interaction_summary, user_message, text_folded, emotions, context_tags, involved_users, timestamp, interface, chat_id, thread_id, local_only, archived_at, content_hash, source_message_ids, participant_keys, indexed) VALUES (153413222401121, 'iris', 153413222401102, 'Ann was proud of her concert.', NULL, NULL, NULL, 'ann was proud of her concert.', '[]', '[\"music\"]', '[\"Ann\"]', '2026-03-10 12:00:00', 'discord', 'plaza', '', 0, NULL, X'164b82495fce6d1d979aaae544133d1338f19159cedf464a03f18d48dadb0535', NULL, '[\"discord/ann\"]', 1);
INSERT INTO tags (persona_id, tag, uses, created_at) VALUES ('iris', 'cat', 1, '2026-03-10 12:00:00');
INSERT INTO tags (persona_id, tag, uses, created_at) VALUES ('iris', 'music', 2, '2026-03-10 12:00:00');
INSERT INTO tags (persona_id, tag, uses, created_at) VALUES ('juno', 'bees', 1, '2026-03-10 12:00:00');
INSERT INTO tag_aliases (persona_id, alias, tag) VALUES ('iris', 'kitty', 'cat');
INSERT INTO tag_links (persona_id, tag, related_tag, weight) VALUES ('iris', 'cat', 'music', 1.000);
INSERT INTO message_recaps (persona_id, message_row, alternative, conversation_key, memory, include, token_count, data, edited, stale, provenance, updated_at) VALUES ('iris', 153413222401106, -1, 'discord/plaza', 'Ann looks forward to the harbour festival.', 'Recap of message(s)', 11, NULL, 0, 0, 'manual', '2026-03-10 12:00:00');
INSERT INTO message_alternatives (persona_id, message_row, alternative, text, is_current, metadata) VALUES ('iris', 153413222401108, 0, 'Take an umbrella, Ann.', 1, NULL);
INSERT INTO message_alternatives (persona_id, message_row, alternative, text, is_current, metadata) VALUES ('iris', 153413222401108, 1, 'Take a raincoat, Ann.', 0, NULL);
INSERT INTO scenes (id, persona_id, conversation_key, break_row, name, visible, current_recap_index) VALUES (153413222401126, 'iris', 'discord/plaza', 153413222401108, 'The harbour', 1, 0);
INSERT INTO scene_recaps (persona_id, scene_id, version_index, content, metadata, provenance, created_at) VALUES ('iris', 153413222401126, 0, 'They spoke about the festival.', NULL, 'manual', '2026-03-10 12:00:00');
INSERT INTO running_recaps (persona_id, conversation_key, version, content, scene_count, excluded_count, prev_scene_index, new_scene_index, provenance, data, created_at, deleted_at) VALUES ('iris', 'discord/plaza', 0, 'A festival is near.', 1, 0, 0, 0, 'model', NULL, '2026-03-10 12:00:00', NULL);
INSERT INTO conversation_summaries (id, persona_id, audience_id, conversation_key, title, summary, occurred_at, last_message_row, local_only, provenance, created_at) VALUES (153413222401120, 'iris', 153413222401102, 'discord/plaza', 'harbour festival begins Friday', 'The harbour festival begins on Friday. Take an umbrella, Ann.', '2026-03-10 11:52:00', 153413222401108, 0, 'extract', '2026-03-10 12:00:00');
INSERT INTO item_history (id, persona_id, item_id, old_text, reason, changed_by, changed_at) VALUES (153413222401136, 'iris', 153413222401116, 'Ann plays the clarinet.', 'edited', 'manual', '2026-03-10 12:00:00');
INSERT INTO short_term_memories (id, persona_id, audience_id, participant_key, channel_id, lineage_id, server_id, server_name, channel_name, parent_channel_id, local_only, messages, summary, summary_updated_at, last_updated, turns_since_summary) VALUES (153413222401125, 'iris', 153413222401102, 'discord/ann', 'discord/harbour', '', 's1', '', '', NULL, 0, '[{\"role\": \"user\", \"content\": \"The ferry is late.\", \"speaker\": \"\", \"timestamp\": \"\", \"who\": \"c6cad31c03c5078f39c2\", \"for\": \"\"}, {\"role\": \"model\", \"content\": \"It comes at six.\", \"speaker\": \"iris\", \"timestamp\": \"\", \"who\": \"\", \"for\": \"\"}]', NULL, NULL, '2026-03-10 12:00:00', 1);
INSERT INTO user_relationships (persona_id, user_id, username, realname, affinity, affinity_base, base_days, trust, interaction_count, last_interaction) VALUES ('iris', 'discord/ann', 'Ann', '', 7, 7, 0, 3, 3, '2026-03-10 12:00:00');
INSERT INTO user_relationships (persona_id, user_id, username, realname, affinity, affinity_base, base_days, trust, interaction_count, last_interaction) VALUES ('iris', 'discord/bob', 'Bob', '', 0, 0, 0, 0, 1, '2026-03-10 12:00:00');
INSERT INTO consolidation_runs (id, persona_id, kind, conversation_key, reason, window_size, items_added, items_pruned, started_at, finished_at, error) VALUES (153413222401135, 'iris', 'consolidation', 'discord/plaza', 'consolidate_history', 2, 0, 0, '2026-03-10 12:00:00', '2026-03-10 12:00:00', NULL);
INSERT INTO stored_values (id, persona_id, audience_id, participant_key, conversation_key, kind, namespace, name, value, memory_id, ttl_seconds, expires_at, created_at, updated_at) VALUES (153413222401131, 'iris', 153413222401102, 'discord/ann', 'discord/plaza', 'entry', X'6e6f7465731f', 'boat', '{\"boat\": \"Seagull\"}', 153413222401130, NULL, NULL, '2026-03-10 12:00:00', '2026-03-10 12:00:00');
INSERT INTO search_fresh (audience_id, source, row_id, digest, content) VALUES (153413222401111, 0, 153413222401116, 2051667903, '[1773144000000000,4,0,\"\\u0000discord/dm-ann\",[\"\",\"discord/ann\",\"\"],{\"ann\":1,\"plays\":1,\"the\":1,\"oboe\":1},[\"music\"],[]]');
INSERT INTO search_segment (audience_id, segment_id, stamp, docs, head, terms) VALUES (153413222401102, 0, 0, 2, '', '');
INSERT INTO search_segment (audience_id, segment_id, stamp, docs, head, terms) VALUES (153413222401102, 2, 819243810884702797, 5, X'785eab562aca2f2f56b25230d551502ac9284a4d4c01f1a295624a0d804009280a61a5641627e717a5e817e424562582845105628122c505a989d9a94560fdd14a2035600c9482f0603a12f3f210128e100e9a5c69716a114223484101d0e0fcbc44a5d8d85aae4496053eeddd0c0c3e503a0b4a0741e91028cd50e0e8b4ca878d0183de28a80416b758aa0aa26190858191818189890106803c9008034804268a2cc60c140700c82b4982', X'785e7d89410ec2300c040be2b40fe07f4ee33411ae8dec04c4ef0912871e1087d18c76afcbb29c2697af3ffd8ff38fffb81d9b14a48ac45bd34032ea584984f3d44cd395bda370f4f62041f196e9854a9e6c382a3b5a606f062b30c5dd6d640482691b22e87463f4ca187b7216213c29de5d1f28ab');
INSERT INTO search_segment (audience_id, segment_id, stamp, docs, head, terms) VALUES (153413222401105, 0, 0, 2, '', '');
INSERT INTO search_segment (audience_id, segment_id, stamp, docs, head, terms) VALUES (153413222401105, 2, 863232914177856754, 1, X'785eab562aca2f2f56b25230d451502ac9284a4d4c01f1a295624a0d80a03c3549df50291628575c909a989d5a04968c5652028aa4641627e717a5e827e6e581b84ab1b1b55cfe2c0b7cdabb1918180a1c9d56f9b03130039930000086e01b50', X'785e636660606044c249a9a9c55c59a579f95cd9a9a905c5002c1b058e');
INSERT INTO search_segment (audience_id, segment_id, stamp, docs, head, terms) VALUES (153413222401111, 0, 0, 3, '', '');
INSERT INTO search_segment (audience_id, segment_id, stamp, docs, head, terms) VALUES (153413222401111, 3, 2538934046786509101, 1, X'785eab562aca2f2f56b25230d451502ac9284a4d4c01f1a29552328b93f38b52f453727513f3f2946281d2c505a989d9a94560f9682547a0285010a60ea408c82d2d4e2d528a8dade50a6559e0d3decdc0c050e0e8b4ca878d819d8109c88100005f8e205b', X'785e6367606060c483134bb8328bb9b2f293b87232d3334a32f24b8b53b9722bb9f252cbb94a325201ae270ae4');
INSERT INTO search_segment (audience_id, segment_id, stamp, docs, head, terms) VALUES (153413222401114, 0, 0, 2, '', '');
INSERT INTO search_segment (audience_id, segment_id, stamp, docs, head, terms) VALUES (153413222401114, 2, 1097236322128282305, 1, X'785eab562aca2f2f56b25230d451502ac9284a4d4c01f1a29552328b93f38b52f43312737294628192c505a989d9a94560d96825a7fc2425a0204c5512845b5a9c5aa4141b5bcb15c1b2c0a7bd9b8181a1c0d169950f1b031b03139003010014811faf', X'785e6363606060c48193f293b8d2733253528b8ab932ab72338bb88a520b123381bc67d3973e9bb386ebc3fcd92b0116f110a0');
INSERT INTO search_segment (audience_id, segment_id, stamp, docs, head, terms) VALUES (153413222401119, 0, 0, 2, '', '');
INSERT INTO search_segment (audience_id, segment_id, stamp, docs, head, terms) VALUES (153413222401119, 2, 4129216053303735264, 1, X'785eab562aca2f2f56b25230d451502ac9284a4d4c01f1a295624a0d802025b33839bf28453f255737312f4f2916a8a8b82035313bb508ac2a5a4909280253045201e42ac5c6d672c5b12cf069ef6660602870745ae5c3c6c00a64c2000003981f15', X'785e6365606060c482137372528bd23393b912f3f2b83212ab5273f24a4b8ab9328bb94af20199400a50');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'an', X'040001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'ann', X'000001010001020001040001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'begins', X'030001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'boat', X'020001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'called', X'010001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'cat', X'010001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'concert', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'festival', X'030001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'friday', X'030001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'harbour', X'030001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'her', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'is', X'010001020001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'mio', X'010001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'of', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'on', X'030001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'proud', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 's', X'010001020001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'seagull', X'020001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'take', X'040001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'the', X'020001030001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'umbrella', X'040001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 0, 'was', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 1, 'cat', X'010001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 1, 'music', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401102, 2, 3, '2026-03-13', X'030001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401105, 2, 0, 'bees', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401105, 2, 0, 'juno', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401105, 2, 0, 'keeps', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401105, 2, 1, 'bees', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401111, 3, 0, 'at', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401111, 3, 0, 'is', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401111, 3, 0, 'job', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401111, 3, 0, 'lighthouse', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401111, 3, 0, 'my', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401111, 3, 0, 'new', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401111, 3, 0, 'the', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401114, 2, 0, 'bob', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401114, 2, 0, 'gliders', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401114, 2, 0, 'izmir', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401114, 2, 0, 'repairs', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401114, 2, 0, X'e697a5e69cac', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401114, 2, 0, X'f09f9ba9', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401119, 2, 0, 'allergic', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401119, 2, 0, 'ann', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401119, 2, 0, 'hazelnuts', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401119, 2, 0, 'is', X'000001');
INSERT INTO search_block (audience_id, segment_id, kind, term, postings) VALUES (153413222401119, 2, 0, 'to', X'000001');
INSERT INTO search_vector (audience_id, model, at_us, source, row_id, part, `vector`, stamp) VALUES (153413222401102, 'letters', 1773143460000000, 2, 153413222401106, 0, X'7f7f7f552a', 1);
INSERT INTO search_vector (audience_id, model, at_us, source, row_id, part, `vector`, stamp) VALUES (153413222401102, 'letters', 1773143520000000, 2, 153413222401108, 0, X'7f5500002a', 1);
INSERT INTO search_vector (audience_id, model, at_us, source, row_id, part, `vector`, stamp) VALUES (153413222401102, 'letters', 1773144000000000, 0, 153413222401100, 0, X'7f407f4000', 1);
INSERT INTO search_vector (audience_id, model, at_us, source, row_id, part, `vector`, stamp) VALUES (153413222401102, 'letters', 1773144000000000, 0, 153413222401130, 0, X'7f7f404040', 1);
INSERT INTO search_vector (audience_id, model, at_us, source, row_id, part, `vector`, stamp) VALUES (153413222401102, 'letters', 1773144000000000, 1, 153413222401121, 0, X'2a55007f2a', 1);
INSERT INTO search_vector (audience_id, model, at_us, source, row_id, part, `vector`, stamp) VALUES (153413222401111, 'letters', 1773144000000000, 2, 153413222401109, 0, X'2a7f55552a', 1);
INSERT INTO search_vector (audience_id, model, at_us, source, row_id, part, `vector`, stamp) VALUES (153413222401114, 'letters', 1773144000000000, 2, 153413222401112, 0, X'2a557f5500', 1);
INSERT INTO search_vector (audience_id, model, at_us, source, row_id, part, `vector`, stamp) VALUES (153413222401119, 'letters', 1773144000000000, 0, 153413222401118, 0, X'7f7f7f4040', 1);
INSERT INTO search_vector_version (audience_id, version) VALUES (153413222401102, 1);
INSERT INTO search_vector_version (audience_id, version) VALUES (153413222401111, 3);
INSERT INTO search_vector_version (audience_id, version) VALUES (153413222401114, 1);
INSERT INTO search_vector_version (audience_id, version) VALUES (153413222401119, 1);
INSERT INTO search_vector_gone (audience_id, stamp, source, row_id) VALUES (153413222401111, 2, 0, 153413222401116);
INSERT INTO search_vector_gone (audience_id, stamp, source, row_id) VALUES (153413222401111, 3, 0, 153413222401117);
INSERT INTO memory_jobs (id, persona_id, conversation_key, participant_key, type, priority, status, payload, depends_on, tries, available_at, lease_until, claimed_by, error, created_at, updated_at) VALUES (153413222401127, 'iris', 'discord/plaza', NULL, 'SCENE_RECAP', 1, 'pending', '{\"message_id\": 153413222401108}', NULL, 0, NULL, NULL, NULL, NULL, '2026-03-10 12:00:00', '2026-03-10 12:00:00');
INSERT INTO memory_jobs (id, persona_id, conversation_key, participant_key, type, priority, status, payload, depends_on, tries, available_at, lease_until, claimed_by, error, created_at, updated_at) VALUES (153413222401128, 'iris', 'discord/plaza', NULL, 'RUNNING_SCENE_RECAP', 0, 'pending', '{}', NULL, 0, NULL, NULL, NULL, NULL, '2026-03-10 12:00:00', '2026-03-10 12:00:00');
INSERT INTO memory_jobs (id, persona_id, conversation_key, participant_key, type, priority, status, payload, depends_on, tries, available_at, lease_until, claimed_by, error, created_at, updated_at) VALUES (153413222401132, 'iris', 'discord/hall', 'discord/bob', 'CONVERSATION_SUMMARY', 1, 'pending', '{}', NULL, 0, NULL, NULL, NULL, NULL, '2026-03-10 12:00:00', '2026-03-10 12:00:00');
INSERT INTO memory_jobs (id, persona_id, conversation_key, participant_key, type, priority, status, payload, depends_on, tries, available_at, lease_until, claimed_by, error, created_at, updated_at) VALUES (153413222401134, 'iris', 'discord/plaza', NULL, 'CONSOLIDATION', 1, 'completed', '{\"reason\": \"consolidate_history\"}', NULL, 1, NULL, NULL, 'vm:11272:6f5ce02f984a8763', NULL, '2026-03-10 12:00:00', '2026-03-10 12:00:00');
INSERT INTO counters (persona_id, name, value) VALUES ('iris', 'tag_vocabulary', 4);
INSERT INTO counters (persona_id, name, value) VALUES ('iris', 'vectors/high/0/7ad8dbe5dbed0dcd', 153412976640000);
INSERT INTO counters (persona_id, name, value) VALUES ('iris', 'vectors/high/1/7ad8dbe5dbed0dcd', 153412976640000);
INSERT INTO counters (persona_id, name, value) VALUES ('iris', 'vectors/high/2/7ad8dbe5dbed0dcd', 153412976640000);
INSERT INTO counters (persona_id, name, value) VALUES ('iris', 'vectors/low/0/7ad8dbe5dbed0dcd', 153412976640000);
INSERT INTO counters (persona_id, name, value) VALUES ('iris', 'vectors/low/1/7ad8dbe5dbed0dcd', 153412976640000);
INSERT INTO counters (persona_id, name, value) VALUES ('iris', 'vectors/low/2/7ad8dbe5dbed0dcd', 153412976640000);
INSERT INTO counters (persona_id, name, value) VALUES ('juno', 'tag_vocabulary', 1);
INSERT INTO access_tokens (id, persona_id, kind, token_hash, participant_key, conversation_key, server_id, personas, label, resource, created_at, expires_at, revoked_at) VALUES (153413222401133, 'iris', 'scope', X'29d752d065ab7300f011b9f92135180730511f7ce54a2af51caade8174dcef2b', 'discord/ann', 'discord/dm-ann', '', '', 'phone', '', '2026-03-10 12:00:00', NULL, NULL);
