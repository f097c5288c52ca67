package claims

import (
	"slices"
	"strings"

	"flame/agents/converge/notation"
)

// all reads all lines.
func (r *reader) all() {
	for r.at < len(r.lines) {
		line := strings.TrimSpace(r.lines[r.at])
		switch {
		case line == "":
			r.flush()
			r.at++
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			r.paragraph()
			r.fence(line)
		case heading(line) != "":
			r.flush()
			r.section, r.lead, r.prefix = titled(heading(line)), title{}, ""
			r.at++
		case r.table(), r.diff(), r.json(), r.plainTable():
		default:
			r.line(r.lines[r.at])
			r.at++
		}
	}
	r.flush()
}

// heading returns the text of a heading; empty if the line is none.
func heading(line string) string {
	if text := strings.TrimLeft(line, "#"); text != line && strings.HasPrefix(text, " ") && len(line)-len(text) <= 6 {
		return text
	}
	if strings.HasPrefix(line, "**") && strings.HasSuffix(line, "**") && len(line) > 4 && !strings.Contains(line[2:len(line)-2], "**") &&
		!strings.ContainsAny(strings.TrimSuffix(line, ":**"), ":.") {
		return strings.Trim(line, "*")
	}
	return ""
}

// fence reads a fenced block.
func (r *reader) fence(open string) {
	mark := open[:3]
	info := strings.ToLower(strings.TrimSpace(strings.Trim(open, "`~")))
	from := r.at + 1
	end := from
	for end < len(r.lines) && !strings.HasPrefix(strings.TrimSpace(r.lines[end]), mark) {
		end++
	}
	inside := r.lines[from:end]
	r.block(info, inside)
	r.at = min(end+1, len(r.lines))
}

// block reads the lines of a fenced block.
func (r *reader) block(info string, inside []string) {
	nested := reader{lines: inside, section: r.section, lead: r.lead, units: r.units, reading: Reading{task: r.reading.task}}
	text := strings.TrimSpace(strings.Join(inside, "\n"))
	rows := gridIn(inside)
	switch {
	case nested.value(text):
	case looksLikeDiff(inside):
		nested.hunks(inside)
	case slices.Contains([]string{"go", "js", "ts", "python", "py", "rust", "java", "c", "cpp", "sql", "rb", "ruby", "tsx", "typescript",
		"javascript", "html", "css"}, info):
		nested.reading.Unread++
	case rows != nil:
		nested.rows(rows[0], rows[1:])
	default:
		comment := slices.Contains([]string{"ini", "toml", "yaml", "yml", "conf", "properties", "env"}, info)
		nested.code(inside, comment)
	}
	r.reading.Claims = append(r.reading.Claims, nested.reading.Claims...)
	r.reading.Unread += nested.reading.Unread
	r.units = nested.units
	r.lists = append(r.lists, nested.lists...)
	r.quantities = append(r.quantities, nested.quantities...)
}

// code reads lines of settings, or the output of a tool.
func (r *reader) code(inside []string, settings bool) {
	understood, other := 0, 0
	var nest []string // keys above, by their indentation
	for _, raw := range inside {
		line := strings.TrimSpace(raw)
		switch {
		case line == "" || strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") || strings.HasPrefix(line, "//"):
		case r.tool(line), r.counts(notation.Lex(notation.Plain.Replace(line)), line):
			understood++
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			r.prefix = strings.Trim(line, "[]")
		case r.setting(raw, line, &nest):
			understood++
		case notation.IsPath(line):
			r.items = append(r.items, item{text: line})
			understood++
		default:
			other++
		}
	}
	r.list()
	if other > 0 && understood == 0 || settings && other > 0 {
		r.reading.Unread++
	}
}

// setting reads a line of a settings file; a key without a value is above those that
// are indented below it.
func (r *reader) setting(raw, line string, nest *[]string) bool {
	depth := (len(raw) - len(strings.TrimLeft(raw, " "))) / 2
	*nest = (*nest)[:min(depth, len(*nest))]
	if key, ok := strings.CutSuffix(line, ":"); ok && plainKey(key) {
		*nest = append(*nest, key)
		return true
	}
	key, value, ok := keyValue(line)
	if !ok {
		return false
	}
	if at := strings.Index(value, " #"); at >= 0 {
		value = value[:at]
	}
	path := strings.Join(append(slices.Clone(*nest), key), ".")
	r.pair(path, value, line)
	return true
}

// Read reads a text that answers a task; the task may be empty if it is not known.
func Read(text, asked string) Reading {
	r := reader{reading: Reading{task: readTask(asked)}}
	if len(text) > maxText {
		text = text[:strings.LastIndexByte(text[:maxText], '\n')+1]
		r.reading.Unread++
	}
	r.lines = strings.Split(strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\r\n", "\n"), "\n")
	for i, line := range r.lines {
		if len(line) > maxLine && !strings.HasPrefix(strings.TrimSpace(line), "{") && !strings.HasPrefix(strings.TrimSpace(line), "[") {
			r.lines[i] = ""
			r.reading.Unread++
		}
	}
	r.all()
	r.finish()
	return r.reading
}
