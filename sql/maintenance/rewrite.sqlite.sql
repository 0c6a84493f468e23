-- The text and the tags of one memory item, written anew.
-- Risk: none while @apply is 0; with 1, the former text is gone, and the item is found by its former words until prompt-engine db reindex --changed has run.
-- Tables: reads and changes memories.
-- Cost: one look-up by key.
-- Run it: prompt-engine db maintenance rewrite, or sqlite3 FILE < this file

DROP TABLE IF EXISTS temp.given;
CREATE TEMP TABLE given AS SELECT
-- whose item
  'default' AS persona,
-- its id
  0 AS id,
-- what it is to say
  '' AS content,
-- its tags, a JSON list of texts
  '[]' AS tags,
-- 0 counts, 1 changes
  0 AS apply;

BEGIN IMMEDIATE;

-- Count

SELECT 'memory items with this id' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = (SELECT persona FROM given) AND id = (SELECT id FROM given);

-- Change

UPDATE memories SET content = (SELECT content FROM given), tags = (SELECT tags FROM given)
WHERE (SELECT apply FROM given) = 1 AND (SELECT content FROM given) <> '' AND persona_id = (SELECT persona FROM given) AND id = (SELECT id FROM given);

COMMIT;
