-- The text and the tags of one memory item, written anew.
-- Risk: none while @apply is 0; with 1, the former text is gone, and the item is found by its former words until prompt-engine db reindex --changed has run.
-- Tables: reads and changes memories.
-- Cost: one look-up by key.
-- Run it: prompt-engine db maintenance rewrite, or mysql --default-character-set=utf8mb4 NAME < this file

-- whose item
SET @persona = 'default';
-- its id
SET @id = 0;
-- what it is to say
SET @content = '';
-- its tags, a JSON list of texts
SET @tags = '[]';
-- 0 counts, 1 changes
SET @apply = 0;

START TRANSACTION;

-- Count

SELECT 'memory items with this id' AS what, COUNT(*) AS n
FROM memories
WHERE persona_id = @persona AND id = @id;

-- Change

UPDATE memories SET content = @content, tags = @tags
WHERE @apply = 1 AND @content <> '' AND persona_id = @persona AND id = @id;

COMMIT;
