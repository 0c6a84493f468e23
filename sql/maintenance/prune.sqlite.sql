-- Memory items that expired or were archived long ago, with their index rows.
-- Risk: with @apply 1 the rows are deleted for good. Pinned ones stay. Nothing is changed while the search index is being built.
-- Tables: reads and changes memories, item_history, memory_recalls, tags, search_term, search_tag, search_fresh, search_gone, search_count, search_stats, search_vector, search_vector_version, search_vocab.
-- Cost: reads the search index of the persona twice, each tag of the persona against each row that goes, and the vocabulary: run it at a quiet hour.
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

SELECT 'search index ready' AS what, COUNT(*) AS n
FROM search_progress
WHERE source = 0 AND ready = 1;

-- Change, where (SELECT apply FROM given) is 1

UPDATE search_stats AS s
SET docs = s.docs - d.docs, words = s.words - d.words
FROM (
  SELECT x.audience_id, COUNT(*) AS docs, SUM(x.words) AS words
  FROM (
    SELECT m.audience_id, m.id, COALESCE(MAX(t.words), 0) AS words
    FROM memories AS m
    LEFT JOIN search_term AS t ON t.audience_id = m.audience_id AND t.source = 0 AND t.row_id = m.id
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
      AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given))
      AND m.archived_at IS NULL AND m.superseded_by IS NULL AND m.quarantined = 0
    GROUP BY m.audience_id, m.id
  ) AS x
  GROUP BY x.audience_id
) AS d
WHERE d.audience_id = s.audience_id AND s.source = 0
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

UPDATE search_count AS s
SET docs = s.docs - d.docs
FROM (
  SELECT t.audience_id, t.term AS term, COUNT(*) AS docs
  FROM search_term AS t
  JOIN memories AS m ON m.id = t.row_id AND m.audience_id = t.audience_id
  WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given))
    AND t.source = 0
  GROUP BY t.audience_id, t.term
) AS d
WHERE d.audience_id = s.audience_id AND d.term = s.term AND s.source = 0 AND s.kind = 0
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

UPDATE search_count AS s
SET docs = s.docs - d.docs
FROM (
  SELECT t.audience_id, t.tag AS term, COUNT(*) AS docs
  FROM search_tag AS t
  JOIN memories AS m ON m.id = t.row_id AND m.audience_id = t.audience_id
  WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given))
    AND t.source = 0
  GROUP BY t.audience_id, t.tag
) AS d
WHERE d.audience_id = s.audience_id AND d.term = s.term AND s.source = 0 AND s.kind = 1
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

DELETE FROM search_count
WHERE audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = (SELECT persona FROM given))
  AND docs <= 0 AND source = 0
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

DELETE FROM search_term
WHERE audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = (SELECT persona FROM given))
  AND source = 0 AND row_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)))
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

DELETE FROM search_tag
WHERE audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = (SELECT persona FROM given))
  AND source = 0 AND row_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)))
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

UPDATE tags
SET uses = uses - (SELECT COUNT(*) FROM memories AS m WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
  AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given))
  AND EXISTS (SELECT 1 FROM json_each(m.tags) AS held WHERE held.value = tags.tag))
WHERE persona_id = (SELECT persona FROM given)
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

DELETE FROM item_history
WHERE persona_id = (SELECT persona FROM given)
  AND item_table = 'memories' AND item_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)))
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

-- of packed rows: that they are gone; `prompt-engine db pack` takes them out of the packed index

INSERT OR REPLACE INTO search_gone (audience_id, source, row_id, segment_id)
SELECT m.audience_id, 0, m.id, s.docs
FROM memories AS m
JOIN search_segment AS s ON s.audience_id = m.audience_id AND s.segment_id = 0
WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
  AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given))
  AND NOT EXISTS (SELECT 1 FROM search_fresh AS f
    WHERE f.audience_id = m.audience_id AND f.source = 0 AND f.row_id = m.id)
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

DELETE FROM search_fresh
WHERE audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = (SELECT persona FROM given))
  AND source = 0 AND row_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)))
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

-- whoever holds vectors of the audience reads them again

UPDATE search_vector_version
SET version = version + 1001
WHERE audience_id IN (SELECT v.audience_id FROM search_vector AS v
    JOIN memories AS m ON m.audience_id = v.audience_id AND m.id = v.row_id
    WHERE v.source = 0 AND m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)))
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

DELETE FROM search_vector
WHERE audience_id IN (SELECT audience_id FROM audiences WHERE persona_id = (SELECT persona FROM given))
  AND source = 0 AND row_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)))
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

DELETE FROM memory_recalls
WHERE persona_id = (SELECT persona FROM given)
  AND memory_id IN (SELECT m.id FROM memories AS m
    WHERE m.persona_id = (SELECT persona FROM given) AND m.pinned = 0
    AND (m.expires_at <= (SELECT expired_before FROM given) OR m.archived_at <= (SELECT archived_before FROM given)))
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

DELETE FROM memories
WHERE persona_id = (SELECT persona FROM given) AND pinned = 0
  AND (expires_at <= (SELECT expired_before FROM given) OR archived_at <= (SELECT archived_before FROM given))
  AND (SELECT apply FROM given) = 1 AND (SELECT p.ready FROM search_progress AS p WHERE p.source = 0) = 1;

-- words that no row of anybody holds any more

DELETE FROM search_vocab
WHERE (SELECT apply FROM given) = 1 AND (SELECT COUNT(*) FROM search_progress WHERE ready = 0) = 0
  AND term NOT IN (SELECT c.term FROM search_count AS c WHERE c.kind = 0 AND c.docs > 0);

COMMIT;
