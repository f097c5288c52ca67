package gemini

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"flame/core"
	"flame/core/evidence"
	"flame/hosts/hooks"
	"flame/project/stack"
	logs "flame/transcripts/gemini"
)

// created matches the answer to a call that created an item of the tracker: only it has the item's id.
var created = core.Pattern(`^Created task ([0-9a-f]{6}):`)

// listCalled handles a call of a list tool.
func (x *exchange) listCalled() error {
	unsure, err := x.findAgent()
	if err == nil && !unsure { // of subagents that work at once, flame cannot tell whose list it is
		if x.Tool == todoTool {
			err = hooks.ListWritten(x.Exchange, x.lastWords)
		} else {
			err = x.trackerCalled()
		}
	}
	return err
}

// trackerCalled handles a call that creates an item of the tracker, or changes one.
func (x *exchange) trackerCalled() error {
	var in struct {
		ID     string `json:"id"`
		Title  string `json:"title"`
		Status string `json:"status"`
		Parent string `json:"parentId"`
	}
	var r result
	var text string
	if json.Unmarshal(x.Input, &in) != nil || json.Unmarshal(x.Response, &r) != nil || r.Error != nil || json.Unmarshal(r.Text, &text) != nil {
		return nil
	}
	item := evidence.Item{ID: in.ID, Text: in.Title, Above: in.Parent, Status: hooks.StatusOf(in.Status)}
	call := evidence.ListCall{}
	if found := created().FindStringSubmatch(text); found != nil {
		item.ID, call.Created = found[1], true
	}
	call.Items = []evidence.Item{item}
	return hooks.FollowList(x.Exchange, "tracker/"+x.Session, call, x.lastWords)
}

// approved matches the answer to an approved plan, with the path of its file.
var approved = core.Pattern(`^Plan approved\..*(?s:.*)\bplan is stored at: (\S.*\.md)(?:\n|$)`)

// planApproved handles the end of exit_plan_mode. Only the file, in the session's own folder, has the plan.
func (x *exchange) planApproved() error {
	var in struct {
		File string `json:"plan_filename"`
	}
	var r result
	var text string
	if json.Unmarshal(x.Input, &in) == nil && json.Unmarshal(x.Response, &r) == nil && r.Error == nil && json.Unmarshal(r.Text, &text) == nil {
		found := approved().FindStringSubmatch(text)
		if found != nil && filepath.Base(found[1]) == in.File && strings.Contains(filepath.ToSlash(found[1]), "/"+x.Session+"/plans/") {
			return hooks.PlanApproved(x.Exchange, found[1], string(hooks.Head(found[1], stack.MaxPlan)))
		}
	}
	return nil
}

// lastWords returns the session's last words in its turn, as far as its log has them.
func (x *exchange) lastWords() string {
	if x.Agent != "" {
		return ""
	}
	return logs.LastTurn(x.tail()).Said
}
