-- Flame invalidates the frames below an invalidated one together with it. Older binaries
-- do that in batches: cascades says what is left, which they read as done. The trigger does
-- all of it when such a binary begins; nothing is left to continue then.
CREATE TRIGGER cascades_begun AFTER INSERT ON cascades BEGIN
  UPDATE meta SET value = value + 1, stamped = value + 1, unstamped = iif(value = stamped, unstamped, value)
    WHERE name = 'revision';
  INSERT INTO events (v, ts, event, session, parent_session, frame, subagent, depth, host, data)
    SELECT 1, NEW.at, 'FrameInvalidated', NEW.session, s.parent, f.key, NEW.subagent, 0, coalesce(s.host, ''),
      json_object('reason', NEW.reason)
    FROM frames f LEFT JOIN sessions s ON s.key = NEW.session
    WHERE f.status = 'planned' AND f.key IN (WITH RECURSIVE down (key) AS (
      SELECT NEW.frame
      UNION
      SELECT f.key FROM down CROSS JOIN frames f ON f.parent = down.key
    ) SELECT key FROM down) AND f.key <> NEW.frame
    ORDER BY f.created_at, f.key;
  UPDATE frames SET status = 'invalidated', ended_at = NEW.at, updated_at = NEW.at,
      invalidated_at = NEW.at, invalidation_reason = NEW.reason,
      revision = (SELECT value FROM meta WHERE name = 'revision')
    WHERE status = 'planned' AND key IN (WITH RECURSIVE down (key) AS (
      SELECT NEW.frame
      UNION
      SELECT f.key FROM down CROSS JOIN frames f ON f.parent = down.key
    ) SELECT key FROM down) AND key <> NEW.frame;
  DELETE FROM cascades WHERE frame = NEW.frame;
END;

-- Nothing but such batches asked for it.
DROP INDEX frames_planned;

-- What such binaries left: the first begun goes first.
INSERT OR REPLACE INTO cascades SELECT * FROM cascades ORDER BY seq, frame;
