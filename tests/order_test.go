package tests

import (
	"go/types"
	"maps"
	"math/rand/v2"
	"slices"
)

// An arrow leads from a file to another of its package that it uses.
type arrow struct{ from, to int }

// arrows returns the uses between the files of a package, one for each pair of files: uses of
// top-level names, methods and fields.
func arrows(pkg *codePackage) (files []string, found []arrow) {
	number := map[string]int{}
	for i, file := range pkg.files {
		number[pkg.file(file.Pos())] = i
		files = append(files, pkg.file(file.Pos()))
	}
	seen := map[arrow]bool{}
	for name, used := range pkg.info.Uses {
		if used.Pkg() != pkg.types || !declared(used) {
			continue
		}
		if a := (arrow{number[pkg.file(name.Pos())], number[pkg.file(used.Pos())]}); a.from != a.to {
			seen[a] = true
		}
	}
	found = slices.SortedFunc(maps.Keys(seen), func(a, b arrow) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to
	})
	return files, found
}

// declared reports whether an object is visible in all files of its package.
func declared(object types.Object) bool {
	switch o := object.(type) {
	case *types.Func:
		return true
	case *types.Var:
		return o.IsField() || o.Parent() == o.Pkg().Scope()
	case *types.TypeName, *types.Const:
		return o.Parent() == o.Pkg().Scope()
	}
	return false
}

// bestOrder returns an order of n files in which few arrows run back up, and those arrows. It
// moves one file at a time to its best place until no move helps, and repeats that from partly
// shuffled orders; the same arrows give the same order.
func bestOrder(n int, all []arrow) (order []int, back []arrow) {
	weight := make([][]int, n) // weight[a][b]: a uses b
	for i := range weight {
		weight[i] = make([]int, n)
	}
	for _, a := range all {
		weight[a.from][a.to] = 1
	}
	order = make([]int, n)
	for i := range order {
		order[i] = i
	}
	settle(order, weight)
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		other := slices.Clone(order)
		for range max(2, n/4) {
			i, j := random.IntN(n), random.IntN(n)
			other[i], other[j] = other[j], other[i]
		}
		settle(other, weight)
		if upwards(other, weight) < upwards(order, weight) {
			order = other
		}
	}
	place := make([]int, n)
	for i, file := range order {
		place[file] = i
	}
	for _, a := range all {
		if place[a.from] > place[a.to] {
			back = append(back, a)
		}
	}
	return order, back
}

// settle moves files until no move of one leaves fewer arrows upwards.
func settle(order []int, weight [][]int) {
	for moved := true; moved; {
		moved = false
		for i := range order {
			best, to := 0, i
			for _, step := range []int{-1, 1} {
				gain := 0
				for j := i + step; j >= 0 && j < len(order); j += step {
					file, other := order[i], order[j]
					gain += step * (weight[file][other] - weight[other][file])
					if gain < best {
						best, to = gain, j
					}
				}
			}
			if best < 0 {
				file := order[i]
				order = slices.Insert(slices.Delete(order, i, i+1), to, file)
				moved = true
			}
		}
	}
}

func upwards(order []int, weight [][]int) (count int) {
	for i, file := range order {
		for _, above := range order[:i] {
			count += weight[file][above]
		}
	}
	return count
}
