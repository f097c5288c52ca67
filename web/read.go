package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/samber/lo"

	"flame/agents"
	"flame/core"
	"flame/project"
	"flame/project/briefing"
	"flame/project/view"
	"flame/render/board"
)

// A query is a request about a project.
type query struct {
	*http.Request
	agents *agents.Agents
}

// by returns the caller for requests of the page: a person, as at a shell, who acts in a session;
// empty: the most recently active session.
func by(session string) project.Caller {
	return project.Caller{Session: session, Host: project.CommandLine}
}

func (q query) get(name string) string { return q.URL.Query().Get(name) }

// reads are the queries of a page about a project, by their path.
var reads = map[string]func(q query) (any, error){
	"frame":   func(q query) (any, error) { return view.DetailsOf(q.Context(), q.agents.Project, by(""), q.get("id")) },
	"context": contextOf,
	"log":     logOf,
	"round":   roundOf,
	"part":    partOf,
	"history": historyOf,
	"files":   func(q query) (any, error) { return agents.FilesOf(q.Context(), q.agents, by(""), q.get("id")) },
	"agent":   func(q query) (any, error) { return q.agents.Result(q.Context(), q.get("id")) },
	"search":  search,
	"cascade": func(q query) (any, error) {
		return view.PreviewCascade(q.Context(), q.agents.Project, by(""), q.get("id"))
	},
	"economy": func(q query) (any, error) { return view.EconomyOf(q.Context(), q.agents.Project) },
}

// contextOf returns the context of an agent in a frame.
func contextOf(q query) (any, error) {
	contexts := briefing.Contexts{Project: q.agents.Project}
	made, err := contexts.Context(q.Context(), by(""), q.get("id"), 0)
	return map[string]string{"text": made.Text}, err
}

func numberIn(q query, name string, otherwise int) (int, error) {
	given := q.get(name)
	if given == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 0 {
		return 0, core.Invalidf("%s must be a number, at least 0, not %q", name, core.OneLine(given, 40))
	}
	return n, nil
}

// The most that a search on the page finds.
const (
	maxFound    = 100 // frames
	maxPassages = 50  // places in the work of frames
)

// search finds frames by what they say and by the work in them, as the hosts' logs have it.
func search(q query) (any, error) {
	found, err := view.Search(q.Context(), q.agents.Project, by(""), view.SearchArgs{Text: q.get("q"), Limit: maxFound})
	if err != nil {
		return nil, err
	}
	reach, err := agents.Passages(q.Context(), q.agents, by(""), q.get("q"), "", maxPassages)
	if err != nil {
		return nil, err
	}
	ids := lo.Map(found, func(f view.SearchHit, _ int) string { return f.ID })
	work := lo.Without(lo.Uniq(lo.Map(reach.Passages, func(p agents.Passage, _ int) string { return p.Frame })), ids...)
	return map[string]any{"ids": append(ids, work...), "work": len(work), "unread": reach.Unread, "all": len(found) < maxFound}, nil
}

// answer returns a handler that writes the result of f as JSON.
func answer(f func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		if err != nil {
			refuse(w, err)
			return
		}
		writeJSON(w, http.StatusOK, v)
	}
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	for is, code := range map[error]int{
		core.ErrNotFound: http.StatusNotFound, core.ErrInvalid: http.StatusBadRequest, core.ErrUnavailable: http.StatusServiceUnavailable,
	} {
		if errors.Is(err, is) {
			status = code
		}
	}
	writeJSON(w, status, map[string]any{"trouble": board.TroubleOf(err)})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the page may be gone
}
