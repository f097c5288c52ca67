package core_test

import (
	"slices"
	"strings"
	"unicode/utf16"

	"flame/core"
	"flame/core/summaries"
	"flame/render"
)

type goldenText struct {
	Text string `json:"text"`
}

func goldenEstimate(_ core.Millis, in goldenText, _ map[string]any) map[string]any {
	return map[string]any{"tokens": core.EstimateTokens(in.Text), "utf16Length": len(utf16.Encode([]rune(in.Text)))}
}

func goldenEscape(_ core.Millis, in goldenText, _ map[string]any) map[string]any {
	return map[string]any{"text": core.EscapeXML(in.Text)}
}

func goldenKeywords(_ core.Millis, in goldenText, _ map[string]any) map[string]any {
	return map[string]any{"keywords": core.Keywords(in.Text)}
}

func goldenTruncate(_ core.Millis, in struct {
	Text      string  `json:"text"`
	MaxTokens float64 `json:"maxTokens"`
	Indicator string  `json:"indicator"`
}, expected map[string]any) map[string]any {
	// The reference may cut between the halves of a surrogate pair; half a
	// character cannot be written, so flame leaves it out. Decoding has made
	// U+FFFD of such a half.
	if want, ok := expected["text"].(string); ok && !strings.Contains(in.Text, "\uFFFD") {
		expected["text"] = strings.Replace(want, "\uFFFD"+in.Indicator, in.Indicator, 1)
	}
	text, cut := core.Truncate(in.Text, in.MaxTokens, in.Indicator)
	return map[string]any{"text": text, "wasTruncated": cut}
}

// presentOnly takes out of an expected score what the reference adds for a frame
// changed in the future: flame counts such times as now.
func presentOnly(expected map[string]any, pointsAnHour float64, f goldenFrame, now core.Millis) {
	if score, ok := expected["score"].(float64); ok && f.UpdatedAt > now {
		expected["score"] = score - pointsAnHour*float64(f.UpdatedAt-now)/3_600_000
	}
}

func goldenAncestorScore(now core.Millis, in struct {
	Frame goldenFrame `json:"frame"`
	Depth int         `json:"depth"`
}, expected map[string]any) map[string]any {
	presentOnly(expected, 1, in.Frame, now)
	return map[string]any{"score": core.ScoreAncestor(in.Frame.frame(), in.Depth, now)}
}

func goldenSiblingScore(now core.Millis, in struct {
	Sibling     goldenFrame `json:"sibling"`
	CurrentGoal string      `json:"currentGoal"`
}, expected map[string]any) map[string]any {
	presentOnly(expected, 10, in.Sibling, now)
	return map[string]any{"score": core.ScoreSibling(in.Sibling.frame(), in.CurrentGoal, now)}
}

func goldenSelectAncestors(now core.Millis, in struct {
	AncestorsParentFirst []goldenFrame `json:"ancestorsParentFirst"`
	Budget               int           `json:"budget"`
}, expected map[string]any) map[string]any {
	// The reference drops a parent that alone exceeds the budget. The first description has
	// it always in: flame charges it the whole budget, so nothing
	// else is left in.
	if all := in.AncestorsParentFirst; len(all) > 0 && goldenPrice(all[0]) > in.Budget {
		expected["selectedIDsRootFirst"] = []any{all[0].SessionID}
		expected["omitted"] = float64(len(all) - 1)
		expected["tokensUsed"] = float64(in.Budget)
	}
	s := core.SelectAncestors(framesOf(in.AncestorsParentFirst), in.Budget, now)
	return map[string]any{"selectedIDsRootFirst": idsOf(s.Frames), "omitted": s.Left, "tokensUsed": s.Tokens}
}

// goldenPrice is the reference's estimate of a frame.
func goldenPrice(f goldenFrame) int {
	text := f.Goal
	if f.CompactionSummary != "" {
		text += " " + f.CompactionSummary
	}
	if len(f.Artifacts) > 0 {
		text += " " + strings.Join(f.Artifacts, ", ")
	}
	return (len(utf16.Encode([]rune(text))) + 3) / 4
}

func goldenSelectSiblings(now core.Millis, in struct {
	Siblings     []goldenFrame `json:"siblings"`
	Budget       int           `json:"budget"`
	CurrentGoal  string        `json:"currentGoal"`
	MinRelevance float64       `json:"minRelevance"`
}, _ map[string]any) map[string]any {
	s := core.SelectSiblings(framesOf(in.Siblings), in.Budget, in.CurrentGoal, in.MinRelevance, now)
	return map[string]any{"selectedIDsMostRecentFirst": idsOf(s.Frames), "filtered": s.Left, "tokensUsed": s.Tokens}
}

type goldenTree struct {
	Frames        []goldenFrame `json:"frames"`
	ActiveFrameID string        `json:"activeFrameID"`
	Target        string        `json:"target"`
	Reason        string        `json:"reason"`
}

func goldenInvalidation(now core.Millis, in goldenTree, expected map[string]any) map[string]any {
	frames := framesOf(in.Frames)
	at := slices.IndexFunc(frames, func(f core.Frame) bool { return f.ID == in.Target })
	if at < 0 {
		return describeTree(in, frames, map[string]any{"found": false})
	}
	target := &frames[at]
	if err := target.Invalidate(in.Reason, now); err != nil {
		return map[string]any{"error": err.Error()}
	}
	cascade, ends := core.CascadeOf(*target), strings.HasSuffix(target.InvalidationReason, in.Reason)
	tree, planned, inProgress := map[string][]core.Frame{}, []string{}, []string{}
	for _, f := range frames {
		tree[f.Parent] = append(tree[f.Parent], f)
	}
	for f := range core.Descendants(in.Target, idOf, func(id string) []core.Frame { return tree[id] }) {
		if f.Status == core.InProgress {
			inProgress = append(inProgress, f.ID)
		}
		if cascade.Invalidate(&f) {
			planned, ends = append(planned, f.ID), ends && strings.HasSuffix(f.InvalidationReason, in.Reason)
			frames[slices.IndexFunc(frames, func(old core.Frame) bool { return old.ID == f.ID })] = f
		}
	}
	got := describeTree(in, frames, map[string]any{
		"found": true, "cascadedPlanned": planned, "warningInProgress": inProgress,
		"targetReason": target.InvalidationReason, "cascadedReasonEndsWithReason": ends,
	})
	// The reference leaves the active frame where it is, or moves it to the
	// target's parent, whatever its status. Flame's is in progress, or there is
	// none.
	if active, ok := expected["activeFrameID"].(string); ok && got["statuses"].(map[string]core.Status)[active] != core.InProgress {
		expected["activeFrameID"] = orNil(nearestInProgress(frames, active))
	}
	return got
}

// describeTree adds to got what a case may expect of the tree.
func describeTree(in goldenTree, frames []core.Frame, got map[string]any) map[string]any {
	statuses := map[string]core.Status{}
	changed, roots := []string{}, []string{}
	for _, f := range frames {
		statuses[f.ID] = f.Status
		if f.InvalidatedAt != 0 {
			changed = append(changed, f.ID)
		}
		if f.Parent == "" {
			roots = append(roots, f.ID)
		}
	}
	var current core.Frame
	var above []core.Frame
	for id := in.ActiveFrameID; id != ""; {
		at := slices.IndexFunc(frames, func(f core.Frame) bool { return f.ID == id })
		if at < 0 {
			break
		}
		if current.ID == "" {
			current = frames[at]
		} else {
			above = append(above, frames[at])
		}
		id = frames[at].Parent
	}
	got["statuses"], got["invalidatedAtSetOn"], got["rootFrameIDs"] = statuses, changed, roots
	got["activeFrameID"] = orNil(core.NearestOpen(current, above))
	return got
}

// nearestInProgress walks up from id to the first frame in progress.
func nearestInProgress(frames []core.Frame, id string) string {
	for _, f := range frames {
		switch {
		case f.ID != id:
		case f.Status == core.InProgress:
			return id
		default:
			return nearestInProgress(frames, f.Parent)
		}
	}
	return ""
}

type goldenAutonomy struct {
	PushThreshold     int      `json:"pushThreshold"`
	PopThreshold      int      `json:"popThreshold"`
	EnabledHeuristics []string `json:"enabledHeuristics"`
}

func (c goldenAutonomy) config() core.AutonomyConfig {
	return core.AutonomyConfig{
		PushThreshold: c.PushThreshold, PopThreshold: c.PopThreshold,
		EnabledHeuristics: c.EnabledHeuristics,
	}
}

func goldenPush(_ core.Millis, in struct {
	FrameGoal string `json:"frameGoal"`
	Context   struct {
		CurrentGoal       string   `json:"currentGoal"`
		PotentialNewGoal  string   `json:"potentialNewGoal"`
		RecentMessages    int      `json:"recentMessages"`
		RecentFileChanges []string `json:"recentFileChanges"`
		ErrorCount        int      `json:"errorCount"`
		TokenCount        int      `json:"tokenCount"`
	} `json:"context"`
	Config goldenAutonomy `json:"config"`
}, _ map[string]any) map[string]any {
	goal := in.FrameGoal
	if in.Context.CurrentGoal != "" {
		goal = in.Context.CurrentGoal
	}
	e := core.EvaluatePush(core.PushInput{
		Goal: goal, PotentialGoal: in.Context.PotentialNewGoal, Messages: in.Context.RecentMessages,
		Files: in.Context.RecentFileChanges, Errors: in.Context.ErrorCount, Tokens: in.Context.TokenCount,
	}, in.Config.config())
	got := describeEvaluation(e)
	got["shouldPush"], got["suggestedGoal"] = e.Mean >= e.Threshold, orNil(e.Goal)
	return got
}

func goldenPop(_ core.Millis, in struct {
	Frame   goldenFrame `json:"frame"`
	Context struct {
		Artifacts       []string `json:"artifacts"`
		SuccessSignals  []string `json:"successSignals"`
		FailureSignals  []string `json:"failureSignals"`
		NoProgressTurns int      `json:"noProgressTurns"`
		TokenCount      int      `json:"tokenCount"`
		ContextLimit    int      `json:"contextLimit"`
	} `json:"context"`
	Config goldenAutonomy `json:"config"`
}, _ map[string]any) map[string]any {
	artifacts := in.Frame.Artifacts
	if in.Context.Artifacts != nil {
		artifacts = in.Context.Artifacts
	}
	e := core.EvaluatePop(core.PopInput{
		Goal: in.Frame.Goal, Artifacts: artifacts,
		SuccessSignals: in.Context.SuccessSignals, FailureSignals: in.Context.FailureSignals,
		NoProgressTurns: in.Context.NoProgressTurns, Tokens: in.Context.TokenCount, ContextLimit: in.Context.ContextLimit,
	}, in.Config.config())
	got := describeEvaluation(e)
	got["shouldPop"], got["suggestedStatus"] = e.Mean >= e.Threshold, e.Status
	return got
}

func describeEvaluation(e core.Evaluation) map[string]any {
	scores := map[string]int{}
	for _, s := range e.Scores {
		scores[s.Name] = s.Score
	}
	reason := e.Reason
	if reason == core.NoReason {
		reason = ""
	}
	return map[string]any{"confidence": e.Mean, "primaryReason": orNil(reason), "scores": scores}
}

func goldenSubagentTitle(_ core.Millis, in struct {
	Title    string   `json:"title"`
	Patterns []string `json:"patterns"`
}, _ map[string]any) map[string]any {
	patterns, _ := core.CompilePatterns(in.Patterns)
	return map[string]any{"isSubagent": patterns.Match(in.Title)}
}

func goldenSubagentHeuristics(_ core.Millis, in struct {
	AgeMs           int64 `json:"ageMs"`
	MessageCount    int   `json:"messageCount"`
	MinDuration     int64 `json:"minDuration"`
	MinMessageCount int   `json:"minMessageCount"`
}, _ map[string]any) map[string]any {
	config := core.SubagentConfig{MinDuration: in.MinDuration, MinMessageCount: in.MinMessageCount}
	return map[string]any{"meets": core.MeetsFrameHeuristics(in.AgeMs, in.MessageCount, config)}
}

func goldenCompactionPrompt(now core.Millis, in struct {
	Frame                goldenFrame              `json:"frame"`
	Type                 summaries.CompactionType `json:"type"`
	AncestorsParentFirst []goldenFrame            `json:"ancestorsParentFirst"`
	Siblings             []goldenFrame            `json:"siblings"`
}, expected map[string]any) map[string]any {
	input := summaries.Input{Type: in.Type, Frame: in.Frame.frame(), Siblings: framesOf(in.Siblings), Now: now}
	if above := framesOf(in.AncestorsParentFirst); len(above) > 0 {
		input.Parent = &above[0]
	}
	prompt := summaries.Prompt(input)
	which := func(field string, contained bool) []any {
		found := []any{}
		texts, _ := expected[field].([]any)
		for _, text := range texts {
			if strings.Contains(prompt, text.(string)) == contained {
				found = append(found, text)
			}
		}
		return found
	}
	return map[string]any{
		"containsType": strings.Contains(prompt, string(in.Type)),
		"contains":     which("contains", true), "absent": which("absent", false),
	}
}

func goldenDuration(_ core.Millis, in struct {
	Ms int64 `json:"ms"`
}, _ map[string]any) map[string]any {
	return map[string]any{"text": render.Duration(in.Ms)}
}
