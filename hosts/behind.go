package hosts

import "net/url"

// A Behind is how a host's program is started behind a gateway of flame's,
// through which its requests to the model go.
type Behind struct {
	Plain    bool     // the command line asks for nothing that a gateway could serve: the program runs as it is
	Upstream *url.URL // base URL of the model, as the program would use it; never one that a project names
	Notes    []string // for the person: what is not as they may expect

	// Network are the variables by which requests reach the network, proxies and
	// certificates, each with its value for the gateway; empty: it is not set. As the
	// upstream, they are never those that a project names.
	Network map[string]string

	// Settings returns the content of a settings file with which the program
	// sends its requests to a base URL, and with a mark (NAME=value) for the
	// processes below it.
	Settings func(base, mark string) ([]byte, error)
	// Args returns the command line with that file in it.
	Args func(file string) []string
}

// Fronted returns how a command line of a host's program runs behind a gateway.
type Fronted func(m Machine, args []string) (Behind, error)
