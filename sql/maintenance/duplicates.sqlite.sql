-- Memory items whose text stands in a newer one, seen by the same people.
-- Risk: with @apply 1 the older ones expire at @now: they are no longer read, and the script prune deletes them. Pinned ones stay.
-- Tables: reads and changes memories.
-- Cost: one look-up in an index for each memory item: seconds for a hundred thousand.
-- Run it: prompt-engine db maintenance duplicates, or sqlite3 FILE < this file

DROP TABLE IF EXISTS temp.given;
CREATE TEMP TABLE given AS SELECT
-- whose rows
  'default' AS persona,
-- when the older ones expire, UTC; any time that is past
  '2000-01-01 00:00:00.000000' AS now,
-- 0 counts, 1 changes
  0 AS apply;

BEGIN IMMEDIATE;

-- Count

SELECT 'memory items with a newer copy' AS what, COUNT(*) AS n
FROM memories AS m
WHERE m.persona_id = (SELECT persona FROM given) AND m.archived_at IS NULL AND m.superseded_by IS NULL
  AND m.expires_at IS NULL
  AND EXISTS (
    SELECT 1 FROM memories AS newer
    WHERE newer.persona_id = (SELECT persona FROM given) AND newer.audience_id = m.audience_id
      AND newer.content_hash = m.content_hash
      AND newer.archived_at IS NULL AND newer.superseded_by IS NULL AND newer.expires_at IS NULL
      AND newer.id > m.id
  );

SELECT 'of these pinned, they stay' AS what, COUNT(*) AS n
FROM memories AS m
WHERE m.persona_id = (SELECT persona FROM given) AND m.archived_at IS NULL AND m.superseded_by IS NULL
  AND m.expires_at IS NULL AND m.pinned = 1
  AND EXISTS (
    SELECT 1 FROM memories AS newer
    WHERE newer.persona_id = (SELECT persona FROM given) AND newer.audience_id = m.audience_id
      AND newer.content_hash = m.content_hash
      AND newer.archived_at IS NULL AND newer.superseded_by IS NULL AND newer.expires_at IS NULL
      AND newer.id > m.id
  );

-- Change, where (SELECT apply FROM given) is 1

UPDATE memories
SET expires_at = (SELECT now FROM given)
WHERE persona_id = (SELECT persona FROM given) AND pinned = 0
  AND (SELECT apply FROM given) = 1
  AND id IN (
    SELECT older.id FROM (
      SELECT m.id FROM memories AS m
      WHERE m.persona_id = (SELECT persona FROM given) AND m.archived_at IS NULL AND m.superseded_by IS NULL
        AND m.expires_at IS NULL
        AND EXISTS (
          SELECT 1 FROM memories AS newer
          WHERE newer.persona_id = (SELECT persona FROM given) AND newer.audience_id = m.audience_id
            AND newer.content_hash = m.content_hash
            AND newer.archived_at IS NULL AND newer.superseded_by IS NULL AND newer.expires_at IS NULL
            AND newer.id > m.id
        )
    ) AS older
  );

COMMIT;
