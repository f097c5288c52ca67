-- What ends with a session is looked for with it: its children, and those that it
-- asked for. Sessions of children are forgotten some time after their end.
CREATE INDEX sessions_parent    ON sessions (parent, last_activity_at) WHERE parent IS NOT NULL;
CREATE INDEX sessions_completed ON sessions (last_activity_at) WHERE tracked AND is_completed;
CREATE INDEX records_spawn      ON records (iif(json_valid(value), json_extract(value, '$.parent'), NULL)) WHERE kind = 'spawn';

-- Contexts show the oldest of what is planned directly below a frame.
CREATE INDEX frames_planned_created ON frames (parent, archived_at, created_at) WHERE status = 'planned';
