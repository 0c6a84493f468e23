-- How many rows a persona has, and how many of them want attention.
-- Risk: none, it only reads.
-- Tables: reads the tables of rows and of the search index.
-- Cost: reads the tables of the persona once: seconds for a million rows.
-- Run it: prompt-engine db maintenance health, or sqlite3 FILE < this file

DROP TABLE IF EXISTS temp.given;
CREATE TEMP TABLE given AS SELECT
-- whose rows
  'default' AS persona,
-- the time by which a memory item has expired, UTC; prompt-engine takes the present time
  '2000-01-01 00:00:00.000000' AS now;

BEGIN IMMEDIATE;

-- Count

SELECT 'conversations' AS what, COUNT(*) AS n
FROM conversations
WHERE persona_id = (SELECT persona FROM given);

SELECT 'participants' AS what, COUNT(*) AS n
FROM participants
WHERE persona_id = (SELECT persona FROM given);

SELECT 'chat_history_cache' AS what, COUNT(*) AS n
FROM chat_history_cache
WHERE persona_id = (SELECT persona FROM given);

SELECT 'memories' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = (SELECT persona FROM given);

SELECT 'ai_diary' AS what, COUNT(*) AS n
FROM ai_diary
WHERE persona_id = (SELECT persona FROM given);

SELECT 'tags' AS what, COUNT(*) AS n
FROM tags
WHERE persona_id = (SELECT persona FROM given);

SELECT 'memory items archived' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = (SELECT persona FROM given) AND archived_at IS NOT NULL;

SELECT 'memory items superseded' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = (SELECT persona FROM given) AND superseded_by IS NOT NULL;

SELECT 'memory items expired and still there' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = (SELECT persona FROM given) AND expires_at <= (SELECT now FROM given) AND archived_at IS NULL;

SELECT 'memory items without folded text' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = (SELECT persona FROM given) AND text_folded IS NULL;

SELECT 'memory items without time' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = (SELECT persona FROM given) AND timestamp IS NULL;

COMMIT;
