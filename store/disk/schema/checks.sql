ALTER TABLE ids ADD CONSTRAINT ids_named CHECK (id <> '');
ALTER TABLE frames ADD CONSTRAINT frames_statuses
  CHECK (status IN ('planned', 'in_progress', 'completed', 'failed', 'blocked', 'invalidated'));
ALTER TABLE frames ADD CONSTRAINT frames_values
  CHECK (typeof(parent) IN ('integer', 'null') AND typeof(session) IN ('integer', 'null')
    AND typeof(created_at) = 'integer' AND typeof(started_at) = 'integer' AND typeof(ended_at) = 'integer'
    AND typeof(updated_at) = 'integer' AND typeof(archived_at) = 'integer' AND typeof(invalidated_at) = 'integer'
    AND goal_is_default IN (0, 1) AND typeof(confidence) IN ('real', 'null') AND typeof(cost_usd) = 'real'
    AND typeof(tokens_in) = 'integer' AND typeof(tokens_out) = 'integer' AND typeof(cache_read) = 'integer'
    AND typeof(cache_written) = 'integer' AND typeof(tool_calls) = 'integer');
ALTER TABLE frames ADD CONSTRAINT frames_lists
  CHECK (iif(json_valid(planned_children), json_type(planned_children) = 'array', false)
    AND iif(json_valid(artifacts), json_type(artifacts) = 'array', false)
    AND iif(json_valid(decisions), json_type(decisions) = 'array', false));
ALTER TABLE sessions ADD CONSTRAINT sessions_values
  CHECK (typeof(parent) IN ('integer', 'null') AND typeof(root) IN ('integer', 'null') AND typeof(current) IN ('integer', 'null')
    AND stamped IN (0, 1) AND tracked IN (0, 1) AND is_subagent IN (0, 1) AND is_completed IN (0, 1) AND skipped IN (0, 1)
    AND typeof(message_count) = 'integer' AND typeof(created_at) = 'integer' AND typeof(last_activity_at) = 'integer');
ALTER TABLE events ADD CONSTRAINT events_data CHECK (data IS NULL OR json_valid(data));
ALTER TABLE records ADD CONSTRAINT records_values CHECK (json_valid(value));
