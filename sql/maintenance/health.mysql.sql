-- How many rows a persona has, and how many of them want attention.
-- Risk: none, it only reads.
-- Tables: reads the tables of rows and of the search index.
-- Cost: reads the tables of the persona once: seconds for a million rows.
-- Run it: prompt-engine db maintenance health, or mysql --default-character-set=utf8mb4 NAME < this file

-- whose rows
SET @persona = 'default';
-- the time by which a memory item has expired, UTC; prompt-engine takes the present time
SET @now = '2000-01-01 00:00:00.000000';

START TRANSACTION;

-- Count

SELECT 'conversations' AS what, COUNT(*) AS n
FROM conversations
WHERE persona_id = @persona;

SELECT 'participants' AS what, COUNT(*) AS n
FROM participants
WHERE persona_id = @persona;

SELECT 'chat_history_cache' AS what, COUNT(*) AS n
FROM chat_history_cache
WHERE persona_id = @persona;

SELECT 'memories' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = @persona;

SELECT 'ai_diary' AS what, COUNT(*) AS n
FROM ai_diary
WHERE persona_id = @persona;

SELECT 'tags' AS what, COUNT(*) AS n
FROM tags
WHERE persona_id = @persona;

SELECT 'memory items archived' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = @persona AND archived_at IS NOT NULL;

SELECT 'memory items superseded' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = @persona AND superseded_by IS NOT NULL;

SELECT 'memory items expired and still there' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = @persona AND expires_at <= @now AND archived_at IS NULL;

SELECT 'memory items without folded text' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = @persona AND text_folded IS NULL;

SELECT 'memory items without time' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = @persona AND timestamp IS NULL;

COMMIT;
