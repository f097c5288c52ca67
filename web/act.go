package web

import (
	"fmt"

	"flame/project/stack"
	"flame/render"
)

// acts are the actions by their path. Starting agents and granting them more is not among
// them: that is for a person at a shell.
var acts = map[string]func(q query, a action) (said string, err error){
	"activate":   activate,
	"pop":        pop,
	"invalidate": invalidate,
	"goal":       setGoal,
	"cancel":     cancel,
	"settle":     settle,
}

func activate(q query, a action) (string, error) {
	if err := a.needs("frame", a.Frame); err != nil {
		return "", err
	}
	done, err := stack.Activate(q.Context(), q.agents.Project, a.by(), a.Frame, a.Force)
	if err != nil {
		return "", err
	}
	if done.Here {
		return done.Frame.ID + " is the current frame already", nil
	}
	said := fmt.Sprintf("%s: %s -> %s", done.Frame.ID, done.From, done.Frame.Status)
	if from := render.TakenFrom(done); from != "" {
		said += "\n" + from
	}
	if done.Under != "" {
		said += "\n" + render.UnderEnded(done)
	}
	return said, nil
}

func pop(q query, a action) (string, error) {
	if err := a.needs("frame", a.Frame); err != nil {
		return "", err
	}
	popped, err := stack.Pop(q.Context(), q.agents.Project, a.by(), stack.PopArgs{Frame: a.Frame, Status: a.Status, Summary: a.Text, Force: a.Force})
	if err != nil {
		return "", err
	}
	return render.PoppedShort(popped), nil
}

func invalidate(q query, a action) (string, error) {
	if err := a.needs("frame", a.Frame); err != nil {
		return "", err
	}
	done, err := stack.Invalidate(q.Context(), q.agents.Project, a.by(), a.Frame, a.Text)
	if err != nil {
		return "", err
	}
	return render.InvalidatedShort(done), nil
}

func setGoal(q query, a action) (string, error) {
	if err := a.needs("frame", a.Frame); err != nil {
		return "", err
	}
	frame, err := stack.SetGoal(q.Context(), q.agents.Project, a.by(), a.Frame, a.Text, "")
	if err != nil {
		return "", err
	}
	return render.ShortFrame(frame), nil
}

func cancel(q query, a action) (string, error) {
	if err := a.needs("agent", a.Agent); err != nil {
		return "", err
	}
	stopped, err := q.agents.Cancel(q.Context(), a.by(), a.Agent)
	if err != nil {
		return "", err
	}
	run, err := q.agents.Find(q.Context(), a.Agent)
	if err != nil {
		return "", err
	}
	return render.Cancelled(run, stopped), nil
}

func settle(q query, a action) (string, error) {
	for what, value := range map[string]string{"convergence": a.Convergence, "conflict": a.Conflict, "side that wins": a.Side} {
		if err := a.needs(what, value); err != nil {
			return "", err
		}
	}
	c, err := q.agents.Convergences().Review(q.Context(), a.Convergence, map[string]string{a.Conflict: a.Side})
	if err != nil {
		return "", err
	}
	return c.Result.Rationale, nil
}
