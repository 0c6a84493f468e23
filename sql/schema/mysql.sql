-- The database as it is today: MySQL 8.0+, MariaDB 10.11+, OceanBase. Read it in with a client that uses utf8mb4.
-- Written by `make docs`.

CREATE TABLE IF NOT EXISTS audiences (
    audience_id BIGINT NOT NULL,
    persona_id VARBINARY(64) NOT NULL DEFAULT 'default',
    kind VARBINARY(12) NOT NULL DEFAULT '',
    server_id VARBINARY(191) NOT NULL DEFAULT '',
    ref VARBINARY(512) NOT NULL DEFAULT '',
    -- the row (8 bytes)
    PRIMARY KEY (audience_id),
    -- for finding or creating the audience of a row (779 bytes)
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
    -- for the conversation of a message (576 bytes)
    UNIQUE KEY uq_conversations_key (persona_id, conversation_key),
    -- for the newest other conversations of an audience: history_recent (80 bytes)
    KEY ix_conversations_audience (persona_id, audience_id, last_message_at),
    -- for conversations of a server, newest first (263 bytes)
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
    -- for a participant in all personas: what may be stored of them (255 bytes)
    KEY ix_participants_key (participant_key),
    -- for all identities of a person (319 bytes)
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
    -- refuses a second message with the same id (NULLs do not collide) (767 bytes)
    UNIQUE KEY uq_chat_message (persona_id, interface_path, message_id),
    -- for the newest messages of all conversations and the search (88 bytes)
    KEY ix_chat_audience (persona_id, audience_id, timestamp, id),
    -- for the same text within 5 s (616 bytes)
    KEY ix_chat_content (persona_id, interface_path, content_hash, timestamp),
    -- for the newest messages of a conversation and ranges of a story (592 bytes)
    KEY ix_chat_conversation (persona_id, interface_path, timestamp, id),
    -- for forgetting a participant (327 bytes)
    KEY ix_chat_participant (persona_id, participant_key, id),
    -- for forgetting a participant (327 bytes)
    KEY ix_chat_triggered (persona_id, triggered_by, id),
    -- for rows that wait to be indexed (76 bytes)
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
    -- for listing and the search (96 bytes)
    KEY ix_memories_audience (persona_id, audience_id, archived_at, timestamp, id),
    -- for finding duplicates (104 bytes)
    KEY ix_memories_content (persona_id, audience_id, content_hash),
    -- for forgetting, and for the relationship of items (584 bytes)
    KEY ix_memories_conversation (persona_id, conversation_key, id),
    -- for expiry (90 bytes)
    KEY ix_memories_expiry (persona_id, tier, expires_at, id),
    -- for the admin search, saved memories and the export (100 bytes)
    KEY ix_memories_kind (persona_id, kind, timestamp, id),
    -- for forgetting, and for the relationship of items (327 bytes)
    KEY ix_memories_participant (persona_id, participant_key, id),
    -- for rows that wait to be indexed (76 bytes)
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
    -- for recent entries and the search (96 bytes)
    KEY ix_diary_audience (persona_id, audience_id, archived_at, timestamp, id),
    -- for entries of a chat (385 bytes)
    KEY ix_diary_chat (persona_id, interface, chat_id, timestamp, id),
    -- for rows that wait to be indexed (76 bytes)
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
    -- for the other direction (574 bytes)
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
    -- for the messages of a story in order (584 bytes)
    KEY ix_recaps_conversation (persona_id, conversation_key, message_row),
    -- for included recaps, in the prompt and at each refresh, however many there are (736 bytes)
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
    -- one scene per break (72 bytes)
    UNIQUE KEY uq_scenes_break (persona_id, break_row),
    -- for breaks in order (584 bytes)
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
    -- refuses a second row for the same end (584 bytes)
    UNIQUE KEY uq_summaries_end (persona_id, conversation_key, last_message_row),
    -- for the rolling list (88 bytes)
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
    -- for the earlier texts of an item in order (80 bytes)
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
    -- for the entry of a person in a channel (831 bytes)
    UNIQUE KEY uq_short_term_entry (persona_id, participant_key, channel_id),
    -- for the entries of a channel, which are deleted and moved with it, and for whether an entry is the newest (592 bytes)
    KEY ix_short_term_channel (persona_id, channel_id, last_updated, id),
    -- for expiry (80 bytes)
    KEY ix_short_term_expiry (persona_id, last_updated, id),
    -- for channels of a server, newest first (271 bytes)
    KEY ix_short_term_server (persona_id, server_id, last_updated, id),
    -- for other channels of a person, newest first (335 bytes)
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
    -- for the recent list and the decay (327 bytes)
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
    -- for the latest runs (72 bytes)
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
    -- for forgetting (584 bytes)
    KEY ix_values_conversation (persona_id, conversation_key, id),
    -- for forgetting (72 bytes)
    KEY ix_values_memory (persona_id, memory_id),
    -- for one value by name, and values below a namespace. Not unique: two may meet when a conversation turns private (1600 bytes)
    KEY ix_values_name (persona_id, audience_id, kind, namespace, name, id),
    -- for forgetting (327 bytes)
    KEY ix_values_participant (persona_id, participant_key, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_fresh (
    audience_id BIGINT NOT NULL,
    source TINYINT NOT NULL,
    row_id BIGINT NOT NULL,
    digest BIGINT NOT NULL,
    content MEDIUMBLOB NOT NULL,
    -- the audience's rows that are not packed yet: ranking data with words, tags and days (20 bytes)
    PRIMARY KEY (audience_id, source, row_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_segment (
    audience_id BIGINT NOT NULL,
    segment_id BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    docs INTEGER NOT NULL,
    head MEDIUMBLOB NOT NULL,
    terms MEDIUMBLOB NOT NULL,
    -- for packed rows of an audience (16 bytes)
    PRIMARY KEY (audience_id, segment_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_block (
    audience_id BIGINT NOT NULL,
    segment_id BIGINT NOT NULL,
    kind TINYINT NOT NULL,
    term VARBINARY(255) NOT NULL DEFAULT '',
    postings MEDIUMBLOB NOT NULL,
    -- the places of a word (kind 0) or tag (kind 1) in a segment, and the rows about a day (kind 3) (275 bytes)
    PRIMARY KEY (audience_id, segment_id, kind, term)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_gone (
    audience_id BIGINT NOT NULL,
    source TINYINT NOT NULL,
    row_id BIGINT NOT NULL,
    segment_id BIGINT NOT NULL,
    -- packed rows that were changed or deleted since (20 bytes)
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
    -- for the newest vectors of an audience that one embedder made (132 bytes)
    PRIMARY KEY (audience_id, model, at_us, source, row_id, part),
    -- for the vectors of a row: a search candidate, or a row that is changed or deleted (20 bytes)
    KEY ix_vector_row (audience_id, source, row_id),
    -- for vectors added since a process read the others (116 bytes)
    KEY ix_vector_stamp (audience_id, model, stamp)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_vector_version (
    audience_id BIGINT NOT NULL,
    version BIGINT NOT NULL,
    -- for whether a process's cached vectors are current (8 bytes)
    PRIMARY KEY (audience_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS search_vector_gone (
    audience_id BIGINT NOT NULL,
    stamp BIGINT NOT NULL,
    source TINYINT NOT NULL,
    row_id BIGINT NOT NULL,
    -- rows whose vectors were deleted since a process read them, for the last thousand versions (28 bytes)
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
    -- for operations of a conversation: one detection at a time, forgetting (620 bytes)
    KEY ix_jobs_conversation (persona_id, conversation_key, type, status),
    -- for the next operation (96 bytes)
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
