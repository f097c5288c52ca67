package agents

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"flame/core"
)

// A LogContent is what an entry of a host's log has, or the output of a call in it, whole.
type LogContent struct {
	Text     string
	Pictures []Picture
}

// A Picture is a picture, or a PDF document, that a host's log has.
type Picture struct {
	Type string `json:"type"`
	Data []byte `json:"data"`
}

// maxPictures bounds the pictures of one answer, in bytes.
const maxPictures = 5 << 20

var pictureTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}

// addPictures adds the pictures of an entry of a log, only those of the call unless that is empty. The entry is
// hostile: what is too large, or not of the type that it says, is named alone.
func (r *LogContent) addPictures(entry json.RawMessage, call string) {
	var all any
	if json.Unmarshal(entry, &all) != nil {
		return
	}
	walk(all, call, func(kind, data string) {
		room := maxPictures
		for _, known := range r.Pictures {
			room -= len(known.Data)
		}
		kind, wrong := core.OneLine(kind, 40), ""
		picture := Picture{Type: kind}
		switch size := base64.StdEncoding.DecodedLen(len(data)); {
		case !slices.Contains(pictureTypes, kind):
			wrong = "flame gives back no files of this type"
		case size > room:
			wrong = fmt.Sprintf("its %d bytes are too many; the log of the host has it", size)
		default:
			var err error
			if picture.Data, err = base64.StdEncoding.DecodeString(data); err != nil || http.DetectContentType(picture.Data) != kind {
				wrong = "it is not what its type says"
			}
		}
		if slices.ContainsFunc(r.Pictures, func(known Picture) bool { return bytes.Equal(known.Data, picture.Data) }) {
			return
		}
		if wrong == "" {
			r.Pictures = append(r.Pictures, picture)
			wrong = fmt.Sprintf("%d bytes, beside this text", len(picture.Data))
		}
		r.Text = strings.TrimPrefix(r.Text+"\n["+kind+": "+wrong+"]", "\n")
	})
}

// walk calls f for each file in an entry of a log, in the forms of all hosts: an object with a type and data, or a URL
// with both.
func walk(value any, call string, f func(kind, data string)) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			walk(item, call, f)
		}
	case map[string]any:
		text := func(key string) string { s, _ := v[key].(string); return s }
		if call != "" && slices.Contains([]string{text("tool_use_id"), text("call_id"), text("callID"), text("id")}, call) {
			call = ""
		}
		if kind := text("media_type") + text("mimeType"); call == "" && kind != "" && text("data") != "" {
			f(kind, text("data"))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walk(v[key], call, f)
		}
	case string:
		if url, is := strings.CutPrefix(v, "data:"); is && call == "" {
			if kind, data, has := strings.Cut(url, ";base64,"); has {
				f(kind, data)
			}
		}
	}
}
