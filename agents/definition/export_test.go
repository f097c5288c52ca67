package definition

// LoadUntil is Load that reads no more after a time.
var LoadUntil = loadUntil
