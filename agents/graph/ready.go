package graph

// A stage is how far the work of a node is.
type stage int

const (
	waiting stage = iota // it has not begun
	begun
	ended // in whatever way
	completed
)

// stages are those of the statuses that sessions, agents and frames have
// (core.SessionState, core.AgentState, core.Status).
var stages = map[string]stage{
	"planned": waiting, "initializing": waiting,
	"active": begun, "idle": begun, "suspended": begun, "in_progress": begun,
	"ended": ended, "error": ended, "timeout": ended, "cancelled": ended, "orphaned": ended,
	"failed": ended, "blocked": ended, "invalidated": ended,
	"completed": completed,
}

// stage is told by a node's status, else by its times.
func (n Node) stage() stage {
	told, known := stages[n.Status]
	switch {
	case known:
		return told
	case n.Ended != 0:
		return ended
	case n.Started != 0:
		return begun
	}
	return waiting
}

// A need is what an edge asks for.
type need struct {
	EdgeKind
	Class
}

// needs are all there are: the stage that the node which comes first must have
// reached before the other can begin.
var needs = map[need]stage{
	{Spawned, ""}: begun, {Handoff, ""}: begun, {ConvergedInto, ""}: ended, {ResumedFrom, ""}: ended, {DataFlow, ""}: completed,
	{DependsOn, Hard}: completed, {DependsOn, Soft}: ended, {DependsOn, Optional}: waiting, {DependsOn, Trigger}: completed,
}

// Ready returns the nodes that have not begun and need not wait any longer, in the
// order in which they came. One that nothing can start any more, as what it needs
// has failed, never is.
func (g *Graph) Ready() []Node {
	var ready []int
	for place, n := range g.nodes {
		if n.stage() == waiting && g.mayBegin(place) {
			ready = append(ready, place)
		}
	}
	return pick(g.Nodes(), ready)
}

// mayBegin reports whether all that a node waits for has come, and one of its
// triggers where it has any.
func (g *Graph) mayBegin(place int) bool {
	triggers, pulled := 0, 0
	for _, e := range g.before[place] {
		l := g.edges[e]
		reached := g.nodes[l.first].stage() >= needs[need{l.Kind, l.Class}]
		switch {
		case l.Class == Trigger:
			triggers++
			if reached {
				pulled++
			}
		case !reached:
			return false
		}
	}
	return triggers == 0 || pulled > 0
}
