package env

// Where flame is published, and under which names. Releases, packages, installers and documents
// take them from here alone. Flame has no public address yet: the domain is one that cannot be
// owned, and the names are only used in files that a person installs from.
const (
	// NPM is flame's package in the npm registry. The packages with the program for one system
	// have longer names: NPM-linux-x64.
	NPM = "flame-frames"
	// MCPName is the name of the server in the registry of MCP servers: a domain that belongs to
	// the publisher, backwards, and a name in it.
	MCPName = "invalid.flame/flame"
	// Maintainer is the person to write to about a package.
	Maintainer = "The maintainers of flame <maintainers@flame.invalid>"
	// Summary says what flame is, in at most 100 characters.
	Summary = "A call stack for coding agents: frames of work that outlive compaction and restarts"
)
