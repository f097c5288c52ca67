// Package hub connects the flames of several machines by way of a NATS server with
// JetStream, which is a meeting point: it holds nothing that some machine does not have,
// and may be lost. It is the only package that speaks NATS, with hub/queue.
package hub

import "flame/core"

// A Link says which hub a project of this machine is joined to. It is kept in the project's
// data folder, as hub.json.
type Link struct {
	URL      string      `json:"url"`             // nats:// or tls://; the user's own server may have a user, password or token in it
	Project  string      `json:"project"`         // name of the project on the hub: letters, digits, - and _
	Machine  string      `json:"machine"`         // id of this machine there: its name, and some random characters
	Seed     string      `json:"seed,omitempty"`  // private nkey of this machine
	Pin      string      `json:"pin,omitempty"`   // SHA-256 of the server's certificate, in hex; empty: as the system trusts it
	Creds    string      `json:"creds,omitempty"` // path of a file of the user's with JWT and key
	JoinedAt core.Millis `json:"joinedAt"`
}
