package web

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"flame/agents"
	"flame/core"
	"flame/project"
)

// A query asks something about a project.
type query struct {
	*http.Request
	agents *agents.Agents
}

func (q query) get(name string) string { return q.URL.Query().Get(name) }

// maxBody bounds what a page may send, in bytes: a summary and results are long at most.
const maxBody = 1 << 20

// An action is what a person asks for on the page. Which fields are used depends on what
// it is.
type action struct {
	Frame       string      `json:"frame"`
	Session     string      `json:"session"` // that a frame becomes current of; empty: the most recently active one
	Status      core.Status `json:"status"`  // that a frame ends with
	Text        string      `json:"text"`    // summary, reason or goal
	Force       bool        `json:"force"`
	Agent       string      `json:"agent"`
	Convergence string      `json:"convergence"`
	Conflict    string      `json:"conflict"`
	Side        string      `json:"side"` // subagent_id of the side that wins
}

// actionOf reads what a page asks for.
func actionOf(r *http.Request) (a action, err error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return a, core.Invalidf("the Content-Type must be application/json")
	}
	in := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody))
	in.DisallowUnknownFields()
	if err := in.Decode(&a); err != nil {
		return a, core.Invalidf("the body cannot be read: %v", err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return a, core.Invalidf("the body goes on after its end")
	}
	return a, nil
}

// by returns on whose behalf an action is done: a person's, as at a shell.
func (a action) by() project.Caller {
	return project.Caller{Session: a.Session, Host: project.CommandLine}
}

// needs refuses an action on a frame that is not named.
func (a action) needs(what, value string) error {
	if strings.TrimSpace(value) == "" {
		return core.Invalidf("the %s is missing", what)
	}
	return nil
}
