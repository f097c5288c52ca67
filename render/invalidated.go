package render

import "flame/project/stack"

// InvalidatedShort tells a person what an invalidation came to.
func InvalidatedShort(done stack.Invalidated) string {
	return done.Target.ID + " is invalidated" + TallyShort("invalidated with it", done.Planned) + TallyShort("still in progress", done.InProgress)
}
