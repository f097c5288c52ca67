package web

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"flame/core"
	"flame/project/stack"
	"flame/render"
)

// maxBody bounds the request of a page, in bytes. Summaries and results may be long.
const maxBody = 1 << 20

// An action is the request of a person on the page. Each kind of action uses some of the fields.
type action struct {
	Frame       string      `json:"frame"`
	Session     string      `json:"session"` // whose current frame changes; empty: the most recently active session
	Status      core.Status `json:"status"`  // that a frame ends with
	Text        string      `json:"text"`    // summary, reason or goal
	Force       bool        `json:"force"`
	Agent       string      `json:"agent"`
	Convergence string      `json:"convergence"`
	Conflict    string      `json:"conflict"`
	Side        string      `json:"side"` // subagent_id of the side that wins
}

// actionOf reads the action that a page requests.
func actionOf(r *http.Request) (a action, err error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return a, core.Invalidf("the Content-Type must be application/json")
	}
	in := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody))
	in.DisallowUnknownFields()
	if err := in.Decode(&a); err != nil {
		return a, core.Invalidf("flame cannot read the body: %v", err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return a, core.Invalidf("the body has data after its JSON value")
	}
	return a, nil
}

// An act does an action.
type act struct {
	needs func(a action) map[string]string // required values by their names
	do    func(q query, a action) (said string, err error)
}

// acts are the actions by their path. Only a person at a shell can start agents and grant them
// more.
var acts = map[string]act{
	"activate":   {ofFrame, activate},
	"pop":        {ofFrame, pop},
	"invalidate": {ofFrame, invalidate},
	"goal":       {ofFrame, setGoal},
	"cancel":     {func(a action) map[string]string { return map[string]string{"agent": a.Agent} }, cancel},
	"settle": {func(a action) map[string]string {
		return map[string]string{"convergence": a.Convergence, "conflict": a.Conflict, "side that wins": a.Side}
	}, settle},
}

func ofFrame(a action) map[string]string { return map[string]string{"frame": a.Frame} }

func activate(q query, a action) (string, error) {
	done, err := stack.Activate(q.Context(), q.agents.Project, by(a.Session), a.Frame, a.Force)
	return render.ActivatedShort(done), err
}

func pop(q query, a action) (string, error) {
	popped, err := stack.Pop(q.Context(), q.agents.Project, by(a.Session), stack.PopArgs{Frame: a.Frame, Status: a.Status, Summary: a.Text, Force: a.Force})
	return render.ShortPop(popped), err
}

func invalidate(q query, a action) (string, error) {
	done, err := stack.Invalidate(q.Context(), q.agents.Project, by(a.Session), a.Frame, a.Text)
	return render.InvalidatedShort(done), err
}

func setGoal(q query, a action) (string, error) {
	frame, err := stack.SetGoal(q.Context(), q.agents.Project, by(a.Session), a.Frame, a.Text, "")
	return render.ShortFrame(frame), err
}

func cancel(q query, a action) (string, error) {
	stopped, err := q.agents.Cancel(q.Context(), by(a.Session), a.Agent)
	if err != nil {
		return "", err
	}
	run, err := q.agents.Find(q.Context(), a.Agent)
	return render.Cancelled(run, stopped), err
}

func settle(q query, a action) (string, error) {
	c, err := q.agents.Convergences().Review(q.Context(), a.Convergence, map[string]string{a.Conflict: a.Side})
	return c.Result.Rationale, err
}
