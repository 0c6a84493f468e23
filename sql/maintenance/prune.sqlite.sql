-- Memory items that expired or were archived long ago, with their index rows.
-- Risk: with @apply 1 the rows are deleted for good. Pinned ones stay.
-- Tables: reads and changes memories, item_history, tags, tag_aliases, tag_links, search_*.
-- Cost: reads each tag of the persona against each row that goes: run it at a quiet hour.
-- Run it: prompt-engine db maintenance prune, or sqlite3 FILE < this file

DROP TABLE IF EXISTS temp.given;
CREATE TEMP TABLE given AS SELECT
-- whose rows
  'default' AS persona,
-- expired at or before this time, UTC
  '2000-01-01 00:00:00.000000' AS expired_before,
-- archived at or before this time, UTC
  '2000-01-01 00:00:00.000000' AS archived_before,
-- 0 counts, 1 changes
  0 AS apply;

BEGIN IMMEDIATE;

-- Count

SELECT 'memory items that go' AS what, COUNT(*) AS n
FROM memories AS m
WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
  AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given));

SELECT 'of these archived' AS what, COUNT(*) AS n
FROM memories AS m
WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
  AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given))
  AND m.archived_at <= (SELECT archived_before FROM given);

SELECT 'pinned, they stay' AS what, COUNT(*) AS n
FROM memories AS m
WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 1
  AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given));

-- Change, where (SELECT apply FROM given) is 1

UPDATE tags
SET uses = uses - (SELECT COUNT(*) FROM memories AS m WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
  AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given))
  AND EXISTS (SELECT 1 FROM json_each(m.tags) AS held WHERE held.value = tags.tag))
WHERE persona_id = (SELECT persona FROM given)
  AND (SELECT apply FROM given) = 1
  AND tag IN (SELECT held.value FROM memories AS m JOIN json_each(m.tags) AS held
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)));

-- tags that nothing uses any more, with their aliases and links

DELETE FROM tags
WHERE persona_id = (SELECT persona FROM given) AND uses <= 0
  AND (SELECT apply FROM given) = 1
  AND tag IN (SELECT held.value FROM memories AS m JOIN json_each(m.tags) AS held
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)));

DELETE FROM tag_aliases
WHERE persona_id = (SELECT persona FROM given)
  AND tag NOT IN (SELECT t.tag FROM tags AS t WHERE t.persona_id = (SELECT persona FROM given))
  AND (SELECT apply FROM given) = 1;

DELETE FROM tag_links
WHERE persona_id = (SELECT persona FROM given)
  AND (tag NOT IN (SELECT t.tag FROM tags AS t WHERE t.persona_id = (SELECT persona FROM given))
    OR related_tag NOT IN (SELECT t.tag FROM tags AS t WHERE t.persona_id = (SELECT persona FROM given)))
  AND (SELECT apply FROM given) = 1;

DELETE FROM item_history
WHERE persona_id = (SELECT persona FROM given)
  AND item_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)))
  AND (SELECT apply FROM given) = 1;

-- of packed rows: that they are gone; `prompt-engine db pack` takes them out of the packed index

INSERT OR REPLACE INTO search_gone (audience_id, source, row_id, segment_id)
SELECT m.audience_id, 0, m.id, s.docs
FROM memories AS m
JOIN search_segment AS s ON s.audience_id = m.audience_id AND s.segment_id = 0
WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
  AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given))
  AND NOT EXISTS (SELECT 1 FROM search_fresh AS f
    WHERE f.audience_id = m.audience_id AND f.source = 0 AND f.row_id = m.id)
  AND (SELECT apply FROM given) = 1;

DELETE FROM search_fresh
WHERE audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = (SELECT persona FROM given))
  AND source = 0 AND row_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)))
  AND (SELECT apply FROM given) = 1;

-- whoever holds vectors of the audience reads them again

UPDATE search_vector_version
SET version = version + 1001
WHERE audience_id IN (SELECT v.audience_id FROM search_vector AS v
    JOIN memories AS m ON m.audience_id = v.audience_id AND m.id = v.row_id
    WHERE v.source = 0 AND m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)))
  AND (SELECT apply FROM given) = 1;

DELETE FROM search_vector
WHERE audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = (SELECT persona FROM given))
  AND source = 0 AND row_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)))
  AND (SELECT apply FROM given) = 1;

DELETE FROM memories
WHERE persona_id = (SELECT persona FROM given) AND pinned = 0
  AND (expires_at <= (SELECT expired_before FROM given) OR archived_at <= (SELECT archived_before FROM given))
  AND (SELECT apply FROM given) = 1;

COMMIT;
