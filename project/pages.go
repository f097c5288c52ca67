package project

import (
	"slices"

	"flame/core"
	"flame/core/outline"
)

// PageSize is how many frames a page has: 500 take some 10 ms to read.
const PageSize = 500

// EachFrame calls f for the frames of links, in their order. It holds no more than a
// page of them in memory.
func EachFrame(tx Tx, links []outline.Link, f func(core.Frame) error) error {
	for page := range slices.Chunk(links, PageSize) {
		keys := make([]int64, len(page))
		for i, link := range page {
			keys[i] = link.Key
		}
		frames, err := tx.FramesAt(keys)
		if err != nil {
			return err
		}
		for _, key := range keys {
			frame, there := frames[key]
			if !there {
				continue
			}
			if err := f(frame); err != nil {
				return err
			}
		}
	}
	return nil
}

// EachUnder calls f for a frame and all frames below it, archived ones included. It
// holds no more than a page of them in memory.
func EachUnder(tx Tx, id string, f func(core.Frame) error) error {
	if id == "" {
		return nil
	}
	links, err := tx.Links(FrameQuery{Under: id, Archived: true})
	if err != nil {
		return err
	}
	return EachFrame(tx, links, f)
}

// Total adds up counts by status.
func Total(counts map[core.Status]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// CountChildren counts the children of each of these frames by status; archived ones do
// not count. Frames without children are absent.
func CountChildren(tx Frames, parents []string) (map[string]map[core.Status]int, error) {
	counts := map[string]map[core.Status]int{}
	for _, parent := range parents {
		if parent == "" {
			continue // no frame is below it; as a query it would not restrict
		}
		byStatus, err := tx.CountFrames(FrameQuery{Parent: parent})
		if err != nil {
			return nil, err
		}
		if len(byStatus) > 0 {
			counts[parent] = byStatus
		}
	}
	return counts, nil
}
