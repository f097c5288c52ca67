package usage

import "flame/core"

// A Request is what a gateway saw of one request to a session's model.
type Request struct {
	Answer  string      // id of the answer, as the host's log names it; empty if none came
	Class   string      // what the host asked for
	Model   string      //
	Asked   core.Millis // when it arrived at the gateway
	First   core.Millis // ms from then to the first token; 0 if none came
	Took    core.Millis // ms from then to the end of the answer
	Status  int         // of HTTP; 0 if there was no answer
	Usage   core.Usage  // with its cost in USD
	Context int         // tokens of the session's context then; 0 for requests beside the conversation
	Given   int64       // bytes of the body as the host sent it
	Sent    int64       // bytes of the body as it went on
}
