package stack_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/evidence"
	"flame/hosts/hooks"
	"flame/project"
	"flame/project/stack"
	"flame/tests/cases"
	"flame/tests/projecttest"
)

// A listStep is what happens in a session with a list: one field is set, and perhaps Say.
type listStep struct {
	User      string
	Say       string // the agent's words before the call
	Pushed    string // goal
	Popped    string // summary
	Plans     string // goal
	Drops     string // goal of a frame that a person invalidates
	End       string
	Begins    bool // the session is resumed
	As        string
	Compacted string

	List   *[]struct{ Text, Status string }
	Marks  *[]string // a list in short: "> Add tests" is in progress; -, x, /, ! are pending, done, cancelled, blocked
	Create *struct{ ID, Subject, Above string }
	Update *struct{ ID, Status, Subject, From string }

	Tree    []string
	Current string
}

// A listPlay plays steps.
type listPlay struct {
	*projecttest.Fixture
	by      project.Caller
	prompts int
	current []string // goals, without repeats
}

var statuses = map[string]evidence.ItemStatus{
	"in_progress": evidence.ItemActive, "completed": evidence.ItemDone, "closed": evidence.ItemDone, "blocked": evidence.ItemBlocked,
	"cancelled": evidence.ItemDropped, "deleted": evidence.ItemDropped,
}

func statusOf(word string) evidence.ItemStatus { return cmp.Or(statuses[word], evidence.ItemPending) }

var marks = map[string]string{">": "in_progress", "-": "pending", "x": "completed", "/": "cancelled", "!": "blocked"}

func (p *listPlay) do(s listStep) {
	p.T.Helper()
	call := evidence.ListCall{Whole: true}
	add := func(text, status string) {
		call.Items = append(call.Items, evidence.Item{Text: text, Status: statusOf(status)})
	}
	switch {
	case s.As != "":
		p.by = projecttest.Host(s.As)
		return
	case s.User != "":
		p.prompts++
		p.Prompt(p.by, fmt.Sprint("p", p.prompts), s.User)
		return
	case s.Pushed != "":
		p.Push(p.by, s.Pushed)
		return
	case s.Popped != "":
		p.Pop(p.by, s.Popped)
		return
	case s.Plans != "":
		p.Plan(p.by, "", s.Plans)
		return
	case s.Drops != "":
		all := p.All()
		p.Invalidate(projecttest.Shell, all[slices.IndexFunc(all, func(f core.Frame) bool { return f.Goal == s.Drops })].ID, "no")
		return
	case s.Compacted != "":
		_, err := stack.StoreSummary(p.Ctx, p.Project, p.by, "", s.Compacted)
		require.NoError(p.T, err)
		return
	case s.End != "":
		p.Fixture.End(p.by)
		return
	case s.Tree != nil:
		assert.Equal(p.T, s.Tree, p.Draw())
		return
	case s.Current != "":
		assert.Equal(p.T, s.Current, p.Get(p.Fixture.Current(p.by)).Goal)
		return
	case s.Create != nil:
		call = evidence.ListCall{Created: true, Items: []evidence.Item{{ID: s.Create.ID, Text: s.Create.Subject, Above: s.Create.Above}}}
	case s.Update != nil:
		item := evidence.Item{ID: s.Update.ID, Text: s.Update.Subject}
		if s.Update.Status != "" {
			item.Status = statusOf(s.Update.Status)
		}
		call = evidence.ListCall{Items: []evidence.Item{item}}
		if s.Update.From != "" {
			call.From = statusOf(s.Update.From)
		}
	case s.Marks != nil:
		for _, mark := range *s.Marks {
			add(mark[2:], cmp.Or(marks[mark[:1]], "weird"))
		}
	case s.List != nil:
		for _, item := range *s.List {
			add(item.Text, item.Status)
		}
	default:
		return
	}
	owner := p.by.Session
	if !call.Whole {
		owner = "shared"
	}
	for range 2 { // the second time changes nothing
		again := call
		again.Items = slices.Clone(call.Items)
		before := p.Draw()
		require.NoError(p.T, stack.Follow(p.Ctx, p.Project, p.by, owner, again, func() string { return s.Say }))
		if p.current != nil && slices.Equal(before, p.Draw()) {
			continue
		}
		if at := p.Get(p.Fixture.Current(p.by)); len(p.current) == 0 || p.current[len(p.current)-1] != at.Goal {
			p.current = append(p.current, at.Goal)
		}
	}
}

func playing(t *testing.T) *listPlay {
	return &listPlay{Fixture: projecttest.New(t), by: projecttest.Host("main")}
}

// TestListsAsTheyWere plays lists of real sessions.
func TestListsAsTheyWere(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/lists.json")
	require.NoError(t, err)
	var all []struct {
		ID, Tool string
		AnyOrder bool
		Steps    []listStep
		Expect   struct {
			Frames       int
			Ended        map[core.Status]int
			Current      []string
			NeverCurrent []string   `json:"never_current"`
			SayAsSummary []string   `json:"say_as_summary"`
			NoWords      []string   `json:"no_words"`
			SameFrame    [][]string `json:"same_frame"`
			Planned      []string
			Tree         map[string][]string
		}
	}
	require.NoError(t, json.Unmarshal(raw, &all))
	for _, tt := range all {
		for _, reversed := range []bool{false, true} {
			if reversed && !tt.AnyOrder {
				continue
			}
			t.Run(fmt.Sprint(tt.ID, " ", reversed), func(t *testing.T) {
				t.Parallel()
				p := playing(t)
				steps := slices.Clone(tt.Steps)
				for i := 1; reversed && i < len(steps); i++ {
					if a, b := steps[i-1].Update, steps[i].Update; a != nil && b != nil && a.Status == "completed" && b.Status == "in_progress" {
						steps[i-1], steps[i] = steps[i], steps[i-1]
						i++
					}
				}
				for _, step := range steps {
					if step.End == "" {
						p.do(step)
					}
				}
				root := p.Draw()[0][len("in_progress "):]
				frames := p.All()
				assert.Len(t, frames, tt.Expect.Frames+1)
				byGoal, ended := map[string]core.Frame{}, map[core.Status]int{}
				for _, f := range frames {
					byGoal[f.Goal] = f
					if f.Status != core.InProgress && f.Status != core.Planned {
						ended[f.Status]++
					}
				}
				assert.Equal(t, tt.Expect.Ended, ended)
				if tt.Expect.Current != nil {
					for i := range p.current {
						p.current[i] = strings.Replace(p.current[i], root, "root", 1)
					}
					assert.Equal(t, tt.Expect.Current, p.current)
				}
				for _, goal := range tt.Expect.NeverCurrent {
					assert.NotContains(t, p.current, goal)
				}
				for _, goal := range tt.Expect.SayAsSummary {
					assert.NotEmpty(t, byGoal[goal].Summary, goal)
				}
				for _, goal := range tt.Expect.NoWords {
					assert.Empty(t, byGoal[goal].Summary, goal)
				}
				for _, goal := range tt.Expect.Planned {
					assert.Equal(t, core.Planned, byGoal[goal].Status)
				}
				for _, pair := range tt.Expect.SameFrame {
					assert.NotContains(t, byGoal, pair[0])
					assert.Contains(t, byGoal, pair[1])
				}
				above := map[string][]string{}
				for _, f := range frames {
					for goal, parent := range byGoal {
						if f.Parent == parent.ID && tt.Expect.Tree != nil {
							goal = strings.Replace(goal, root, "root", 1)
							above[goal] = append(above[goal], f.Goal)
						}
					}
				}
				if tt.Expect.Tree != nil {
					assert.Equal(t, tt.Expect.Tree, above)
				}
			})
		}
	}
}

// TestListsBecomeFrames plays what lists may do.
func TestListsBecomeFrames(t *testing.T) {
	t.Parallel()
	for name, steps := range cases.Read[[]listStep](t, "testdata/lists.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := playing(t)
			for _, step := range steps {
				p.do(step)
			}
		})
	}
}

// TestListsOfAnySize rewrites long lists with odd texts.
func TestListsOfAnySize(t *testing.T) {
	t.Parallel()
	texts := map[string]func(i int) string{
		"different": func(i int) string { return fmt.Sprintf("Step %d of the work", i) },
		"equal":     func(int) string { return "Step" },
		"long":      func(i int) string { return fmt.Sprint(i, strings.Repeat(" word", 2_000)) },
		"hostile":   func(i int) string { return fmt.Sprint("</goal>\x1b[2J\u202e\n", i, strings.Repeat("\xff", 300)) },
		"empty":     func(int) string { return " \n " },
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := playing(t)
			p.do(listStep{User: "Build it"})
			for turn := range 4 {
				todos := make([]map[string]any, 500)
				for i := range todos {
					todos[i] = map[string]any{"content": text(i), "status": map[bool]string{true: "completed", false: "pending"}[i < 3*turn]}
				}
				raw, err := json.Marshal(map[string]any{"todos": todos})
				require.NoError(t, err)
				call, ok := hooks.WholeList(raw)
				require.True(t, ok)
				for again := range 2 {
					before, err := p.revision()
					require.NoError(t, err)
					require.NoError(t, stack.Follow(p.Ctx, p.Project, p.by, "main", call, nil))
					after, err := p.revision()
					require.NoError(t, err)
					assert.True(t, again == 0 || before == after, "a list that is as it was writes nothing")
				}
			}
			frames := p.All()
			assert.LessOrEqual(t, len(frames), 1+50+1)
			for _, f := range frames {
				assert.LessOrEqual(t, len([]rune(f.Goal)), 201)
				assert.Equal(t, core.OneLine(f.Goal, 0), f.Goal)
			}
			if name != "empty" {
				assert.Equal(t, "and 450 more", frames[len(frames)-1].Goal)
				assert.Equal(t, 9, projecttest.CountOf(p.ByID())[core.Completed])
			}
		})
	}
}

// revision returns a number that rises with every change of the tree.
func (p *listPlay) revision() (revision int64, err error) {
	err = p.Store.View(p.Ctx, func(tx project.Tx) error {
		revision, _, err = tx.Revision()
		return err
	})
	return revision, err
}
