-- Sessions that have not ended are looked for at every sweep: their process may be gone.
CREATE INDEX sessions_live ON sessions (last_activity_at) WHERE state <> 'ended' AND parent IS NULL;
