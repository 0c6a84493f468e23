-- Rows that belong to rows which are gone.
-- Risk: none while @apply is 0; with 1, recalls of memory items that are gone are deleted.
-- Tables: reads all tables of rows and of the search index; changes memory_recalls.
-- Cost: reads the search index of the persona once: about a minute for a million messages.
-- Run it: prompt-engine db maintenance orphans, or mysql --default-character-set=utf8mb4 NAME < this file

-- whose rows
SET @persona = 'default';
-- 0 counts, 1 changes
SET @apply = 0;

START TRANSACTION;

-- Count

SELECT 'recalls of memory items that are gone' AS what, COUNT(*) AS n
FROM memory_recalls AS r
WHERE r.persona_id = @persona
  AND NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.persona_id = @persona AND m.id = r.memory_id);

SELECT 'index rows that are not packed, of rows that are gone from memories' AS what, COUNT(*) AS n
FROM search_fresh AS s
WHERE s.audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = @persona)
  AND s.source = 0
  AND NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.persona_id = @persona AND m.id = s.row_id);

SELECT 'index rows that are not packed, of rows that are gone from ai_diary' AS what, COUNT(*) AS n
FROM search_fresh AS s
WHERE s.audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = @persona)
  AND s.source = 1
  AND NOT EXISTS (SELECT 1 FROM ai_diary AS m WHERE m.persona_id = @persona AND m.id = s.row_id);

SELECT 'index rows that are not packed, of rows that are gone from chat_history_cache' AS what, COUNT(*) AS n
FROM search_fresh AS s
WHERE s.audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = @persona)
  AND s.source = 2
  AND NOT EXISTS (SELECT 1 FROM chat_history_cache AS m WHERE m.persona_id = @persona AND m.id = s.row_id);

SELECT 'messages of conversations that are not known' AS what, COUNT(*) AS n
FROM chat_history_cache AS h
WHERE h.persona_id = @persona
  AND NOT EXISTS (
    SELECT 1 FROM conversations AS c WHERE c.persona_id = @persona AND c.conversation_key = h.interface_path
  );

SELECT 'rows of memories that nobody sees, their audience is gone' AS what, COUNT(*) AS n
FROM memories AS m
WHERE m.persona_id = @persona
  AND NOT EXISTS (SELECT 1 FROM audiences AS a WHERE a.persona_id = @persona AND a.audience_id = m.audience_id);

SELECT 'rows of ai_diary that nobody sees, their audience is gone' AS what, COUNT(*) AS n
FROM ai_diary AS m
WHERE m.persona_id = @persona
  AND NOT EXISTS (SELECT 1 FROM audiences AS a WHERE a.persona_id = @persona AND a.audience_id = m.audience_id);

SELECT 'rows of chat_history_cache that nobody sees, their audience is gone' AS what, COUNT(*) AS n
FROM chat_history_cache AS m
WHERE m.persona_id = @persona
  AND NOT EXISTS (SELECT 1 FROM audiences AS a WHERE a.persona_id = @persona AND a.audience_id = m.audience_id);

-- Change, where @apply is 1

DELETE FROM memory_recalls
WHERE persona_id = @persona
  AND @apply = 1
  AND memory_id NOT IN (SELECT m.id FROM memories AS m WHERE m.persona_id = @persona);

COMMIT;
