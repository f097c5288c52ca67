package env

// The variables by which flame's own processes tell each other something. They are no
// settings.
const (
	// Gateway names the gateway of the process that set it. It says nothing of where that
	// is: a project's settings could set it.
	Gateway = "FLAME_GATEWAY"
	// GatewayDepth is how many programs behind gateways are around a process.
	GatewayDepth = "FLAME_GATEWAY_DEPTH"
	// GatewayUpstream and GatewaySecret are in the environment of a gateway alone: the base
	// URL that it sends requests to, and the first segment of the path of those it takes.
	GatewayUpstream = "FLAME_GATEWAY_UPSTREAM"
	GatewaySecret   = "FLAME_GATEWAY_SECRET"
)

// Inner are these variables.
var Inner = []string{Gateway, GatewayDepth, GatewayUpstream, GatewaySecret}
