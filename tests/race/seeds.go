package race

// Seeds returns how many of n random cases are tried: with the race detector three at
// most.
func Seeds(n int) uint64 {
	if Share > 1 {
		n = min(n, 3)
	}
	return uint64(n)
}
