// Package agents is what flame knows of the agents that it starts: their
// definitions, what each may do, the limits they live within, and the process
// that watches over one. How a host is started for an agent is in that host's
// package; what becomes of several agents' results is in converge, who started
// whom in graph, and what hosts' logs tell of that in trail.
package agents
