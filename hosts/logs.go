package hosts

import (
	"errors"
	"io/fs"

	"flame/core"
	"flame/transcripts"
)

// LogOf returns what a host logged of a session: in the one log that it keeps for all,
// or in the one at path, as a hook of the host's reported it. No such log is
// core.ErrNotFound.
func (r Registry) LogOf(machine Machine, host, session, path string) (transcripts.Log, error) {
	if store := r.Of(host).Store; store != nil {
		path = store(machine)
	}
	if path == "" {
		return transcripts.Log{}, core.NotFoundf("it is not known where the transcript of session %s is", session)
	}
	logs, err := r.Formats().Detect(path, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return transcripts.Log{}, core.NotFoundf("the transcript of session %s is gone: there is no %s", session, path)
	case err != nil:
		return transcripts.Log{}, err
	}
	log := logs[0] // its subagents are sessions of their own
	if log.Format.Database != nil {
		log.Session = session
	}
	return log, nil
}
