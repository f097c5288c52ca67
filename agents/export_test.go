package agents

// LoadUntil is Load that ends at some time.
var LoadUntil = loadUntil
