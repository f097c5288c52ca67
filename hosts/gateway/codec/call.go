package codec

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/evidence"
	"flame/core/fold"
	"flame/core/op"
	"flame/hosts"
)

// A Call is a call of a tool in an answer.
type Call struct {
	ID, Tool string       // without an id its output is never cut
	Input    gjson.Result // an object; else all of it counts as one
	Result   *Result      // nil: the tool has not ended
}

// A Result is the result of a call.
type Result struct {
	Failed bool
	Tokens int           // estimated
	Said   func() string // returns its text
}

// Describe fills in the calls and moves of an answer.
func Describe(f *fold.Message, calls []Call, w *hosts.GatewaySpec) {
	for n, call := range calls {
		if call.Result == nil {
			f.Open = true
			continue
		}
		if own := w.FlameTool(call.Tool); own != "" {
			if !call.Result.Failed {
				f.Moves = append(f.Moves, call.moves(own, n == 0, w)...)
			}
			continue
		}
		call.did(f, w)
		if words := call.dialog(f, w); words != "" {
			f.UserWords = strings.TrimPrefix(f.UserWords+"\n"+words, "\n")
			continue // it is never cut
		}
		if !call.Result.Failed && call.ID != "" {
			f.Calls = append(f.Calls, fold.Call{ID: call.ID, Key: call.key(), Tokens: call.Result.Tokens})
		}
	}
}

// Bounds of what is read of a call, in bytes.
const (
	maxCommand = 200  // of a command
	maxReport  = 8000 // of a subagent's answer: its beginning
)

// did notes the command that a call ran, the file that it read or changed, or what a subagent answered.
func (c Call) did(f *fold.Message, w *hosts.GatewaySpec) {
	switch w.Tools.Effect(c.Tool) {
	case hosts.EffectRun:
		line := c.Input.Get("command")
		if !line.Exists() {
			line = c.Input.Get("cmd")
		}
		if text := strings.TrimSpace(line.Str); text != "" {
			f.Commands = append(f.Commands, fold.Command{Line: core.Head(text, maxCommand), Why: evidence.WhyFailed(c.Result.Said(), c.Result.Failed)})
		}
	case hosts.EffectEdit:
		if file := cmp.Or(c.Input.Get("file_path").Str, c.Input.Get("notebook_path").Str); file != "" && !c.Result.Failed {
			f.Files = append(f.Files, file)
		}
	case hosts.EffectRead:
		if file := cmp.Or(c.Input.Get("file_path").Str, c.Input.Get("path").Str); file != "" && !c.Result.Failed {
			f.Reads = append(f.Reads, file)
		}
	case hosts.EffectSpawn:
		if w.Report == nil || c.Result.Failed {
			return
		}
		if report := w.Report(c.Result.Said()); report != "" {
			f.Results = append(f.Results, core.Head(report, maxReport))
		}
	}
}

// dialog returns the user's words in the result of a call. The answer stays if others may be there.
func (c Call) dialog(f *fold.Message, w *hosts.GatewaySpec) string {
	if w.Dialog == nil {
		return ""
	}
	d := w.Dialog(c.Tool, c.Result.Said(), c.Result.Failed)
	f.Open = f.Open || d.Stays
	return d.Said(c.Tool, c.Input)
}

// moves returns the moves of a call of one of flame's tools. The host's text around an answer stays.
func (c Call) moves(own op.Name, first bool, w *hosts.GatewaySpec) (moves []fold.Move) {
	text := c.Result.Said()
	answer := text
	if w.Answer != nil {
		answer = w.Answer(text)
	}
	for _, m := range op.ParseMoves(own, answer) {
		move := fold.Move{Kind: fold.Enter, Frame: m.Frame, First: first && len(moves) == 0}
		if m.Leaves {
			move.Kind = fold.Leave
		}
		if m.Rest != "" {
			move.Call, move.Rest = c.ID, strings.Replace(text, answer, m.Rest, 1)
		}
		moves = append(moves, move)
	}
	return moves
}

// maxKey bounds the input of a call that is compared with the inputs of other calls, in characters.
const maxKey = 2000

// key returns a text that is equal for calls with the same input, ignoring their descriptions.
func (c Call) key() string {
	if len(c.Input.Raw) > maxKey {
		return c.ID
	}
	key := c.Tool
	c.Input.ForEach(func(name, value gjson.Result) bool {
		if name.Str != "description" {
			key += "\x00" + name.Str + "\x00" + value.Raw
		}
		return true
	})
	return key
}

const charsPerToken = 4 // the same estimate as everywhere in flame

// pictureTokens are about the most that a picture takes, regardless of the size of its file.
const pictureTokens = 1600

// tokens estimates the tokens of a text of so many bytes.
func tokens(bytes int) int { return bytes / charsPerToken }

// tokensOf estimates the tokens of a list of parts, of which those of a type are pictures.
func tokensOf(parts gjson.Result, picture string) (all int) {
	parts.ForEach(func(_, part gjson.Result) bool {
		if part.Get("type").Str == picture {
			all += pictureTokens
		} else {
			all += tokens(len(part.Raw))
		}
		return true
	})
	return all
}
