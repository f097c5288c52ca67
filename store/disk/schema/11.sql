-- Kinds of records that are found by more than their ids have tables of their own.
CREATE TABLE agents (
  id             TEXT PRIMARY KEY,
  value          TEXT NOT NULL CHECK (json_valid(value)), -- JSON; the columns below are parts of it
  session        TEXT    AS (value ->> 'session'),
  parent_session TEXT    AS (value ->> 'parentSession'),
  parent_agent   TEXT    AS (value ->> 'parentAgent'),
  key            TEXT    AS (value ->> 'idempotencyKey'),
  ended_at       INTEGER AS (value ->> 'endedAt')
);
CREATE INDEX agents_session      ON agents (session);
CREATE INDEX agents_key          ON agents (key);
CREATE INDEX agents_parent_agent ON agents (parent_agent);
CREATE INDEX agents_ended        ON agents (ended_at);

-- waiting: the session that may not go on until the handoff is resolved.
CREATE TABLE handoffs (
  id      TEXT PRIMARY KEY,
  value   TEXT NOT NULL CHECK (json_valid(value)),
  waiting TEXT AS (iif(value ->> 'transferControl' AND NOT coalesce(value ->> 'resolved', 0), value ->> 'parentSession', NULL))
);
CREATE INDEX handoffs_waiting ON handoffs (waiting);

-- open: how many of its conflicts wait for a person.
CREATE TABLE convergences (
  id    TEXT PRIMARY KEY,
  value TEXT NOT NULL CHECK (json_valid(value)),
  open  INTEGER AS (value ->> 'open')
);
CREATE INDEX convergences_open ON convergences (open);

-- ends_at: when it no longer holds; far away if it has no end.
CREATE TABLE grants (
  id      TEXT PRIMARY KEY,
  value   TEXT NOT NULL CHECK (json_valid(value)),
  ends_at INTEGER AS (coalesce(value ->> 'expiresAt', 9223372036854775807))
);
CREATE INDEX grants_ends ON grants (ends_at);

CREATE TABLE spawns (
  id     TEXT PRIMARY KEY,
  value  TEXT NOT NULL CHECK (json_valid(value)),
  parent TEXT AS (value ->> 'parent')
);
CREATE INDEX spawns_parent ON spawns (parent);
DROP INDEX records_spawn;

-- The first versions named some fields otherwise.
INSERT INTO agents (id, value)
  SELECT id, iif(value ->> 'parent_session_id' IS NULL, value, json_remove(json_set(value,
    '$.parentSession', value -> 'parent_session_id', '$.agentType', value -> 'agent_type',
    '$.definitionDigest', value -> 'definition_digest', '$.permissionMode', value -> 'permission_mode',
    '$.delegateGrants', value -> 'delegate_grants', '$.callId', value -> 'parent_tool_id',
    '$.idempotencyKey', value -> 'idempotency_key', '$.resultSchema', value -> 'result_schema',
    '$.artifactHashes', value -> 'artifact_hashes'),
    '$.parent_session_id', '$.agent_type', '$.definition_digest', '$.permission_mode', '$.delegate_grants', '$.parent_tool_id',
    '$.idempotency_key', '$.result_schema', '$.artifact_hashes'))
  FROM records WHERE kind = 'agent' AND json_valid(value);
INSERT INTO handoffs (id, value)
  SELECT id, iif(value ->> 'parent_session_id' IS NULL, value, json_remove(json_set(value, '$.parentSession', value -> 'parent_session_id',
    '$.transferControl', value -> 'transfer_control', '$.onFailure', value -> 'on_failure'),
    '$.parent_session_id', '$.transfer_control', '$.on_failure'))
  FROM records WHERE kind = 'handoff' AND json_valid(value);
INSERT INTO convergences (id, value)
  SELECT c.id, iif(o.value ->> 'conflicts' IS NULL, c.value, json_set(c.value, '$.open', o.value -> 'conflicts', '$.person', o.value -> 'person'))
  FROM records c LEFT JOIN records o ON o.kind = 'convergence_open' AND o.id = c.id AND json_valid(o.value)
  WHERE c.kind = 'convergence' AND json_valid(c.value);
INSERT INTO grants (id, value) SELECT id, value FROM records WHERE kind = 'agent_grant' AND json_valid(value);
INSERT INTO spawns (id, value) SELECT id, value FROM records WHERE kind = 'spawn' AND json_valid(value);

-- What is kept of one session, frame or other thing is one record with parts. A record without a
-- kind here has become another's index, or columns.
CREATE TABLE parts (old TEXT PRIMARY KEY, kind TEXT, part TEXT);
INSERT INTO parts VALUES
  ('presence', 'session', 'presence'), ('turns', 'session', 'turns'), ('scene', 'session', 'scene'), ('worked', 'session', 'worked'),
  ('suggestions', 'session', 'suggestions'), ('suspended', 'session', 'suspended'), ('counted', 'session', 'counted'),
  ('spent', 'session', 'spent'), ('transcript', 'session', 'transcript'), ('notice', 'session', 'notice'),
  ('approved', 'session', 'approved'), ('agent_tree', 'session', 'agents'),
  ('answered', 'answers', 'answered'), ('joined', 'answers', 'joined'), ('requests_by_session', 'answers', 'totals'),
  ('files_calls', 'calls', 'files'), ('work', 'calls', 'work'),
  ('activity', 'frame', 'activity'), ('turn', 'frame', 'turn'), ('item', 'frame', 'item'), ('ended', 'frame', 'ended'),
  ('requests_by_frame', 'frame', 'totals'), ('agent_frame', 'frame', 'agent'), ('attempt', 'frame', 'attempt'),
  ('approved_plan', 'frame', 'plan'), ('facts', 'frame', 'facts'), ('imported', 'frame', 'imported'), ('shared_cut', 'frame', 'cut'),
  ('compaction', 'summary', 'compaction'), ('pending_completion', 'summary', 'pending'), ('said', 'summary', 'said'),
  ('link', 'host', 'link'), ('late', 'host', 'late'), ('requests_by_host', 'host', 'totals'), ('requests', 'host', 'past'),
  ('shared_clock', 'project', 'clock'), ('shared_here', 'project', 'here'),
  ('taken', 'source', 'taken'), ('behind', 'source', 'behind'), ('announcements', 'source', 'announcements'),
  ('agents_abroad', 'machine', 'agents'), ('agents_abroad_told', 'machine', 'told'),
  ('agent_assignment', 'assignment', 'task'), ('agent_untold', 'assignment', 'cancel');
INSERT INTO records (kind, id, value)
  SELECT kind, id, json_group_object(part, json(value)) FROM (
    SELECT p.kind, r.id, p.part, r.value FROM parts p CROSS JOIN records r ON r.kind = p.old
    UNION ALL SELECT 'project', '', id, value FROM records WHERE kind = 'settings'
    UNION ALL SELECT 'project', '', id || '_stats', value FROM records WHERE kind = 'stats'
    UNION ALL SELECT 'project', '', 'left', json_group_object(id, json(value)) FROM records WHERE kind = 'left' AND json_valid(value) HAVING count(*) > 0
  ) WHERE json_valid(value) GROUP BY kind, id;
UPDATE records SET kind = 'files' WHERE kind = 'files_patch';
UPDATE records SET kind = 'ledger' WHERE kind = 'inserted';
DELETE FROM records WHERE kind IN (SELECT old FROM parts) OR kind IN ('settings', 'stats', 'left', 'agent', 'handoff', 'convergence', 'convergence_open',
  'agent_grant', 'spawn', 'agent_session', 'agent_key', 'agent_recent', 'agent_child');
DROP TABLE parts;

-- Older binaries would not find what they know of sessions and agents. What was only for them goes.
DROP TRIGGER cascades_begun;
DROP TABLE cascades;
UPDATE meta SET value = 11 WHERE name = 'oldest';
