-- The database as it is today: SQLite 3.38+.
-- Written by `make docs`.

CREATE TABLE IF NOT EXISTS audiences (
    audience_id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    kind TEXT DEFAULT '' NOT NULL,
    server_id TEXT DEFAULT '' NOT NULL,
    ref TEXT DEFAULT '' NOT NULL,
    -- the row (8 bytes)
    PRIMARY KEY (audience_id)
);
-- for finding or creating the audience of a row (779 bytes)
CREATE UNIQUE INDEX IF NOT EXISTS uq_audiences_owner ON audiences (persona_id, kind, server_id, ref);

CREATE TABLE IF NOT EXISTS conversations (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    audience_id INTEGER NOT NULL,
    conversation_key TEXT DEFAULT '' NOT NULL,
    interface TEXT DEFAULT '' NOT NULL,
    chat_id TEXT DEFAULT '' NOT NULL,
    thread_id TEXT DEFAULT '' NOT NULL,
    parent_key TEXT,
    server_id TEXT DEFAULT '' NOT NULL,
    server_name VARCHAR(200) DEFAULT '' NOT NULL,
    is_private INTEGER DEFAULT 0 NOT NULL,
    direct_person_key TEXT,
    local_only INTEGER DEFAULT 0 NOT NULL,
    title VARCHAR(200) DEFAULT '' NOT NULL,
    status TEXT DEFAULT 'open' NOT NULL,
    stories_off INTEGER DEFAULT 0 NOT NULL,
    current_recap_version INTEGER,
    next_recap_version INTEGER DEFAULT 0 NOT NULL,
    consolidated_to INTEGER,
    last_message_at TEXT,
    created_at TEXT,
    closed_at TEXT,
    metadata TEXT,
    -- the row (8 bytes)
    PRIMARY KEY (id),
    CONSTRAINT ck_conversations_metadata CHECK (metadata IS NULL OR json_valid(metadata))
);
-- for the conversation of a message (576 bytes)
CREATE UNIQUE INDEX IF NOT EXISTS uq_conversations_key ON conversations (persona_id, conversation_key);
-- for the newest other conversations of an audience: history_recent (80 bytes)
CREATE INDEX IF NOT EXISTS ix_conversations_audience ON conversations (persona_id, audience_id, last_message_at);
-- for conversations of a server, newest first (263 bytes)
CREATE INDEX IF NOT EXISTS ix_conversations_server ON conversations (persona_id, server_id, last_message_at);

CREATE TABLE IF NOT EXISTS participants (
    persona_id TEXT DEFAULT 'default' NOT NULL,
    participant_key TEXT DEFAULT '' NOT NULL,
    person_key TEXT DEFAULT '' NOT NULL,
    display_name VARCHAR(255) DEFAULT '' NOT NULL,
    created_at TEXT,
    updated_at TEXT,
    -- the row (319 bytes)
    PRIMARY KEY (persona_id, participant_key)
) WITHOUT ROWID;
-- for a participant in all personas: what may be stored of them (255 bytes)
CREATE INDEX IF NOT EXISTS ix_participants_key ON participants (participant_key);
-- for all identities of a person (319 bytes)
CREATE INDEX IF NOT EXISTS ix_participants_person ON participants (persona_id, person_key);

CREATE TABLE IF NOT EXISTS privacy_levels (
    participant_key TEXT DEFAULT '' NOT NULL,
    level TEXT DEFAULT '' NOT NULL,
    updated_at TEXT,
    -- the row (255 bytes)
    PRIMARY KEY (participant_key)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS chat_history_cache (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    audience_id INTEGER DEFAULT 0 NOT NULL,
    interface_path TEXT DEFAULT '' NOT NULL,
    message_id TEXT,
    sender_id TEXT DEFAULT '' NOT NULL,
    participant_key TEXT,
    sender_name VARCHAR(255) DEFAULT '' NOT NULL,
    role TEXT DEFAULT 'user' NOT NULL,
    message_text TEXT NOT NULL,
    text_folded TEXT,
    triggered_by TEXT,
    metadata TEXT,
    made_with TEXT,
    timestamp TEXT,
    hidden INTEGER DEFAULT 0 NOT NULL,
    excluded INTEGER DEFAULT 0 NOT NULL,
    no_items INTEGER DEFAULT 0 NOT NULL,
    content_hash BLOB,
    edited_at TEXT,
    "indexed" INTEGER DEFAULT 0 NOT NULL,
    -- the row (8 bytes)
    PRIMARY KEY (id),
    CONSTRAINT ck_chat_history_cache_made_with CHECK (made_with IS NULL OR json_valid(made_with)),
    CONSTRAINT ck_chat_history_cache_metadata CHECK (metadata IS NULL OR json_valid(metadata))
);
-- refuses a second message with the same id (NULLs do not collide) (767 bytes)
CREATE UNIQUE INDEX IF NOT EXISTS uq_chat_message ON chat_history_cache (persona_id, interface_path, message_id);
-- for the newest messages of all conversations and the search (88 bytes)
CREATE INDEX IF NOT EXISTS ix_chat_audience ON chat_history_cache (persona_id, audience_id, timestamp, id);
-- for the same text within 5 s (616 bytes)
CREATE INDEX IF NOT EXISTS ix_chat_content ON chat_history_cache (persona_id, interface_path, content_hash, timestamp);
-- for the newest messages of a conversation and ranges of a story (592 bytes)
CREATE INDEX IF NOT EXISTS ix_chat_conversation ON chat_history_cache (persona_id, interface_path, timestamp, id);
-- for forgetting a participant (327 bytes)
CREATE INDEX IF NOT EXISTS ix_chat_participant ON chat_history_cache (persona_id, participant_key, id);
-- for forgetting a participant (327 bytes)
CREATE INDEX IF NOT EXISTS ix_chat_triggered ON chat_history_cache (persona_id, triggered_by, id);
-- for rows that wait to be indexed (76 bytes)
CREATE INDEX IF NOT EXISTS ix_chat_waiting ON chat_history_cache (persona_id, "indexed", id);

CREATE TABLE IF NOT EXISTS memories (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    audience_id INTEGER DEFAULT 0 NOT NULL,
    timestamp TEXT,
    content TEXT NOT NULL,
    text_folded TEXT,
    response_text TEXT,
    author VARCHAR(100),
    source VARCHAR(100),
    tags TEXT,
    scope VARCHAR(50),
    emotion VARCHAR(50),
    intensity INTEGER,
    emotion_state VARCHAR(50),
    tier TEXT DEFAULT 'long_term' NOT NULL,
    kind TEXT DEFAULT '' NOT NULL,
    importance NUMERIC(4, 3) DEFAULT '0.5' NOT NULL,
    pinned INTEGER DEFAULT 0 NOT NULL,
    local_only INTEGER DEFAULT 0 NOT NULL,
    conversation_key TEXT,
    participant_key TEXT,
    source_message_ids TEXT,
    provenance TEXT DEFAULT 'host' NOT NULL,
    expires_at TEXT,
    archived_at TEXT,
    superseded_by INTEGER,
    metadata TEXT,
    content_hash BLOB,
    created_at TEXT,
    updated_at TEXT,
    "indexed" INTEGER DEFAULT 0 NOT NULL,
    -- the row (8 bytes)
    PRIMARY KEY (id),
    CONSTRAINT ck_memories_metadata CHECK (metadata IS NULL OR json_valid(metadata)),
    CONSTRAINT ck_memories_source_message_ids CHECK (source_message_ids IS NULL OR json_valid(source_message_ids)),
    CONSTRAINT ck_memories_tags CHECK (tags IS NULL OR json_valid(tags))
);
-- for listing and the search (96 bytes)
CREATE INDEX IF NOT EXISTS ix_memories_audience ON memories (persona_id, audience_id, archived_at, timestamp, id);
-- for finding duplicates (104 bytes)
CREATE INDEX IF NOT EXISTS ix_memories_content ON memories (persona_id, audience_id, content_hash);
-- for forgetting, and for the relationship of items (584 bytes)
CREATE INDEX IF NOT EXISTS ix_memories_conversation ON memories (persona_id, conversation_key, id);
-- for expiry (90 bytes)
CREATE INDEX IF NOT EXISTS ix_memories_expiry ON memories (persona_id, tier, expires_at, id);
-- for the admin search, saved memories and the export (100 bytes)
CREATE INDEX IF NOT EXISTS ix_memories_kind ON memories (persona_id, kind, timestamp, id);
-- for forgetting, and for the relationship of items (327 bytes)
CREATE INDEX IF NOT EXISTS ix_memories_participant ON memories (persona_id, participant_key, id);
-- for rows that wait to be indexed (76 bytes)
CREATE INDEX IF NOT EXISTS ix_memories_waiting ON memories (persona_id, "indexed", id);

CREATE TABLE IF NOT EXISTS ai_diary (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    audience_id INTEGER DEFAULT 0 NOT NULL,
    content TEXT NOT NULL,
    personal_thought TEXT,
    interaction_summary TEXT,
    user_message TEXT,
    text_folded TEXT,
    emotions TEXT,
    context_tags TEXT,
    involved_users TEXT,
    timestamp TEXT,
    interface TEXT DEFAULT '' NOT NULL,
    chat_id TEXT DEFAULT '' NOT NULL,
    thread_id TEXT DEFAULT '' NOT NULL,
    local_only INTEGER DEFAULT 0 NOT NULL,
    archived_at TEXT,
    content_hash BLOB,
    source_message_ids TEXT,
    participant_keys TEXT,
    "indexed" INTEGER DEFAULT 0 NOT NULL,
    -- the row (8 bytes)
    PRIMARY KEY (id),
    CONSTRAINT ck_ai_diary_context_tags CHECK (context_tags IS NULL OR json_valid(context_tags)),
    CONSTRAINT ck_ai_diary_emotions CHECK (emotions IS NULL OR json_valid(emotions)),
    CONSTRAINT ck_ai_diary_involved_users CHECK (involved_users IS NULL OR json_valid(involved_users)),
    CONSTRAINT ck_ai_diary_participant_keys CHECK (participant_keys IS NULL OR json_valid(participant_keys)),
    CONSTRAINT ck_ai_diary_source_message_ids CHECK (source_message_ids IS NULL OR json_valid(source_message_ids))
);
-- for recent entries and the search (96 bytes)
CREATE INDEX IF NOT EXISTS ix_diary_audience ON ai_diary (persona_id, audience_id, archived_at, timestamp, id);
-- for entries of a chat (385 bytes)
CREATE INDEX IF NOT EXISTS ix_diary_chat ON ai_diary (persona_id, interface, chat_id, timestamp, id);
-- for rows that wait to be indexed (76 bytes)
CREATE INDEX IF NOT EXISTS ix_diary_waiting ON ai_diary (persona_id, "indexed", id);

CREATE TABLE IF NOT EXISTS tags (
    persona_id TEXT DEFAULT 'default' NOT NULL,
    tag TEXT DEFAULT '' NOT NULL,
    uses INTEGER DEFAULT 0 NOT NULL,
    created_at TEXT,
    -- the row (319 bytes)
    PRIMARY KEY (persona_id, tag)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tag_aliases (
    persona_id TEXT DEFAULT 'default' NOT NULL,
    alias TEXT DEFAULT '' NOT NULL,
    tag TEXT DEFAULT '' NOT NULL,
    -- the row (319 bytes)
    PRIMARY KEY (persona_id, alias)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS tag_links (
    persona_id TEXT DEFAULT 'default' NOT NULL,
    tag TEXT DEFAULT '' NOT NULL,
    related_tag TEXT DEFAULT '' NOT NULL,
    weight NUMERIC(6, 3) DEFAULT 1 NOT NULL,
    -- the row (574 bytes)
    PRIMARY KEY (persona_id, tag, related_tag)
) WITHOUT ROWID;
-- for the other direction (574 bytes)
CREATE INDEX IF NOT EXISTS ix_tag_links_related ON tag_links (persona_id, related_tag, tag);

CREATE TABLE IF NOT EXISTS message_recaps (
    persona_id TEXT DEFAULT 'default' NOT NULL,
    message_row INTEGER NOT NULL,
    alternative INTEGER DEFAULT (-1) NOT NULL,
    conversation_key TEXT DEFAULT '' NOT NULL,
    memory TEXT,
    include VARCHAR(40),
    token_count INTEGER,
    data TEXT,
    edited INTEGER DEFAULT 0 NOT NULL,
    stale INTEGER DEFAULT 0 NOT NULL,
    provenance TEXT DEFAULT 'model' NOT NULL,
    updated_at TEXT,
    -- the row (76 bytes)
    PRIMARY KEY (persona_id, message_row, alternative),
    CONSTRAINT ck_message_recaps_data CHECK (data IS NULL OR json_valid(data))
);
-- for the messages of a story in order (584 bytes)
CREATE INDEX IF NOT EXISTS ix_recaps_conversation ON message_recaps (persona_id, conversation_key, message_row);
-- for included recaps, in the prompt and at each refresh, however many there are (736 bytes)
CREATE INDEX IF NOT EXISTS ix_recaps_included ON message_recaps (persona_id, conversation_key, include);

CREATE TABLE IF NOT EXISTS message_alternatives (
    persona_id TEXT DEFAULT 'default' NOT NULL,
    message_row INTEGER NOT NULL,
    alternative INTEGER NOT NULL,
    text TEXT NOT NULL,
    is_current INTEGER DEFAULT 0 NOT NULL,
    metadata TEXT,
    -- the row (76 bytes)
    PRIMARY KEY (persona_id, message_row, alternative),
    CONSTRAINT ck_message_alternatives_metadata CHECK (metadata IS NULL OR json_valid(metadata))
);

CREATE TABLE IF NOT EXISTS scenes (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    conversation_key TEXT DEFAULT '' NOT NULL,
    break_row INTEGER NOT NULL,
    name VARCHAR(200) DEFAULT '' NOT NULL,
    visible INTEGER DEFAULT 1 NOT NULL,
    current_recap_index INTEGER,
    -- the row (8 bytes)
    PRIMARY KEY (id)
);
-- one scene per break (72 bytes)
CREATE UNIQUE INDEX IF NOT EXISTS uq_scenes_break ON scenes (persona_id, break_row);
-- for breaks in order (584 bytes)
CREATE INDEX IF NOT EXISTS ix_scenes_conversation ON scenes (persona_id, conversation_key, break_row);

CREATE TABLE IF NOT EXISTS scene_recaps (
    persona_id TEXT DEFAULT 'default' NOT NULL,
    scene_id INTEGER NOT NULL,
    version_index INTEGER NOT NULL,
    content TEXT NOT NULL,
    metadata TEXT,
    provenance TEXT DEFAULT 'model' NOT NULL,
    created_at TEXT,
    -- the row (76 bytes)
    PRIMARY KEY (persona_id, scene_id, version_index),
    CONSTRAINT ck_scene_recaps_metadata CHECK (metadata IS NULL OR json_valid(metadata))
);

CREATE TABLE IF NOT EXISTS running_recaps (
    persona_id TEXT DEFAULT 'default' NOT NULL,
    conversation_key TEXT DEFAULT '' NOT NULL,
    version INTEGER NOT NULL,
    content TEXT NOT NULL,
    scene_count INTEGER DEFAULT 0 NOT NULL,
    excluded_count INTEGER DEFAULT 0 NOT NULL,
    prev_scene_index INTEGER DEFAULT 0 NOT NULL,
    new_scene_index INTEGER DEFAULT 0 NOT NULL,
    provenance TEXT DEFAULT 'model' NOT NULL,
    data TEXT,
    created_at TEXT,
    deleted_at TEXT,
    -- the row (580 bytes)
    PRIMARY KEY (persona_id, conversation_key, version),
    CONSTRAINT ck_running_recaps_data CHECK (data IS NULL OR json_valid(data))
);

CREATE TABLE IF NOT EXISTS conversation_summaries (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    audience_id INTEGER DEFAULT 0 NOT NULL,
    conversation_key TEXT DEFAULT '' NOT NULL,
    title VARCHAR(200) DEFAULT '' NOT NULL,
    summary TEXT NOT NULL,
    occurred_at TEXT,
    last_message_row INTEGER,
    local_only INTEGER DEFAULT 0 NOT NULL,
    provenance TEXT DEFAULT 'model' NOT NULL,
    created_at TEXT,
    -- the row (8 bytes)
    PRIMARY KEY (id)
);
-- refuses a second row for the same end (584 bytes)
CREATE UNIQUE INDEX IF NOT EXISTS uq_summaries_end ON conversation_summaries (persona_id, conversation_key, last_message_row);
-- for the rolling list (88 bytes)
CREATE INDEX IF NOT EXISTS ix_summaries_audience ON conversation_summaries (persona_id, audience_id, occurred_at, id);

CREATE TABLE IF NOT EXISTS item_history (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    item_id INTEGER NOT NULL,
    old_text TEXT NOT NULL,
    reason VARCHAR(100) DEFAULT '' NOT NULL,
    changed_by VARCHAR(100) DEFAULT '' NOT NULL,
    changed_at TEXT,
    -- the row (8 bytes)
    PRIMARY KEY (id)
);
-- for the earlier texts of an item in order (80 bytes)
CREATE INDEX IF NOT EXISTS ix_item_history_item ON item_history (persona_id, item_id, id);

CREATE TABLE IF NOT EXISTS short_term_memories (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    audience_id INTEGER DEFAULT 0 NOT NULL,
    participant_key TEXT DEFAULT '' NOT NULL,
    channel_id TEXT DEFAULT '' NOT NULL,
    lineage_id TEXT DEFAULT '' NOT NULL,
    server_id TEXT DEFAULT '' NOT NULL,
    server_name VARCHAR(200) DEFAULT '' NOT NULL,
    channel_name VARCHAR(200) DEFAULT '' NOT NULL,
    parent_channel_id TEXT,
    local_only INTEGER DEFAULT 0 NOT NULL,
    messages TEXT,
    summary TEXT,
    summary_updated_at TEXT,
    last_updated TEXT,
    turns_since_summary INTEGER DEFAULT 0 NOT NULL,
    -- the row (8 bytes)
    PRIMARY KEY (id),
    CONSTRAINT ck_short_term_memories_messages CHECK (messages IS NULL OR json_valid(messages))
);
-- for the entry of a person in a channel (831 bytes)
CREATE UNIQUE INDEX IF NOT EXISTS uq_short_term_entry ON short_term_memories (persona_id, participant_key, channel_id);
-- for the entries of a channel, which are deleted and moved with it, and for whether an entry is the newest (592 bytes)
CREATE INDEX IF NOT EXISTS ix_short_term_channel ON short_term_memories (persona_id, channel_id, last_updated, id);
-- for expiry (80 bytes)
CREATE INDEX IF NOT EXISTS ix_short_term_expiry ON short_term_memories (persona_id, last_updated, id);
-- for channels of a server, newest first (271 bytes)
CREATE INDEX IF NOT EXISTS ix_short_term_server ON short_term_memories (persona_id, server_id, last_updated, id);
-- for other channels of a person, newest first (335 bytes)
CREATE INDEX IF NOT EXISTS ix_short_term_user ON short_term_memories (persona_id, participant_key, last_updated, id);

CREATE TABLE IF NOT EXISTS user_relationships (
    persona_id TEXT DEFAULT 'default' NOT NULL,
    user_id TEXT DEFAULT '' NOT NULL,
    username VARCHAR(255) DEFAULT '' NOT NULL,
    realname VARCHAR(255) DEFAULT '' NOT NULL,
    affinity INTEGER DEFAULT 0 NOT NULL,
    affinity_base INTEGER DEFAULT 0 NOT NULL,
    base_days INTEGER DEFAULT 0 NOT NULL,
    trust INTEGER DEFAULT 0 NOT NULL,
    interaction_count INTEGER DEFAULT 0 NOT NULL,
    last_interaction TEXT,
    -- the row (319 bytes)
    PRIMARY KEY (persona_id, user_id)
) WITHOUT ROWID;
-- for the recent list and the decay (327 bytes)
CREATE INDEX IF NOT EXISTS ix_relationships_recent ON user_relationships (persona_id, last_interaction, user_id);

CREATE TABLE IF NOT EXISTS consolidation_runs (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    kind TEXT DEFAULT '' NOT NULL,
    conversation_key TEXT DEFAULT '' NOT NULL,
    reason VARCHAR(100) DEFAULT '' NOT NULL,
    window_size INTEGER DEFAULT 0 NOT NULL,
    items_added INTEGER DEFAULT 0 NOT NULL,
    items_pruned INTEGER DEFAULT 0 NOT NULL,
    started_at TEXT,
    finished_at TEXT,
    error VARCHAR(500),
    -- the row (8 bytes)
    PRIMARY KEY (id)
);
-- for the latest runs (72 bytes)
CREATE INDEX IF NOT EXISTS ix_runs_persona ON consolidation_runs (persona_id, id);

CREATE TABLE IF NOT EXISTS stored_values (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    audience_id INTEGER NOT NULL,
    participant_key TEXT DEFAULT '' NOT NULL,
    conversation_key TEXT DEFAULT '' NOT NULL,
    kind TEXT DEFAULT '' NOT NULL,
    namespace TEXT DEFAULT '' NOT NULL,
    name TEXT DEFAULT '' NOT NULL,
    value TEXT,
    memory_id INTEGER,
    ttl_seconds INTEGER,
    expires_at TEXT,
    created_at TEXT,
    updated_at TEXT,
    -- the row (8 bytes)
    PRIMARY KEY (id)
);
-- for forgetting (584 bytes)
CREATE INDEX IF NOT EXISTS ix_values_conversation ON stored_values (persona_id, conversation_key, id);
-- for forgetting (72 bytes)
CREATE INDEX IF NOT EXISTS ix_values_memory ON stored_values (persona_id, memory_id);
-- for one value by name, and values below a namespace. Not unique: two may meet when a conversation turns private (1600 bytes)
CREATE INDEX IF NOT EXISTS ix_values_name ON stored_values (persona_id, audience_id, kind, namespace, name, id);
-- for forgetting (327 bytes)
CREATE INDEX IF NOT EXISTS ix_values_participant ON stored_values (persona_id, participant_key, id);

CREATE TABLE IF NOT EXISTS search_fresh (
    audience_id INTEGER NOT NULL,
    source INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    content BLOB NOT NULL,
    -- the audience's rows that are not packed yet: ranking data with words, tags and days (20 bytes)
    PRIMARY KEY (audience_id, source, row_id)
);

CREATE TABLE IF NOT EXISTS search_segment (
    audience_id INTEGER NOT NULL,
    segment_id INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    docs INTEGER NOT NULL,
    head BLOB NOT NULL,
    terms BLOB NOT NULL,
    -- for packed rows of an audience (16 bytes)
    PRIMARY KEY (audience_id, segment_id)
);

CREATE TABLE IF NOT EXISTS search_block (
    audience_id INTEGER NOT NULL,
    segment_id INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    term TEXT DEFAULT '' NOT NULL,
    postings BLOB NOT NULL,
    -- the places of a word (kind 0) or tag (kind 1) in a segment, and the rows about a day (kind 3) (275 bytes)
    PRIMARY KEY (audience_id, segment_id, kind, term)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS search_gone (
    audience_id INTEGER NOT NULL,
    source INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    segment_id INTEGER NOT NULL,
    -- packed rows that were changed or deleted since (20 bytes)
    PRIMARY KEY (audience_id, source, row_id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS search_vector (
    audience_id INTEGER NOT NULL,
    model TEXT DEFAULT '' NOT NULL,
    at_us INTEGER NOT NULL,
    source INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    part INTEGER NOT NULL,
    "vector" BLOB NOT NULL,
    stamp INTEGER DEFAULT 0 NOT NULL,
    -- for the newest vectors of an audience that one embedder made (132 bytes)
    PRIMARY KEY (audience_id, model, at_us, source, row_id, part)
) WITHOUT ROWID;
-- for the vectors of a row: a search candidate, or a row that is changed or deleted (20 bytes)
CREATE INDEX IF NOT EXISTS ix_vector_row ON search_vector (audience_id, source, row_id);
-- for vectors added since a process read the others (116 bytes)
CREATE INDEX IF NOT EXISTS ix_vector_stamp ON search_vector (audience_id, model, stamp);

CREATE TABLE IF NOT EXISTS search_vector_version (
    audience_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    -- for whether a process's cached vectors are current (8 bytes)
    PRIMARY KEY (audience_id)
);

CREATE TABLE IF NOT EXISTS search_vector_gone (
    audience_id INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    source INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    -- rows whose vectors were deleted since a process read them, for the last thousand versions (28 bytes)
    PRIMARY KEY (audience_id, stamp, source, row_id)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS memory_jobs (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    conversation_key TEXT,
    participant_key TEXT,
    type TEXT DEFAULT '' NOT NULL,
    priority INTEGER DEFAULT 1 NOT NULL,
    status TEXT DEFAULT 'pending' NOT NULL,
    payload TEXT,
    depends_on TEXT,
    tries INTEGER DEFAULT 0 NOT NULL,
    available_at TEXT,
    lease_until TEXT,
    claimed_by TEXT,
    error VARCHAR(500),
    created_at TEXT,
    updated_at TEXT,
    -- the row (8 bytes)
    PRIMARY KEY (id),
    CONSTRAINT ck_memory_jobs_depends_on CHECK (depends_on IS NULL OR json_valid(depends_on)),
    CONSTRAINT ck_memory_jobs_payload CHECK (payload IS NULL OR json_valid(payload))
);
-- for operations of a conversation: one detection at a time, forgetting (620 bytes)
CREATE INDEX IF NOT EXISTS ix_jobs_conversation ON memory_jobs (persona_id, conversation_key, type, status);
-- for the next operation (96 bytes)
CREATE INDEX IF NOT EXISTS ix_jobs_next ON memory_jobs (persona_id, status, priority, created_at, id);

CREATE TABLE IF NOT EXISTS counters (
    persona_id TEXT DEFAULT 'default' NOT NULL,
    name TEXT DEFAULT '' NOT NULL,
    value INTEGER DEFAULT 0 NOT NULL,
    -- the row (128 bytes)
    PRIMARY KEY (persona_id, name)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS access_tokens (
    id INTEGER NOT NULL,
    persona_id TEXT DEFAULT 'default' NOT NULL,
    kind TEXT DEFAULT '' NOT NULL,
    token_hash BLOB NOT NULL,
    participant_key TEXT,
    conversation_key TEXT,
    server_id TEXT DEFAULT '' NOT NULL,
    personas VARCHAR(1000) DEFAULT '' NOT NULL,
    label VARCHAR(100) DEFAULT '' NOT NULL,
    resource VARCHAR(300) DEFAULT '' NOT NULL,
    created_at TEXT,
    expires_at TEXT,
    revoked_at TEXT,
    -- the row (8 bytes)
    PRIMARY KEY (id)
);

CREATE TABLE IF NOT EXISTS model_usage (
    day TEXT DEFAULT '' NOT NULL,
    asker TEXT DEFAULT '' NOT NULL,
    model TEXT DEFAULT '' NOT NULL,
    calls INTEGER DEFAULT 0 NOT NULL,
    characters INTEGER DEFAULT 0 NOT NULL,
    last_at TEXT,
    -- the row (217 bytes)
    PRIMARY KEY (day, asker, model)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS schema_version (
    version_num VARCHAR(32) NOT NULL,
    fingerprint TEXT DEFAULT '' NOT NULL,
    -- the row (128 bytes)
    PRIMARY KEY (version_num)
);

INSERT OR IGNORE INTO schema_version (version_num, fingerprint) VALUES ('0010', 'd23abb4c64022348');
