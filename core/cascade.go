package core

// cascadeReason begins the reason of a frame that was invalidated because one
// above it was.
const cascadeReason = "parent invalidated: "

// A Cascade is what the invalidation of a frame comes to.
type Cascade struct {
	Target     Frame   // now invalidated
	Planned    []Frame // frames below it that were planned, now invalidated
	InProgress []Frame // frames below it in progress: untouched, their workers should be warned
}

// InvalidationCascade invalidates target and all that is planned below it, at
// any depth and under frames of any status. Frames in progress are only listed;
// ended ones stay as they are. Children come before grandchildren, then subtree
// by subtree (spec: frames §5). A cycle in the tree is walked once. The error is
// that of children.
func InvalidationCascade(target Frame, reason string, now Millis, children func(id string) ([]Frame, error)) (Cascade, error) {
	c := Cascade{Target: target}
	if err := c.Target.Invalidate(reason, now); err != nil {
		return Cascade{}, err
	}
	below, err := descendants(target.ID, children, map[string]bool{target.ID: true})
	if err != nil {
		return Cascade{}, err
	}
	for _, f := range below {
		switch f.Status {
		case Planned:
			if err := f.Invalidate(cascadeReason+reason, now); err != nil {
				return Cascade{}, err
			}
			c.Planned = append(c.Planned, f)
		case InProgress:
			c.InProgress = append(c.InProgress, f)
		}
	}
	return c, nil
}

// descendants gives the children of id, then what lies below each of them.
func descendants(id string, children func(string) ([]Frame, error), visited map[string]bool) ([]Frame, error) {
	found, err := children(id)
	if err != nil {
		return nil, err
	}
	var list []Frame
	for _, f := range found {
		if !visited[f.ID] {
			visited[f.ID] = true
			list = append(list, f)
		}
	}
	for _, f := range list[:len(list):len(list)] {
		below, err := descendants(f.ID, children, visited)
		if err != nil {
			return nil, err
		}
		list = append(list, below...)
	}
	return list, nil
}

// NearestOpen gives the id of the frame that work goes on in: current if that is
// in progress, else the nearest of its ancestors that is, else none.
func NearestOpen(current Frame, ancestorsParentFirst []Frame) (id string) {
	if current.Status == InProgress {
		return current.ID
	}
	for _, f := range ancestorsParentFirst {
		if f.Status == InProgress {
			return f.ID
		}
	}
	return ""
}
