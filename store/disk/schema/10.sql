-- What a session of a person spent is a record of its own. Before, it was what its whole tree
-- holds, which counts here for the first session that began there.
INSERT OR IGNORE INTO records (kind, id, value)
  WITH RECURSIVE below (session, key) AS (
    SELECT key, root FROM (
      SELECT key, root, min(created_at) FROM sessions WHERE parent IS NULL AND root IS NOT NULL GROUP BY root
    )
    UNION
    SELECT below.session, f.key FROM below CROSS JOIN frames f ON f.parent = below.key
  ) SELECT 'spent', (SELECT id FROM ids WHERE ids.key = below.session), json_object(
      'tokensIn', sum(tokens_in), 'tokensOut', sum(tokens_out), 'cacheRead', sum(cache_read),
      'cacheWritten', sum(cache_written), 'costUSD', sum(cost_usd), 'toolCalls', sum(tool_calls), 'unpriced', sum(unpriced))
    FROM below CROSS JOIN frames f ON f.key = below.key GROUP BY below.session;
