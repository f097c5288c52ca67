-- Ids are text outside and integers inside: whatever an id names (a frame, a
-- session, an agent, or something this store has not seen yet) has one key for
-- ever. Nothing REFERENCES them: an enforced reference would make every statement
-- one that may have to be undone alone, for which FTS5 writes out its index.
CREATE TABLE ids (
  key INTEGER PRIMARY KEY,
  id  TEXT NOT NULL UNIQUE
);

-- revision: raised by every transaction that writes a frame.
-- oldest:   the oldest user_version of a binary that may still use this file.
CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES ('revision', 0), ('oldest', 1);

CREATE TABLE frames (
  key                 INTEGER PRIMARY KEY,
  parent              INTEGER, -- may be missing from frames
  session             INTEGER,
  status              TEXT    NOT NULL,
  created_at          INTEGER NOT NULL,
  started_at          INTEGER NOT NULL,
  ended_at            INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL,
  archived_at         INTEGER NOT NULL,
  invalidated_at      INTEGER NOT NULL,
  invalidation_reason TEXT    NOT NULL,
  goal_is_default     INTEGER NOT NULL,
  confidence          REAL,
  tokens_in           INTEGER NOT NULL,
  tokens_out          INTEGER NOT NULL,
  cache_read          INTEGER NOT NULL,
  cache_written       INTEGER NOT NULL,
  cost_usd            REAL    NOT NULL,
  tool_calls          INTEGER NOT NULL,
  log_path            TEXT    NOT NULL,
  planned_children    TEXT    NOT NULL, -- JSON list
  goal                TEXT    NOT NULL,
  success_criteria    TEXT    NOT NULL,
  artifacts           TEXT    NOT NULL, -- JSON list
  decisions           TEXT    NOT NULL, -- JSON list
  summary             TEXT    NOT NULL,
  results             TEXT    NOT NULL
);
CREATE INDEX frames_created       ON frames (created_at);
CREATE INDEX frames_updated       ON frames (updated_at);
CREATE INDEX frames_status        ON frames (status, archived_at, updated_at);
CREATE INDEX frames_parent        ON frames (parent, created_at);
CREATE INDEX frames_parent_status ON frames (parent, status, archived_at, updated_at);

-- The index of words, by key of frame; it keeps no copy of the texts. No trigger
-- keeps it: with one, each statement writes what FTS5 would gather until COMMIT.
CREATE VIRTUAL TABLE frames_text USING fts5(
  goal, success_criteria, summary, results, decisions,
  content='', contentless_delete=1
);

CREATE TABLE sessions (
  key              INTEGER PRIMARY KEY,
  parent           INTEGER,
  root             INTEGER,
  current          INTEGER,
  host             TEXT    NOT NULL,
  title            TEXT    NOT NULL,
  state            TEXT    NOT NULL,
  stamped          INTEGER NOT NULL,
  tracked          INTEGER NOT NULL,
  is_subagent      INTEGER NOT NULL,
  is_completed     INTEGER NOT NULL,
  skipped          INTEGER NOT NULL,
  message_count    INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  last_activity_at INTEGER NOT NULL
);
CREATE INDEX sessions_activity ON sessions (last_activity_at);
CREATE INDEX sessions_current  ON sessions (current, last_activity_at);
CREATE INDEX sessions_tracked  ON sessions (last_activity_at) WHERE tracked;

CREATE TABLE events (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  v              INTEGER NOT NULL,
  ts             INTEGER NOT NULL,
  event          TEXT    NOT NULL,
  session        INTEGER,
  parent_session INTEGER,
  frame          INTEGER,
  subagent       INTEGER,
  depth          INTEGER NOT NULL,
  host           TEXT    NOT NULL,
  data           TEXT -- JSON object
);
CREATE INDEX events_ts       ON events (ts);
CREATE INDEX events_event    ON events (event);
CREATE INDEX events_session  ON events (session)  WHERE session IS NOT NULL;
CREATE INDEX events_frame    ON events (frame)    WHERE frame IS NOT NULL;
CREATE INDEX events_subagent ON events (subagent) WHERE subagent IS NOT NULL;

CREATE TABLE deadlines (
  kind    TEXT    NOT NULL,
  subject TEXT    NOT NULL,
  due     INTEGER NOT NULL,
  set_at  INTEGER NOT NULL,
  PRIMARY KEY (kind, subject)
) WITHOUT ROWID;
CREATE INDEX deadlines_due ON deadlines (due);

CREATE TABLE records (
  kind  TEXT NOT NULL,
  id    TEXT NOT NULL,
  value TEXT NOT NULL, -- JSON
  PRIMARY KEY (kind, id)
) WITHOUT ROWID;
