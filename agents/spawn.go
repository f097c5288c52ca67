package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/project"
)

// Spawn starts an agent for the caller and gives its record. It returns as soon
// as its supervisor runs; nothing of it runs where there is an error.
func (a *Agents) Spawn(ctx context.Context, by project.Caller, r Request) (Run, error) {
	if err := r.check(); err != nil {
		return Run{}, err
	}
	if known, err := a.byKey(ctx, by.Session, r.Key); err != nil || known.ID != "" {
		return known, err
	}
	def, err := a.definition(r)
	if err != nil {
		return Run{}, err
	}
	return a.spawn(ctx, by, def, r)
}

// spawn is Spawn for a definition that was found.
func (a *Agents) spawn(ctx context.Context, by project.Caller, def Definition, r Request) (Run, error) {
	host, err := a.host(def, by.Host)
	if err != nil {
		return Run{}, err
	}
	def = def.For(host.Name())
	run, err := a.draft(def, r, host)
	if err != nil {
		return Run{}, err
	}
	context, err := a.admit(ctx, by, def, r, &run)
	switch {
	case errors.Is(err, errKnown):
		return run, nil
	case err != nil:
		return Run{}, err
	}
	if err := a.launch(ctx, host, def, context, &run); err != nil {
		return run, errors.Join(err, a.unstarted(ctx, run.ID, err))
	}
	return run, nil
}

// definition finds what the agent is.
func (a *Agents) definition(r Request) (Definition, error) {
	if len(r.Inline) > 0 {
		return Inline(r.Inline)
	}
	return a.Catalog().Find(r.Type)
}

// draft is the record before anything is checked against the tree.
func (a *Agents) draft(def Definition, r Request, host Host) (Run, error) {
	limits := a.Bounds.Each
	limits.Wall = cmp.Or(r.Timeout, def.Timeout, limits.Wall)
	limits.Tokens = cmp.Or(r.BudgetTokens, def.BudgetTokens, limits.Tokens)
	limits.CostUSD = cmp.Or(r.BudgetUSD, def.BudgetUSD, limits.CostUSD)
	if def.Retries != nil {
		limits.Retries = *def.Retries
	}
	cwd, err := a.workIn(r.Cwd)
	if err != nil {
		return Run{}, err
	}
	run := Run{
		ID: a.Project.NewID("agent"), Session: cmp.Or(r.session, host.NewSession()), Host: host.Name(), Type: def.Name,
		Description: core.OneLine(cmp.Or(r.Description, r.Prompt), 60), Prompt: cut(r.Prompt, maxKept),
		Limits: limits, Key: r.Key, Schema: def.ResultSchema, Cwd: cwd, Base: baseOf(cwd),
		State: core.AgentInitializing, CreatedAt: a.Project.Now(), task: r.Prompt, resumes: r.session != "",
	}
	if def.MaxChildren != nil {
		run.MaxChildren = *def.MaxChildren
	}
	run.Model, run.Warnings = modelFor(host.Name(), cmp.Or(r.Model, def.Model))
	_, unheeded := handedOn(host, def)
	run.Warnings = slices.Concat(run.Warnings, unknownTools(host.Name(), def), unheeded)
	if cmp.Or(r.Isolation, def.Isolation) == "worktree" {
		run.Worktree = filepath.Join(a.Folder(run.ID), "worktree")
	}
	return run, nil
}

// workIn gives the folder that an agent works in: the project's, or one inside of
// it. Settings of other folders could allow more than the project's do.
func (a *Agents) workIn(dir string) (string, error) {
	if dir == "" {
		return a.Dir, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Dir, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if info, statErr := os.Stat(dir); err != nil || statErr != nil || !info.IsDir() {
		return "", core.NotFoundf("cwd %s is not a folder", dir).WithHint("name a folder that exists, or leave cwd out for the project's")
	}
	root, err := filepath.EvalSymlinks(a.Dir)
	if err != nil {
		return "", err
	}
	inside, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(inside) {
		return "", core.Invalidf("cwd %s is not in the project %s", dir, a.Dir).WithHint("name a folder of the project: the settings of others could allow the agent more")
	}
	for folder := real; folder != root; folder = filepath.Dir(folder) {
		for _, name := range settingsFiles {
			if found, err := filepath.Glob(filepath.Join(folder, name)); err == nil && len(found) > 0 {
				return "", core.Invalidf("cwd %s has settings of its own (%s)", dir, found[0]).WithHint("name another folder of the project: those settings could allow the agent more")
			}
		}
	}
	return dir, nil
}

// settingsFiles are by which hosts let folders have settings of their own.
var settingsFiles = []string{".claude/settings*.json", ".mcp.json", "opencode.json*", ".opencode"}

// modelFor gives a model as a host takes it. A definition that was written for
// another host names none of this one's.
func modelFor(host, model string) (string, []string) {
	switch {
	case model == "" || model == "inherit":
		return "", nil
	case host == claudeCode && strings.Contains(model, "/"), host == openCode && !strings.Contains(model, "/"):
		return "", []string{fmt.Sprintf("model %q is not one of %s's, so it chooses itself", model, host)}
	}
	return model, nil
}

// unknownTools warns of tools that a host is not known to have.
func unknownTools(host string, def Definition) (warnings []string) {
	if def.Tools == nil {
		return nil
	}
	for _, tool := range *def.Tools {
		if name, _ := ruleOf(tool); !knownTool(host, name) {
			warnings = append(warnings, fmt.Sprintf("tool %q is not one that %s is known to have", name, host))
		}
	}
	return warnings
}

// running are keys that have a host run commands. Whoever may edit a project's
// files, or write a definition into a call, may not run commands by that.
var running = []string{"mcpServers", "hooks"}

// handedOn gives the keys of a definition that its host gets, and warns of the
// others.
func handedOn(host Host, def Definition) (keys map[string]json.RawMessage, warnings []string) {
	keys = map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(def.HostKeys)) {
		switch {
		case key == "color" || key == "tags": // for lists of agents
		case !slices.Contains(host.Keys(), key):
			warnings = append(warnings, fmt.Sprintf("%s: is not handed on to %s", key, host.Name()))
		case slices.Contains(running, key) && def.Source.Kind != User:
			warnings = append(warnings, fmt.Sprintf("%s: is handed on only from definitions in your home, since it runs commands", key))
		default:
			keys[key] = def.HostKeys[key]
		}
	}
	return keys, warnings
}

// admit makes the agent's frame and record in one transaction, where the tree's
// bounds let it in. It gives the context of the frame.
func (a *Agents) admit(ctx context.Context, by project.Caller, def Definition, r Request, run *Run) (string, error) {
	bare, most := contextOf(def, r)
	_, context, err := a.Project.Delegate(ctx, by, project.Delegation{
		Agent: run.ID, Under: r.Frame, Goal: run.Description, Session: run.Session, Host: run.Host,
		Title: core.SubagentTitle(run.Description, def.Name), Bare: bare, MaxChars: most,
		Also: func(tx project.Tx, frame core.Frame, caller core.Session) error {
			if known, err := keyed(tx, caller.ID, r.Key); err != nil || known.ID != "" {
				*run = known
				return cmp.Or(err, errKnown)
			}
			run.Frame, run.ParentSession = frame.ID, caller.ID
			if err := a.place(tx, by, run, caller); err != nil {
				return err
			}
			if err := a.grant(tx, by, def, r, caller, run); err != nil {
				return err
			}
			return a.enrol(tx, *run)
		},
	})
	return context, err
}

// contextOf says how much of its frame's context an agent is given: whether none,
// and how many characters at most. Goals come first in a context that is cut.
func contextOf(def Definition, r Request) (bare bool, most int) {
	switch def.Context {
	case "none":
		return true, 0
	case "goal":
		most = 1_500
	case "frame":
		most = 4_000
	}
	return r.Bare, most
}

// place says where in the tree of agents a new one stands, and refuses one that is
// beyond the tree's bounds.
func (a *Agents) place(tx project.Tx, by project.Caller, run *Run, caller core.Session) error {
	parent, err := agentOf(tx, by, caller.ID)
	if err != nil {
		return err
	}
	if parent.CancelledBy != "" && !parent.State.Ended() {
		return core.Invalidf("%s was told to stop, so it may start no others", parent.ID).WithHint("say what is done and end")
	}
	root, depth, err := above(tx, caller)
	if err != nil {
		return err
	}
	if by.Session == "" {
		root = cmp.Or(caller.Current, run.Frame) // who works at a shell has no session that ends
	}
	run.Tree, run.ParentAgent = cmp.Or(parent.Tree, root), parent.ID
	run.Depth = max(depth, parent.Depth) + 1
	if err := a.bound(tx, run, parent); err != nil || parent.ID == "" {
		return err
	}
	parent.Children++
	return tx.SaveRecord(recordRun, parent.ID, parent)
}

// above gives the session at the root of the caller's, and how many levels of
// agents, of hosts' own too, lie between.
func above(tx project.Tx, caller core.Session) (root string, depth int, err error) {
	root = caller.ID
	for parent := caller.Parent; parent != "" && depth < 100; depth++ {
		session, err := tx.Session(parent)
		if errors.Is(err, core.ErrNotFound) {
			return parent, depth + 1, nil
		}
		if err != nil {
			return root, depth, err
		}
		root, parent = session.ID, session.Parent
	}
	return root, depth, nil
}

// bound refuses an agent beyond the tree's bounds, or beyond its parent's own.
func (a *Agents) bound(tx project.Tx, run *Run, parent Run) error {
	var t tree
	if _, err := tx.Record(recordTree, run.Tree, &t); err != nil {
		return err
	}
	b := a.Bounds
	run.MaxDepth = b.Depth
	if parent.ID != "" {
		run.MaxDepth = min(parent.MaxDepth, run.MaxDepth)
	}
	switch {
	case run.Depth > run.MaxDepth:
		return core.Invalidf("an agent at depth %d may start no others", run.Depth-1).
			WithHint("do the work yourself, or hand it back to your parent; FLAME_AGENT_MAX_DEPTH is %d", b.Depth)
	case parent.MaxChildren > 0 && parent.Children >= parent.MaxChildren:
		return core.Invalidf("an agent of type %s may start %d others, and has", parent.Type, parent.MaxChildren).
			WithHint("do the work yourself, or hand it back to your parent")
	case t.Total >= b.Total:
		return core.Invalidf("%d agents were started below this session, which is all there may be", t.Total).
			WithHint("do the work yourself; FLAME_AGENT_MAX_TOTAL sets the number")
	case len(t.Live) >= b.Concurrent:
		return core.Invalidf("%d agents are running below this session, which is as many as may: %s", len(t.Live), strings.Join(t.Live, ", ")).
			WithHint("wait for one with flame_agent_wait, or cancel one with flame_agent_cancel; FLAME_AGENT_MAX_CONCURRENT sets the number")
	case b.Tokens > 0 && t.Tokens >= b.Tokens:
		return core.Invalidf("the agents below this session have used their %d tokens", b.Tokens).WithHint("FLAME_AGENT_BUDGET_TOKENS sets the number")
	case b.CostUSD > 0 && t.CostUSD >= b.CostUSD:
		return core.Invalidf("the agents below this session have used their budget of %.2f USD", b.CostUSD).WithHint("FLAME_AGENT_BUDGET_USD sets it")
	}
	return nil
}

// grant gives the agent its mode and tools, never more than its parent has.
func (a *Agents) grant(tx project.Tx, by project.Caller, def Definition, r Request, caller core.Session, run *Run) error {
	parent, err := agentOf(tx, by, caller.ID)
	if err != nil {
		return err
	}
	if run.Mode, err = a.mode(tx, def, r, caller, parent, *run); err != nil {
		return err
	}
	theirs := cmp.Or(parent.Host, caller.Host)
	run.Foreign = theirs != run.Host && theirs != project.CommandLine
	run.Tools = parent.Tools.With(parent.Passes).For(run.Host).Only(def.Tools).Only(r.Tools).Without(def.DisallowedTools...)
	run.Trusted = trusted(def, run.Tools)
	if run.Passes, err = passes(tx, def, a.Project.Now()); err != nil {
		return err
	}
	if def.MaxDepth != nil {
		run.MaxDepth = min(run.MaxDepth, run.Depth+*def.MaxDepth)
	}
	if def.MaxChildren != nil && *def.MaxChildren == 0 {
		run.MaxDepth = run.Depth
	}
	if run.Depth >= run.MaxDepth {
		run.Tools = run.Tools.Without(SpawnTools...)
	}
	return nil
}

// trusted gives the tools of a definition that came with flame or lies in the
// user's home, as far as the set has them. Others limit an agent and allow nothing:
// whoever writes them may be a model.
func trusted(def Definition, set ToolSet) []string {
	if def.Tools == nil || def.Source.Kind != Builtin && def.Source.Kind != User {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(*def.Tools), func(tool string) bool { return !slices.Contains(set.Allowed, tool) })
}

// mode chooses the mode of an agent.
func (a *Agents) mode(tx project.Tx, def Definition, r Request, caller core.Session, parent Run, run Run) (ModeChoice, error) {
	theirs, err := parentMode(tx, caller, parent)
	if err != nil {
		return ModeChoice{}, err
	}
	q := ModeQuestion{Call: r.Mode, Definition: def.PermissionMode, Type: def.Type, Parent: theirs}
	q.Grant, err = grantFor(tx, run, def, r.Grant, a.Project.Now())
	return ChooseMode(q), err
}

// Foresee gives the mode that an agent would get, what it is, and the session at
// the root of its tree, so that a person can be asked before it is started.
func (a *Agents) Foresee(ctx context.Context, by project.Caller, r Request) (choice ModeChoice, def Definition, tree string, err error) {
	if err := r.check(); err != nil {
		return choice, def, "", err
	}
	if def, err = a.definition(r); err != nil {
		return choice, def, "", err
	}
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		caller, err := tx.Session(by.Session)
		if errors.Is(err, core.ErrNotFound) {
			caller, err = core.Session{ID: by.Session, Parent: by.Parent}, nil
		}
		if err != nil {
			return err
		}
		parent, err := agentOf(tx, by, caller.ID)
		if err != nil {
			return err
		}
		root, depth, err := above(tx, caller)
		if err != nil {
			return err
		}
		tree = cmp.Or(parent.Tree, root)
		choice, err = a.mode(tx, def, r, caller, parent, Run{Tree: tree, Depth: max(depth, parent.Depth) + 1})
		return err
	})
	return choice, def, tree, err
}

// parentMode is the mode of the session that asks: that of an agent as it was
// given, of a user's as its host's hook told it last.
func parentMode(tx project.Tx, caller core.Session, parent Run) (Mode, error) {
	if parent.ID != "" {
		return parent.Mode.Effective, nil
	}
	mode, err := project.ModeOf(tx, caller.ID)
	if err == nil && mode == "" && caller.Parent != "" {
		mode, err = project.ModeOf(tx, caller.Parent)
	}
	return Mode(mode), err
}

// enrol writes a new agent's record, and the events that tell of it before
// anything runs.
func (a *Agents) enrol(tx project.Tx, run Run) error {
	var t tree
	if _, err := tx.Record(recordTree, run.Tree, &t); err != nil {
		return err
	}
	if run.Mode.Grant != "" {
		if err := spent(tx, run.Mode.Grant); err != nil {
			return err
		}
	}
	t.Total++
	t.Live = append(t.Live, run.ID)
	err := errors.Join(
		tx.SaveRecord(recordTree, run.Tree, t),
		tx.SaveRecord(recordRun, run.ID, run),
		tx.SaveRecord(recordLive, run.ID, live{Since: run.CreatedAt}),
	)
	if run.Session != "" {
		err = errors.Join(err, tx.SaveRecord(recordSession, run.Session, run.ID))
	}
	if run.Key != "" {
		err = errors.Join(err, tx.SaveRecord(recordKey, keyOf(run.ParentSession, run.Key), run.ID))
	}
	return errors.Join(err,
		a.tell(tx, run, core.PermissionDecision, map[string]any{"permission_mode": run.Mode, "tools": run.Tools, "agent_type": run.Type}),
		a.tell(tx, run, core.SubagentSpawned, map[string]any{
			"agent_type": run.Type, "description": run.Description, "prompt": excerpt(run.Prompt), "parent_agent": run.ParentAgent,
			"permission_mode": run.Mode.Effective, "model": run.Model, "limits": run.Limits,
		}),
		a.tell(tx, run, core.TranscriptEvent, map[string]any{"event_type": "subagent_start", "task_description": run.Description}))
}

func keyOf(session, key string) string { return session + "/" + key }

// errKnown ends a spawn whose idempotency key has its agent.
var errKnown = errors.New("the agent is there")

// byKey gives the agent that a session started under an idempotency key; zero
// without one. It spares a repeated call what a new agent must pass; what two calls
// at one time must not both pass is in admit.
func (a *Agents) byKey(ctx context.Context, session, key string) (run Run, err error) {
	if key == "" {
		return run, nil
	}
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		run, err = keyed(tx, cmp.Or(session, project.CommandLine), key)
		return err
	})
	return run, err
}

func keyed(tx project.Tx, session, key string) (run Run, err error) {
	if key == "" {
		return run, nil
	}
	var id string
	if known, err := tx.Record(recordKey, keyOf(session, key), &id); !known || err != nil {
		return run, err
	}
	_, err = tx.Record(recordRun, id, &run)
	return run, err
}

// knownTool reports whether a host is known to have a tool; patterns and tools of
// MCP servers are for the host to tell.
func knownTool(host, name string) bool {
	if strings.ContainsAny(name, "*?") || strings.HasPrefix(name, "mcp__") || strings.Contains(name, "flame") {
		return true
	}
	if host == openCode && strings.Contains(name, "_") {
		return true // an MCP server's, as OpenCode names them
	}
	return slices.ContainsFunc(hostTools[host], func(known string) bool { return strings.EqualFold(known, name) })
}

// hostTools are the built-in tools of each host, as they offered them when they
// were tried.
var hostTools = map[string][]string{
	claudeCode: {
		"Agent", "Task", "Bash", "BashOutput", "KillShell", "Edit", "MultiEdit", "Write", "NotebookEdit", "Read", "Grep", "Glob", "LS",
		"WebFetch", "WebSearch", "TodoWrite", "Skill", "SlashCommand", "AskUserQuestion", "ExitPlanMode", "EnterPlanMode", "ToolSearch",
		"TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "TaskOutput", "TaskStop", "SendMessage", "Workflow", "ListMcpResources", "ReadMcpResource",
	},
	openCode: {
		"bash", "read", "write", "edit", "multiedit", "patch", "apply_patch", "grep", "glob", "list", "webfetch", "websearch", "codesearch",
		"task", "todowrite", "todoread", "skill", "question", "lsp", "invalid",
	},
}
