package messages

import "flame/hosts/gateway/dialect"

// Dialect returns the API.
func Dialect() *dialect.Dialect {
	return &dialect.Dialect{
		Answers: func(path string) bool { return path == "v1/messages" },
		Parse:   func(_ string, body []byte) (dialect.Request, error) { return parse(body) },
		Event:   event, Whole: whole, Failure: failure,
	}
}
