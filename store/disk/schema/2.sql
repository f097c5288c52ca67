-- What was below a session is looked for with it.
CREATE INDEX events_parent ON events (parent_session) WHERE parent_session IS NOT NULL;
