package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/samber/lo"

	"flame/agents"
	"flame/agents/converge"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/project"
	"flame/project/view"
	"flame/render"
	"flame/tools/transport"
)

func agentTools(a *agents.Agents) []Tool {
	d := agentDoor{a, &sync.Map{}}
	return slices.Concat(
		usual(
			direct(define(op.Spawn, "Start an agent in its own process. It does not see this conversation.", reaches, d.spawn)),
			define(op.AgentWait, "Wait, at most 50 s, until an agent ends. Call it again while the agent is running.", reads, d.wait),
		),
		[]Tool{
			define(op.AgentStatus, "Show the progress of an agent.", reads, d.status),
			define(op.AgentResult, "Read the outcome of an agent: its answer, files, artifacts, decisions, usage.", reads, d.result),
			define(op.AgentList, "List the agents that were started, newest first.", reads, d.list),
			define(op.Handoff,
				"Hand over to a running agent: watch it, or change no frames until it ends.",
				writes, d.handoff),
			define(op.Converge, "Combine the results of agents that have ended, and find where they contradict each other.", writes, d.converge),
			define(op.AgentCancel, "Stop an agent and everything it started. Their work is kept.", discards, d.cancel),
		},
	)
}

type agentDoor struct {
	a       *agents.Agents
	refused *sync.Map // a person's refusals, by tree, agent and mode
}

type spawnArgs struct {
	Type           string               `json:"subagent_type,omitempty" jsonschema:"builder, tester, analyzer, retriever or another by name"`
	Prompt         string               `json:"prompt,omitempty" jsonschema:"the whole task"`
	Description    string               `json:"description,omitempty" rare:"true" jsonschema:"3-5 words"`
	Background     *bool                `json:"background,omitempty" rare:"true" jsonschema:"default true; false waits 50 s"`
	InheritContext *bool                `json:"inherit_context,omitempty" rare:"true" jsonschema:"default true"`
	Mode           hosts.Mode           `json:"permission_mode,omitempty" rare:"true" jsonschema:"never more than yours"`
	Tools          *[]string            `json:"tools,omitempty" rare:"true" jsonschema:"only these"`
	Model          string               `json:"model,omitempty" rare:"true"`
	Timeout        *float64             `json:"timeout,omitempty" rare:"true" jsonschema:"seconds; 0: none"`
	FrameID        string               `json:"frameID,omitempty" rare:"true" jsonschema:"work below"`
	Cwd            string               `json:"cwd,omitempty" rare:"true"`
	Isolation      definition.Isolation `json:"isolation,omitempty" rare:"true"`
	On             string               `json:"on,omitempty" rare:"true" jsonschema:"worker queue"`
	Key            string               `json:"idempotency_key,omitempty" rare:"true" jsonschema:"same agent again"`
	BudgetTokens   int64                `json:"budget_tokens,omitempty" rare:"true"`
	BudgetUSD      float64              `json:"budget_usd,omitempty" rare:"true"`
	Definition     map[string]any       `json:"definition,omitempty" rare:"true" jsonschema:"instead of subagent_type"`
}

// asSeconds returns a number of seconds as a duration: the longest one for more.
func asSeconds(n float64) time.Duration {
	if n *= float64(time.Second); n < math.MaxInt64 {
		return time.Duration(n)
	}
	return math.MaxInt64
}

// request returns the request in the arguments.
func (in spawnArgs) request() (r plan.Request, err error) {
	r = plan.Request{
		Type: in.Type, Prompt: strings.TrimSpace(in.Prompt), Description: in.Description, Mode: in.Mode, Tools: in.Tools, Model: in.Model,
		Timeout: asSeconds(lo.FromPtr(in.Timeout)), Unlimited: in.Timeout != nil && *in.Timeout == 0,
		Frame: in.FrameID, Cwd: in.Cwd, Isolation: in.Isolation, On: in.On,
		Bare: in.InheritContext != nil && !*in.InheritContext, Key: in.Key, BudgetTokens: in.BudgetTokens, BudgetUSD: in.BudgetUSD,
	}
	if in.Definition != nil {
		r.Inline, err = json.Marshal(in.Definition)
	}
	return r, err
}

func (d agentDoor) spawn(ctx context.Context, by project.Caller, in spawnArgs) (string, error) {
	d.ready(ctx)
	r, err := in.request()
	if err != nil {
		return "", err
	}
	r.Call = clientOf(ctx).callID
	p, err := d.a.Plan(ctx, by, r)
	if err != nil {
		return "", err
	}
	if d.asksFor(ctx, p) {
		if p, err = d.seekGrant(ctx, by, p, r); err != nil {
			return "", err
		}
	}
	run, err := d.a.StartPlanned(ctx, p)
	if err != nil {
		return "", err
	}
	if lo.FromPtrOr(in.Background, run.Background) {
		return render.Spawned(d.a, run), nil
	}
	if run, err = d.await(ctx, run.ID, maxWait); err != nil {
		return "", err
	}
	if !run.State.Ended() {
		return render.Spawned(d.a, run), nil
	}
	return d.resultText(ctx, run.ID, 0)
}

// ready cleans up after killed processes, so that dead agents do not count as running.
func (d agentDoor) ready(ctx context.Context) {
	if err := d.a.Recover(ctx); err != nil {
		d.a.Project.Log.Warn("flame could not recover all agents", "error", err)
	}
}

// maxWait is the time limit of a waiting call: hosts give up on a call after a minute at the
// earliest.
const maxWait = 50 * time.Second

// progressPace is how often a waiting call shows that it is alive.
const progressPace = 10 * time.Second

// await waits until an agent ends, and reports its progress to the client.
func (d agentDoor) await(ctx context.Context, id string, most time.Duration) (record.Agent, error) {
	transport.LeaveOrder(ctx)
	bounded, stop := context.WithTimeout(ctx, most)
	defer stop()
	var told time.Time
	begun := time.Now()
	return d.a.Wait(bounded, id, func(run record.Agent) {
		if time.Since(told) >= progressPace {
			told = time.Now()
			clientOf(ctx).progress(ctx, time.Since(begun).Seconds(), d.stateLine(run))
		}
	})
}

// stateLine returns one line on an agent's progress.
func (d agentDoor) stateLine(run record.Agent) string {
	return render.AgentLine(run, d.a.Project.Now())
}

type waitArgs struct {
	ID      string  `json:"subagent_id"`
	Timeout float64 `json:"timeout,omitempty" jsonschema:"seconds, at most 50"`
}

func (d agentDoor) wait(ctx context.Context, _ project.Caller, in waitArgs) (string, error) {
	d.ready(ctx)
	most := maxWait
	if in.Timeout > 0 {
		most = min(most, asSeconds(in.Timeout))
	}
	run, err := d.await(ctx, in.ID, most)
	if err != nil {
		return "", err
	}
	if !run.State.Ended() {
		return fmt.Sprintf("%s\nIt is still running; call %s again, or carry on with other work.", d.stateLine(run), op.AgentWait), nil
	}
	return d.endText(ctx, run)
}

type agentArgs struct {
	ID string `json:"subagent_id"`
}

func (d agentDoor) status(ctx context.Context, _ project.Caller, in agentArgs) (string, error) {
	d.ready(ctx)
	run, err := d.a.Find(ctx, in.ID)
	return render.Agent(d.a, run), err
}

type resultArgs struct {
	ID     string `json:"subagent_id"`
	Offset int    `json:"offset,omitempty" jsonschema:"characters of the answer to skip"`
}

func (d agentDoor) result(ctx context.Context, _ project.Caller, in resultArgs) (string, error) {
	if in.Offset < 0 {
		return "", core.Invalidf("offset is negative").WithHint("it counts characters from the beginning of the answer")
	}
	d.ready(ctx)
	return d.resultText(ctx, in.ID, in.Offset)
}

// maxAnswer is the length limit of the part of an agent's answer in one reply, in characters:
// Claude Code cuts replies over 25,000 tokens.
const maxAnswer = 60_000

// endText returns the outcome of an agent. It mentions the frame above the agent's if that
// has failed or is blocked, as after a handoff.
func (d agentDoor) endText(ctx context.Context, run record.Agent) (string, error) {
	text, err := d.resultText(ctx, run.ID, 0)
	if err != nil || run.State == core.AgentCompleted {
		return text, err
	}
	frame, err := view.DetailsOf(ctx, d.a.Project, project.Caller{Session: run.ParentSession}, run.Frame)
	if err != nil || len(frame.Ancestors) == 0 {
		return text, project.IgnoreMissing(err)
	}
	if above := frame.Ancestors[0]; above.Status == core.Failed || above.Status == core.Blocked {
		text += fmt.Sprintf("\nThe frame above, %s %s, is %s.", above.ID, render.Quote(above.Goal), above.Status)
	}
	return text, nil
}

func (d agentDoor) resultText(ctx context.Context, id string, offset int) (string, error) {
	r, err := d.a.Result(ctx, id)
	return render.Result(r, d.a.Project.Now(), offset, maxAnswer), err
}

type agentListArgs struct {
	ID     string `json:"subagent_id,omitempty" jsonschema:"only those below it"`
	Filter string `json:"filter,omitempty" enum:"all,running,ended" jsonschema:"default all"`
}

func (d agentDoor) list(ctx context.Context, _ project.Caller, in agentListArgs) (string, error) {
	d.ready(ctx)
	runs, err := d.a.AgentsBelow(ctx, in.ID)
	if err != nil {
		return "", err
	}
	text := render.Agents(runs, in.Filter, d.a.Project.Now())
	if in.ID != "" {
		return text, nil
	}
	others, err := agents.RemoteAgents(ctx, d.a.Project)
	return text + render.RemoteAgents(others, in.Filter), err
}

func (d agentDoor) cancel(ctx context.Context, by project.Caller, in agentArgs) (string, error) {
	d.ready(ctx)
	stopped, err := d.a.Cancel(ctx, by, in.ID)
	if err != nil {
		return "", err
	}
	run, err := d.a.Find(ctx, in.ID)
	return render.Cancelled(run, stopped), err
}

type handoffArgs struct {
	ID        string           `json:"subagent_id,omitempty"`
	Transfer  bool             `json:"transfer_control,omitempty" jsonschema:"default false: only watch"`
	Timeout   float64          `json:"timeout,omitempty" jsonschema:"seconds, default 600"`
	OnFailure record.OnFailure `json:"on_failure,omitempty" jsonschema:"default escalate"`
}

func (d agentDoor) handoff(ctx context.Context, by project.Caller, in handoffArgs) (string, error) {
	d.ready(ctx)
	h := record.Handoff{Agent: in.ID, Transfer: in.Transfer, Timeout: core.Millis(asSeconds(in.Timeout).Milliseconds()), OnFailure: in.OnFailure}
	run, err := d.a.Handoff(ctx, by, h)
	if err != nil {
		return "", err
	}
	if !h.Transfer && !run.State.Ended() {
		return fmt.Sprintf("Handed over, to watch: %s\nCarry on with other work; %s waits for it to end.", d.stateLine(run), op.AgentWait), nil
	}
	if run, err = d.await(ctx, run.ID, maxWait); err != nil {
		return "", err
	}
	if !run.State.Ended() {
		return fmt.Sprintf("Handed over: %s\nUntil it ends this session changes no frames. Call %s, again while it is running.", d.stateLine(run), op.AgentWait), nil
	}
	return d.endText(ctx, run)
}

type convergeArgs struct {
	IDs        []string              `json:"subagent_ids,omitempty" jsonschema:"two or more"`
	Strategy   converge.Strategy     `json:"strategy,omitempty"`
	Resolution converge.Resolution   `json:"conflict_resolution,omitempty" jsonschema:"default manual"`
	Format     converge.Format       `json:"output_format,omitempty" jsonschema:"default delta_batch"`
	Tolerance  float64               `json:"tolerance,omitempty" jsonschema:"between numbers that count as equal"`
	Schema     map[string]any        `json:"result_schema,omitempty" jsonschema:"compare only what it declares"`
	Conflicts  []converge.Difference `json:"conflicts,omitempty" jsonschema:"contradictions that you found in the answers"`
}

func (d agentDoor) converge(ctx context.Context, by project.Caller, in convergeArgs) (string, error) {
	d.ready(ctx)
	options := converge.Options{Strategy: in.Strategy, Resolution: in.Resolution, Format: in.Format, Tolerance: in.Tolerance, Conflicts: in.Conflicts}
	if in.Schema != nil {
		schema, err := json.Marshal(in.Schema)
		if err != nil {
			return "", err
		}
		options.Schema = schema
	}
	c, err := d.a.Converge(ctx, by, in.IDs, options)
	if err != nil {
		return "", err
	}
	text, next, err := render.Converged(ctx, d.a, c, maxAnswer)
	return text + next, err
}
