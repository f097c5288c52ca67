package evidence

import (
	"cmp"
	"slices"

	"github.com/samber/lo"

	"flame/core"
)

// An ItemStatus is what a list says about an item.
type ItemStatus string

// The statuses of an item.
const (
	ItemPending ItemStatus = "pending"
	ItemActive  ItemStatus = "active"
	ItemDone    ItemStatus = "done"
	ItemBlocked ItemStatus = "blocked"
	ItemDropped ItemStatus = "dropped"
)

// open reports whether an item of this status is still to be done.
func (s ItemStatus) open() bool { return s == ItemPending || s == ItemActive || s == ItemBlocked }

// An Item is one item of the to-do list that a host keeps for its agent, and its frame.
type Item struct {
	ID     string     `json:"id,omitempty"`    // the host's; empty if it has none
	Text   string     `json:"text,omitempty"`  // on one line; empty while only the ID is known
	Status ItemStatus `json:"status"`          // empty in a call that says nothing about it
	Above  string     `json:"-"`               // ID of the item that this one is a part of; empty: none
	Frame  string     `json:"frame,omitempty"` // id of its frame; empty before its first move
	Begun  int64      `json:"begun,omitempty"` // rises with each start of an item of these lists; 0: never begun
}

// A List is what a host had in its list at a time. Some hosts write a whole list each time, and may
// replace it by the steps of one of its items, or by something else, and write it again later.
type List struct {
	Home  string  `json:"home,omitempty"` // id of the frame that its items are below; empty before that of an item
	Items []*Item `json:"items"`
}

// Lists are the lists of one owner, the one that was written last at the end.
type Lists struct {
	All    []*List     `json:"lists"`
	Begun  int64       `json:"begun,omitempty"`  // number of starts
	Prompt string      `json:"prompt,omitempty"` // id of the last prompt before the last call
	At     core.Millis `json:"at,omitempty"`     // time of the last call
	Said   string      `json:"said,omitempty"`   // the agent's last words before the last call
}

// A ListCall is a call of a host's list tool.
type ListCall struct {
	Items   []Item
	Whole   bool       // Items are the whole list, else items that the call changes
	Created bool       // the call created the items
	From    ItemStatus // of the items before the call, as the host says; empty: it does not
}

// A Move is what a call means for the frame of one item: it gets one if it has none, takes the wording of the
// item, and goes to a status.
type Move struct {
	Item *Item
	List *List      // that has the item
	Was  Item       // the item before the call
	To   ItemStatus // empty: as it was
}

// Limits of what is followed.
const (
	MaxListed    = 50  // open items of a list; those of agents had 12 at most, as far as was seen
	maxItemText  = 200 // characters of an item
	maxKeptItems = 100 // items of a list
	maxLists     = 10
)

// Take takes in a call, and returns what it means for frames. Since the last call the user may have prompted,
// and the agent's history may have been compacted. changed reports whether l changed.
func (l *Lists) Take(call ListCall, prompted, compacted bool) (moves []Move, changed bool) {
	for i := range call.Items {
		call.Items[i].Text = core.OneLine(call.Items[i].Text, maxItemText)
	}
	if call.Whole {
		moves = l.write(call.Items, prompted, compacted)
	} else {
		moves, changed = l.update(call)
	}
	for _, m := range moves {
		if m.To == ItemActive {
			l.Begun++
			m.Item.Begun = l.Begun
		}
	}
	l.forget()
	return moves, changed || len(moves) > 0
}

// write takes in a whole list. What it lacks is no longer to be done, except after a compaction, when the
// agent may have forgotten it. An empty list drops only what was not begun.
func (l *Lists) write(items []Item, prompted, compacted bool) (moves []Move) {
	list, same := l.find(items, prompted)
	switch {
	case len(items) == 0 && len(l.All) == 0:
		return nil
	case len(items) == 0:
		list = l.All[len(l.All)-1]
	case list == nil:
		list, same = &List{}, make([]*Item, len(items))
		if n := len(l.All); n > 0 && !prompted && l.All[n-1].Active() != nil {
			list.Home = l.All[n-1].Active().Frame // without a prompt in between, the new list has the steps of that item
		}
		l.All = append(l.All, list)
	default:
		moves = l.comeBack(list)
	}
	old := lo.Without(list.Items, same...)
	list.Items = nil
	for i, now := range items {
		item := same[i]
		if item == nil && now.Status != ItemDropped {
			item = &Item{ID: now.ID, Status: ItemPending}
		}
		if item != nil {
			list.Items = append(list.Items, item)
			moves = append(moves, list.change(item, now)...)
		}
	}
	list.Items = append(list.Items, old...)
	for _, item := range old {
		if !compacted && (item.Status == ItemPending || item.Status.open() && len(items) > 0) {
			moves = append(moves, list.change(item, Item{Status: ItemDropped})...)
		}
	}
	return moves
}

// comeBack makes list the last one. Steps of its items are no longer in progress then.
func (l *Lists) comeBack(list *List) (moves []Move) {
	at := slices.Index(l.All, list)
	for _, later := range l.All[at+1:] {
		steps := slices.ContainsFunc(list.Items, func(i *Item) bool { return i.Frame != "" && i.Frame == later.Home })
		for active := later.Active(); steps && active != nil; active = later.Active() {
			moves = append(moves, later.change(active, Item{Status: ItemPending})...)
		}
	}
	l.All = append(slices.Delete(l.All, at, at+1), list)
	return moves
}

// update takes in changes of single items, which have IDs.
func (l *Lists) update(call ListCall) (moves []Move, changed bool) {
	if len(l.All) == 0 {
		l.All = []*List{{}}
	}
	list := l.All[0]
	for _, now := range call.Items {
		item := list.ByID(now.ID)
		if item != nil && call.Created && item.Status == ItemDone && !SameGoal(item.Text, now.Text) {
			item.ID, item = "", nil // the host numbers its items anew
		}
		switch {
		case item == nil:
			if now.ID == "" || now.Status == ItemDropped || list.open() >= MaxListed {
				continue
			}
			item = &Item{ID: now.ID, Status: ItemPending}
			list.Items = append(list.Items, item)
		case call.Created && item.Text != "", item.Status == ItemDropped:
			continue // it is known
		case item.Status == ItemDone && call.From.open() && now.Status == ItemActive:
			continue // the call came late
		}
		if now.Text == "" && item.Text == "" { // a change of an item that is not known yet
			item.Status, changed = cmp.Or(now.Status, item.Status), true
			continue
		}
		moves = append(moves, list.change(item, now)...)
	}
	return moves, changed
}

// change gives an item what a call says about it; an empty field says nothing.
func (l *List) change(item *Item, now Item) (moves []Move) {
	move := Move{Item: item, List: l, Was: *item}
	item.Text, item.Status, item.Above = cmp.Or(now.Text, item.Text), cmp.Or(now.Status, item.Status), now.Above
	if item.Status != move.Was.Status || item.Frame == "" && item.Status != ItemPending {
		move.To = item.Status
	}
	if item.Frame != "" && item.Text == move.Was.Text && move.To == "" {
		return nil
	}
	return []Move{move}
}

// ByID returns the item with an ID; nil without one.
func (l *List) ByID(id string) *Item {
	item, _ := lo.Find(l.Items, func(i *Item) bool { return i.ID == id && id != "" })
	return item
}

// Active returns the item in progress that began last; nil without one.
func (l *List) Active() *Item {
	active := lo.Filter(l.Items, func(i *Item, _ int) bool { return i.Status == ItemActive })
	return lo.MaxBy(active, func(a, b *Item) bool { return a.Begun > b.Begun })
}

// Open returns the items of all lists that are still to be done and have frames, the oldest first.
func (l *Lists) Open() (open []*Item) {
	for _, list := range l.All {
		open = append(open, lo.Filter(list.Items, func(i *Item, _ int) bool { return i.Status.open() && i.Frame != "" })...)
	}
	return open
}

// open counts the items that are still to be done.
func (l *List) open() int { return lo.CountBy(l.Items, func(i *Item) bool { return i.Status.open() }) }

// forget drops items that no later call can be about, and those that ended if there are many.
func (l *Lists) forget() {
	for _, list := range l.All {
		many := len(list.Items) > maxKeptItems
		list.Items = slices.DeleteFunc(list.Items, func(i *Item) bool { return i.Status == ItemDropped && i.ID == "" || many && !i.Status.open() })
	}
	l.All = slices.DeleteFunc(l.All, func(list *List) bool { return len(list.Items) == 0 })
	l.All = l.All[max(0, len(l.All)-maxLists):]
}
