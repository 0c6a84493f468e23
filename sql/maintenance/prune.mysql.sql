-- Memory items that expired or were archived long ago, with their index rows.
-- Risk: with @apply 1 the rows are deleted for good. Pinned ones stay.
-- Tables: reads and changes memories, item_history, tags, tag_aliases, tag_links, search_*.
-- Cost: reads each tag of the persona against each row that goes: run it at a quiet hour.
-- Run it: prompt-engine db maintenance prune, or mysql --default-character-set=utf8mb4 NAME < this file

-- whose rows
SET @persona = 'default';
-- expired at or before this time, UTC
SET @expired_before = '2000-01-01 00:00:00.000000';
-- archived at or before this time, UTC
SET @archived_before = '2000-01-01 00:00:00.000000';
-- 0 counts, 1 changes
SET @apply = 0;

START TRANSACTION;

-- Count

SELECT 'memory items that go' AS what, COUNT(*) AS n
FROM memories AS m
WHERE m.persona_id = @persona AND m.pinned = 0
  AND (m.expires_at <= @expired_before OR m.archived_at <= @archived_before);

SELECT 'of these archived' AS what, COUNT(*) AS n
FROM memories AS m
WHERE m.persona_id = @persona AND m.pinned = 0
  AND (m.expires_at <= @expired_before OR m.archived_at <= @archived_before)
  AND m.archived_at <= @archived_before;

SELECT 'pinned, they stay' AS what, COUNT(*) AS n
FROM memories AS m
WHERE m.persona_id = @persona AND m.pinned = 1
  AND (m.expires_at <= @expired_before OR m.archived_at <= @archived_before);

-- Change, where @apply is 1

UPDATE tags
SET uses = uses - (SELECT COUNT(*) FROM memories AS m WHERE m.persona_id = @persona AND m.pinned = 0
  AND (m.expires_at <= @expired_before OR m.archived_at <= @archived_before)
  AND JSON_CONTAINS(m.tags, JSON_QUOTE(CONVERT(tags.tag USING utf8mb4))))
WHERE persona_id = @persona
  AND @apply = 1
  AND EXISTS (SELECT 1 FROM memories AS m WHERE m.persona_id = @persona AND m.pinned = 0
    AND (m.expires_at <= @expired_before OR m.archived_at <= @archived_before)
    AND JSON_CONTAINS(m.tags, JSON_QUOTE(CONVERT(tags.tag USING utf8mb4))));

-- tags that nothing uses any more, with their aliases and links

DELETE FROM tags
WHERE persona_id = @persona AND uses <= 0
  AND @apply = 1
  AND EXISTS (SELECT 1 FROM memories AS m WHERE m.persona_id = @persona AND m.pinned = 0
    AND (m.expires_at <= @expired_before OR m.archived_at <= @archived_before)
    AND JSON_CONTAINS(m.tags, JSON_QUOTE(CONVERT(tags.tag USING utf8mb4))));

DELETE FROM tag_aliases
WHERE persona_id = @persona AND tag NOT IN (SELECT t.tag FROM tags AS t WHERE t.persona_id = @persona)
  AND @apply = 1;

DELETE FROM tag_links
WHERE persona_id = @persona
  AND (tag NOT IN (SELECT t.tag FROM tags AS t WHERE t.persona_id = @persona)
    OR related_tag NOT IN (SELECT t.tag FROM tags AS t WHERE t.persona_id = @persona))
  AND @apply = 1;

DELETE FROM item_history
WHERE persona_id = @persona
  AND item_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = @persona AND m.pinned = 0
    AND (m.expires_at <= @expired_before OR m.archived_at <= @archived_before))
  AND @apply = 1;

-- of packed rows: that they are gone; `prompt-engine db pack` takes them out of the packed index

REPLACE INTO search_gone (audience_id, source, row_id, segment_id)
SELECT m.audience_id, 0, m.id, s.docs
FROM memories AS m
JOIN search_segment AS s ON s.audience_id = m.audience_id AND s.segment_id = 0
WHERE m.persona_id = @persona AND m.pinned = 0
  AND (m.expires_at <= @expired_before OR m.archived_at <= @archived_before)
  AND NOT EXISTS (SELECT 1 FROM search_fresh AS f
    WHERE f.audience_id = m.audience_id AND f.source = 0 AND f.row_id = m.id)
  AND @apply = 1;

DELETE FROM search_fresh
WHERE audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = @persona)
  AND source = 0 AND row_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = @persona AND m.pinned = 0
    AND (m.expires_at <= @expired_before OR m.archived_at <= @archived_before))
  AND @apply = 1;

-- whoever holds vectors of the audience reads them again

UPDATE search_vector_version
SET version = version + 1001
WHERE audience_id IN (SELECT v.audience_id FROM search_vector AS v
    JOIN memories AS m ON m.audience_id = v.audience_id AND m.id = v.row_id
    WHERE v.source = 0 AND m.persona_id = @persona AND m.pinned = 0
    AND (m.expires_at <= @expired_before OR m.archived_at <= @archived_before))
  AND @apply = 1;

DELETE FROM search_vector
WHERE audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = @persona)
  AND source = 0 AND row_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = @persona AND m.pinned = 0
    AND (m.expires_at <= @expired_before OR m.archived_at <= @archived_before))
  AND @apply = 1;

DELETE FROM memories
WHERE persona_id = @persona AND pinned = 0
  AND (expires_at <= @expired_before OR archived_at <= @archived_before)
  AND @apply = 1;

COMMIT;
