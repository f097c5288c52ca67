package hosts

// Arguments stands in a Command's text for what the user typed after its name;
// both hosts put that line in as it is.
const Arguments = "$ARGUMENTS"

// A Command is a slash command, /flame:NAME in either host. It places the
// user's line and names the tool; what must be understood of the line is left
// to the model and that tool.
type Command struct {
	Name        string
	Description string
	Hint        string // what may follow the name; may be empty
	Tool        string // the tool it leads to
	Text        string // what the model reads
}

// Commands are all there are (DESIGN §7, prompts).
func Commands() []Command {
	return []Command{
		{
			Name:        "push",
			Description: "Start a frame for a piece of work",
			Hint:        "GOAL",
			Tool:        "flame_push",
			Text: "Call the tool flame_push with the line below as its goal, word for word. " +
				"If there is none, name the next piece of work yourself. Then do that work in the new frame.\n\n" + Arguments,
		},
		{
			Name:        "pop",
			Description: "End the current frame with a summary",
			Hint:        "[completed|failed|blocked] [SUMMARY]",
			Tool:        "flame_pop",
			Text: "Call the tool flame_pop for the current frame. The line below may begin with its status " +
				"(completed, failed or blocked; completed if none is given); the rest is the summary. " +
				"If there is no summary, write it: what was done, what was decided, what is left open.\n\n" + Arguments,
		},
		{
			Name:        "status",
			Description: "Show the frames of this project",
			Tool:        "flame_status",
			Text:        "Call the tool flame_status and show its answer as it is.",
		},
	}
}
