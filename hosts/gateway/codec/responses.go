package codec

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts"
)

// Responses returns OpenAI's Responses API. Its requests list items: a message in the form of folding is all
// that the model said in an answer; the outputs of its calls; or an item on its own.
func Responses() *Codec {
	return &Codec{
		IsModelCall: func(path string) bool { return path == "responses" || strings.HasSuffix(path, "/responses") },
		Failure: func(message string) any {
			return map[string]any{"error": map[string]any{"type": "server_error", "message": message, "code": nil, "param": nil}}
		},
		list: "input", refuse: isContinued, read: readInput, says: userItems, edited: editedItems,
		event: responseEvent, whole: wholeResponse,
		failures: failures{
			code: "code",
			statuses: map[string]int{
				"rate_limit_exceeded": http.StatusTooManyRequests, "server_is_overloaded": http.StatusServiceUnavailable, "slow_down": http.StatusServiceUnavailable,
			},
			form: core.Pattern(`(?i)reasoning|encrypted|function_call|function call|tool call|tool output|input\[|following item|item_id`),
		},
	}
}

// isContinued reports whether a request continues a conversation which the API keeps.
func isContinued(r *Request) bool {
	return r.members["previous_response_id"].Str != "" || r.members["conversation"].IsObject()
}

// itemKinds are the kinds of items, by their types.
var itemKinds = map[string]Kind{
	"message": words, "reasoning": thoughts, "compaction": summaries, "compaction_summary": summaries,
	"function_call": calls, "custom_tool_call": calls, "local_shell_call": calls,
	"function_call_output": results, "custom_tool_call_output": results, "local_shell_call_output": results,
}

// readInput adds an item to the last message or begins another. What others say while calls have no output,
// such as a hook, goes with the outputs, and with the answer if that goes on.
func readInput(r *Request, value gjson.Result) bool {
	p, ok := readItem(value)
	if !ok {
		return false
	}
	role, answers, last := core.RoleUser, p.Kind == results || p.Kind == words && len(r.open) > 0, r.last()
	if !p.Others {
		role, answers = core.RoleAssistant, false
		if n := len(r.messages); last.Results && n > 1 && len(r.open) > 0 && len(last.of(results)) == 0 {
			r.messages[n-2].Parts, r.messages = append(r.messages[n-2].Parts, last.Parts...), r.messages[:n-1]
			last = r.last()
		}
		if last.Role != role {
			clear(r.open)
		}
	}
	switch p.Kind {
	case calls:
		r.open[p.ID] = true
	case results:
		delete(r.open, p.ID)
	}
	if last.Role == role && (role == core.RoleAssistant || answers && last.Results) {
		last.Parts = append(last.Parts, p)
	} else {
		r.messages = append(r.messages, Message{Role: role, Results: answers, Parts: []Part{p}})
	}
	return true
}

// last returns the last message so far.
func (r *Request) last() *Message {
	if len(r.messages) == 0 {
		return &Message{}
	}
	return &r.messages[len(r.messages)-1]
}

// readItem reads an item. A message may come without its type.
func readItem(value gjson.Result) (p Part, ok bool) {
	m, ok := membersOf(gjson.Parse(value.Raw)) // its own members, by their places in the item
	kind, role, output := m["type"].Str, m["role"].Str, m["output"]
	if kind == "" && role != "" {
		kind = "message"
	}
	p = Part{
		Raw: value.Raw, Kind: itemKinds[kind], System: role != string(core.RoleUser), Tokens: tokens(len(value.Raw)),
		ID: m["call_id"].Str, Tool: m["name"].Str, Signature: m["encrypted_content"].Str,
		Content: output, Said: func() string { return textOf(output, "\n") },
	}
	if space := m["namespace"].Str; space != "" {
		p.Tool = space + apart + p.Tool
	}
	for _, name := range []string{"arguments", "input"} {
		if text := m[name]; text.Exists() {
			p.Input = argument(text.Str)
		}
	}
	if action := m["action"]; action.Exists() {
		p.Input = argument(action.Raw)
	}
	const picture = "input_image"
	listed := output
	switch p.Kind {
	case thoughts:
		p.Tokens = 0
	case calls:
	case words:
		listed = m["content"]
		p.Others, p.Text = role != string(core.RoleAssistant), textOf(listed, "\n")
		p.Shows = slices.ContainsFunc(listed.Array(), func(part gjson.Result) bool {
			return slices.Contains([]string{picture, "input_file"}, part.Get("type").Str)
		})
	default:
		p.Others = p.Kind != unknown || !strings.HasSuffix(kind, "_call")
	}
	if (p.Kind == words || p.Kind == results) && listed.IsArray() {
		p.Tokens = tokensOf(listed, picture)
	}
	return p, ok
}

// apart separates a namespace from the name of a tool in it.
const apart = "__"

// argument returns the input of a call, which is JSON or any text.
func argument(text string) gjson.Result {
	if hosts.ValidJSON(text) {
		return gjson.Parse(text)
	}
	return gjson.Result{Type: gjson.String, Raw: text, Str: text}
}

// userItems returns messages of the user.
func userItems(texts []string) (all []string) {
	for _, text := range texts {
		all = append(all, `{"type":"message","role":"user","content":[{"type":"input_text","text":`+quoted(text)+`}]}`)
	}
	return all
}

// editedItems returns the items of a message as they are sent. Reasoning goes without the items that it
// led to, and these lose their ids without it: the API would look for the reasoning by them. Words
// stay with reasoning that stays.
func editedItems(e *edit, m *Message, name string) (all []string) {
	reasons := len(m.of(thoughts)) > 0
	stale := e.stale[name] && reasons && len(m.of(unknown)) == 0
	mute := e.mute[name] && (stale || !reasons)
	rest := slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool {
		line, cut := e.cut(&p)
		return cut && line == "" || mute && !p.Others && p.Kind == words
	})
	for n, p := range rest {
		line, cut := e.cut(&p)
		switch {
		case p.Kind == thoughts && (stale || len(rest) < len(m.Parts) && !slices.ContainsFunc(rest[n:], isWord)):
		case p.Kind == results && cut && p.Content.Exists():
			all = append(all, put(p.Raw, p.Content, quoted(line)))
		case stale && !p.Others && gjson.Get(p.Raw, "type").Str != "local_shell_call": // of this the API requires the id
			all = append(all, without(p.Raw, "id"))
		default:
			all = append(all, p.Raw)
		}
	}
	return all
}

// isWord reports whether the model said or called something with an item.
func isWord(p Part) bool { return !p.Others && p.Kind != thoughts }

// wholeResponse reads an answer that is not streamed.
func wholeResponse(r *Reader, answer gjson.Result) {
	if e := answer.Get("error"); e.IsObject() {
		r.fail(e)
	} else if detail := answer.Get("detail"); detail.Exists() {
		r.fail(detail)
	} else if answer.Get("object").Str == "response" {
		answer.Get("output").ForEach(func(_, value gjson.Result) bool {
			r.started()
			r.addItem(value)
			return true
		})
		r.endResponse(answer)
	}
}

// addItem notes an item of the answer.
func (r *Reader) addItem(value gjson.Result) {
	if p, ok := readItem(value); ok && !p.Others {
		r.add(&p)
	}
}

// endResponse notes the end of an answer.
func (r *Reader) endResponse(answer gjson.Result) {
	r.begin(answer, "id", "model", "usage")
	r.Whole = true
}

// responseEvent reads an event of a streamed answer.
func responseEvent(r *Reader, event gjson.Result) {
	switch event.Get("type").Str {
	case "response.created":
		r.begin(event.Get("response"), "id", "model", "usage")
	case "response.output_item.added":
		r.started()
	case "response.output_item.done":
		r.started()
		r.addItem(event.Get("item"))
	case "response.completed", "response.incomplete":
		r.endResponse(event.Get("response"))
	case "response.failed":
		r.endResponse(event.Get("response"))
		r.fail(event.Get("response.error"))
	case "error":
		if e := event.Get("error"); e.IsObject() {
			event = e
		}
		r.fail(event)
	}
}
