package top

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"flame/core"
)

// A key is a key that was pressed.
type key struct {
	name string // the character, or a name for a key that writes nothing
	text string // the text that it writes; empty if it writes nothing
}

// pasted is the name of pasted text.
const pasted = "pasted"

// maxTyped bounds the text that is typed into a line, in characters.
const maxTyped = 200

// A decoder turns the bytes of a terminal into keys. It sends the terminal no query: all terminals
// in use send the same sequences.
type decoder struct {
	rest    string // the beginning of a sequence
	pasting bool   // the next text is pasted
	paste   strings.Builder
}

// feed adds received bytes, and returns the complete keys.
func (d *decoder) feed(sent string) (keys []key) {
	d.rest += sent
	for d.rest != "" {
		if d.pasting {
			if !d.takePaste(&keys) {
				return keys
			}
			continue
		}
		k, size := next(d.rest)
		if size == 0 {
			return keys
		}
		d.rest = d.rest[size:]
		if d.pasting = k.name == "paste"; !d.pasting && k.name != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

// waits reports whether a sequence is incomplete. If its end does not arrive at once, its
// beginning is the key Esc.
func (d *decoder) waits() bool { return d.rest != "" && !d.pasting }

// flush returns an incomplete sequence as a key: nothing follows it.
func (d *decoder) flush() (keys []key) {
	if strings.HasPrefix(d.rest, "\x1b") {
		keys = []key{{name: "esc"}}
	}
	d.rest = ""
	return keys
}

const pasteEnd = "\x1b[201~"

// takePaste adds pasted text, and reports whether the paste is complete. Only an input line uses
// pasted text: it presses no keys.
func (d *decoder) takePaste(keys *[]key) bool {
	text, rest, whole := strings.Cut(d.rest, pasteEnd)
	if !whole {
		keep := 0
		for n := min(len(pasteEnd)-1, len(text)); n > 0 && keep == 0; n-- {
			if strings.HasSuffix(text, pasteEnd[:n]) {
				keep = n
			}
		}
		text, rest = text[:len(text)-keep], text[len(text)-keep:]
	}
	if d.paste.Len() < maxTyped*utf8.UTFMax {
		d.paste.WriteString(text)
	}
	d.rest = rest
	if whole {
		*keys = append(*keys, key{pasted, d.paste.String()})
		d.paste.Reset()
		d.pasting = false
	}
	return whole
}

// next returns the first key of the received bytes and its size in bytes; size 0 if the key is
// incomplete. An unknown key has no name.
func next(sent string) (k key, size int) {
	c := sent[0]
	switch {
	case c == '\x1b':
		return sequence(sent)
	case c == '\r' || c == '\n':
		return key{name: "enter"}, 1
	case c == 0x7f || c == '\b':
		return key{name: "backspace"}, 1
	case c == '\t':
		return key{name: "tab"}, 1
	case c == 0:
		return key{}, 1
	case c < ' ':
		return key{name: "ctrl-" + string(rune(c|0x60))}, 1
	case !utf8.FullRuneInString(sent):
		return key{}, 0
	}
	r, size := utf8.DecodeRuneInString(sent)
	if !unicode.IsPrint(r) || r == utf8.RuneError {
		return key{}, size
	}
	return key{string(r), string(r)}, size
}

// named are the keys by the ends of their sequences.
var named = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end",
		"1~": "home", "7~": "home", "4~": "end", "8~": "end", "5~": "pgup", "6~": "pgdn", "200~": "paste",
	}
})

// sequences matches a complete or incomplete key that begins with an escape: the letter after O,
// or the arguments after [ and their end.
var sequences = core.Pattern(`^\x1b(?:O([A-Z]?)|\[([ -?]*)([@-~]?))`)

// sequence returns the key that begins with an escape.
func sequence(sent string) (k key, size int) {
	m := sequences().FindStringSubmatch(sent)
	if m == nil {
		return key{name: "esc"}, min(1, len(sent)-1) // a slow line sends two keys at once; keys with Alt have no meaning
	}
	size = len(m[0])
	switch end := m[1] + m[3]; {
	case end == "" && size == len(sent):
		return key{}, 0
	case end == "~":
		end, _, _ = strings.Cut(m[2], ";") // the rest says whether Shift or Ctrl is held
		return key{name: named()[end+"~"]}, size
	default:
		return key{name: named()[end]}, size // a sequence without an end is no key
	}
}
