package messages

import "flame/hosts/gateway/codec"

// Dialect returns the API.
func Dialect() *codec.Codec {
	return &codec.Codec{
		IsModelCall: func(path string) bool { return path == "v1/messages" },
		Parse:       func(_ string, body []byte) (codec.Request, error) { return parse(body) },
		Event:       event, Whole: whole, Failure: failure,
	}
}
