package judge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
	"flame/core/judge"
)

// profiles is a moment in the middle of some work, with the prompt.
func profiles(prompt string) judge.Moment {
	return judge.Moment{
		Frame: judge.Frame{
			Goal: "Implement user profiles", Criteria: "avatar, biography, tests", Messages: 24, Artifacts: []string{"profile/avatar.ts"},
			Planned: []string{"Public gallery of avatars", "Data protection statement"},
		},
		Recent: []judge.Message{
			{Role: core.RoleUser, Text: "crop the upload to a square"},
			{Role: core.RoleAssistant, Text: "Uploads are cropped to a square and stored at three sizes. The biography comes next."},
		},
		Turn:   judge.Turn{Files: []string{"profile/avatar.ts"}, Tokens: 40_000},
		Prompt: prompt,
	}
}

func push(m judge.Moment) core.Evaluation { return judge.Push(m, core.DefaultAutonomyConfig()) }

func TestAPromptThatStaysWithTheWorkAtHandIsNoPush(t *testing.T) {
	t.Parallel()
	for name, prompt := range map[string]string{
		"go on":                             "go on",
		"yes":                               "yes, do that",
		"yes, in German":                    "ja, mach das bitte",
		"yes, in French":                    "oui, vas-y",
		"yes, in Japanese":                  "はい、お願いします",
		"thanks":                            "great, thank you very much!",
		"a commit":                          "commit that and open a pull request with a good description",
		"a choice":                          "the second one",
		"a number":                          "42",
		"only praise":                       "👍👍",
		"a correction":                      "no, undo that, I meant the thumbnails",
		"a further requirement":             "limit the biography to 300 characters and allow line breaks",
		"a detail in other words":           "make the corners round",
		"a small addition":                  "also accept WebP",
		"a question":                        "why three sizes?",
		"a question that asks for nothing":  "how would that behave behind the proxy in the Frankfurt data centre?",
		"tests for it":                      "can you add a test for transparent pictures?",
		"documentation of it":               "document the endpoint in the readme",
		"one more thing that belongs to it": "one more thing: the avatar is blurred on retina displays",
		"a defect":                          "still blurred on my phone",
		"a defect, at length": "I tried it on the train. The picture jumps when the menu opens, on the old iPhone it comes out rotated by ninety degrees, " +
			"the spinner never stops when the connection is gone and the colours look washed out next to the original. Nobody found where to click.",
		"a defect, in German":      "das Bild ist auf dem alten Tablet verzerrt und beim Drehen verschwindet der Rahmen",
		"a stack trace":            "TypeError: Cannot read properties of undefined (reading 'width')\n    at crop (avatar.ts:41:12)",
		"a log with a question":    "what is this?\n2026-02-03T10:00:00Z ERROR out of memory rss=812M\n2026-02-03T10:00:01Z FATAL giving up",
		"code in a fence":          "```\nbuild implement deploy create\n```",
		"a planned child put off":  "not the gallery yet",
		"a part of it":             "please round the corners of the dialog, make the font larger and use the corporate blue",
		"a wish for more of it":    "I'd like a bigger preview of the cropped region next to the slider",
		"what is there is changed": "reset the orientation from the metadata of the camera",
		"a question after praise":  "nice! why does the crop keep its own copy of the original?",
		"a rule with before":       "on slow lines the spinner shows before the preview is fetched, in Firefox even twice",
		"a host's notification":    "<task-notification>\n<summary>Set up a database server. Unrelated: deploy the shop.</summary>\n</task-notification>",
		"a host's summary":         "This session is being continued from a previous conversation. Next, investigate the outage.",
		"a host's command":         "/init deploy something else",
		"binary":                   "\x00\xff\xfe\x01PNG\r\n\x1a\n\x00\x00\x00",
		"white space":              " \n\t ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := push(profiles(prompt))
			assert.False(t, e.Recommended, e.Explanation)
		})
	}
}

func TestAPromptThatStartsOtherWorkIsAPush(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ prompt, goal string }{
		"the next deliverable": {
			"good. And now a newsletter: sign-up form, double opt-in, template in MJML",
			"a newsletter: sign-up form, double opt-in, template in MJML",
		},
		"something first": {
			"before that, find out why the nightly backup of the invoices is empty", "find out why the nightly backup of the invoices is empty",
		},
		"the work is left": {
			"Leave that. Investigate the memory leak in the importer",
			"Investigate the memory leak in the importer",
		},
		"another topic": {
			"different topic: the checkout answers 502 from Canada. Can you look into it?",
			"the checkout answers 502 from Canada. look into it",
		},
		"a ticket": {
			"merged. Take SHOP-118 next, the wish list",
			"Take SHOP-118 next, the wish list",
		},
		"a review": {
			"Can you review Jana's pull request on the session store?",
			"review Jana's pull request on the session store",
		},
		"work for others": {
			"procurement wants a list of all third-party licences of the repository for the framework contract",
			"procurement wants a list of all third-party licences of the repository for the framework contract",
		},
		"in French": {
			"Parfait ! Maintenant il faudrait une page de statut publique avec historique des pannes",
			"il faudrait une page de statut publique avec historique des pannes",
		},
		"in German": {
			"Gut. Jetzt brauche ich eine Schnittstelle zum Lager, mit Abgleich der Bestände jede Nacht",
			"brauche ich eine Schnittstelle zum Lager, mit Abgleich der Bestände jede Nacht",
		},
		"a ticket as a title": {
			"SHOP-341 then: dunning mails go out on bank holidays", "SHOP-341 then: dunning mails go out on bank holidays",
		},
		"a title with what is wanted": {
			"Customer import from the old ERP: XML by SFTP each night, mapping in a sheet, bad rows into a report",
			"Customer import from the old ERP: XML by SFTP each night, mapping in a sheet, bad rows into a report",
		},
		"a thing that is wanted": {
			"Marketing announces the spring sale. We need a waiting room in front of the shop",
			"Marketing announces the spring sale. need a waiting room in front of the shop",
		},
		"after a clause": {
			"Given that you know the importer now, rewrite its parser in Rust with the same fixtures",
			"Given that you know the importer now. rewrite its parser in Rust with the same fixtures",
		},
		"the cause of something else": {
			"sehr schick. Die Bestellungen brechen aber seit gestern ab, vor allem beim Warenkorb. Ursache?",
			"Die Bestellungen brechen aber seit gestern ab, vor allem beim Warenkorb",
		},
		"a fault elsewhere": {
			"FAILED tests/test_pages.py::test_loop - RecursionError\n\nred since Friday, unrelated to this. pls find and fix, separate PR",
			"red since Friday, unrelated to this. find and fix, separate PR",
		},
		"something else": {
			"Now something else: write the release notes for 2.4 from the closed tickets", "write the release notes for 2.4 from the closed tickets",
		},
		"what was planned":       {"would you continue with what we had planned next?", "Public gallery of avatars"},
		"a planned child's turn": {"sehr schön, dann jetzt gallery", "Public gallery of avatars"},
		"a planned child":        {"now the data protection statement please", "Data protection statement"},
		"a planned child's word": {"gallery", "Public gallery of avatars"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := push(profiles(c.prompt))
			assert.True(t, e.Recommended, e.Explanation)
			assert.Equal(t, c.goal, e.Goal)
			assert.NotEqual(t, core.NoReason, e.Reason)
		})
	}
}

func TestTheGoalNamesTheWorkAndNotTheWordsThatTurnToIt(t *testing.T) {
	t.Parallel()
	for _, opening := range []string{
		"", "Please ", "Can you ", "Now something else: ", "now for something else: ", "OK, something else now: ", "Now to something else - ",
		"Let's do something else: ", "Something completely different: ", "Great, thanks! Now something different: ", "And now something else entirely: ",
		"Different topic. ", "New task: ", "Next task: ", "Another thing: ", "One more thing: ", "Change of plan: ", "Switching gears: ",
		"Separately, ", "Unrelated: ", "By the way, ", "Now let's ", "Now I want you to ", "I'd like you to ",
	} {
		e := push(profiles(opening + "write the release notes for version 2"))
		assert.True(t, e.Recommended, "%s%s", opening, e.Explanation)
		assert.Equal(t, "write the release notes for version 2", e.Goal, opening)
	}
}

func TestABareGoalOfOtherWorkIsAPushIfACallerNamesIt(t *testing.T) {
	t.Parallel()
	m := profiles("Set up database migrations")
	m.Named = true
	e := push(m)
	assert.True(t, e.Recommended, e.Explanation)
	assert.Equal(t, "Set up database migrations", e.Goal)
	m.Prompt = "Crop the avatar of a profile to a square"
	assert.False(t, push(m).Recommended)
}

func TestTheFirstPromptOfAFrameIsNoPush(t *testing.T) {
	t.Parallel()
	m := judge.Moment{Frame: judge.Frame{Goal: "Implement user profiles", Messages: 1}, Prompt: "Leave that. Next: set up a mail server on Hetzner"}
	assert.False(t, push(m).Recommended)
}

// numbers are moments with extreme numbers, all of the same conversation.
func numbers(prompt string) (list []judge.Moment) {
	for _, n := range []int{0, 30, 1_000_000} {
		m := profiles(prompt)
		m.Frame.Messages, m.Turn.Errors, m.Turn.Tokens, m.Turn.WithoutProgress = 30+n, n, n, n
		list = append(list, m)
	}
	return list
}

func TestNoNumberMakesAPushOfGoingOn(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"continue", "go on", "yes", "ok", "weiter", "next", "try again", "do it", "sure, go ahead with the plan"} {
		for _, m := range numbers(prompt) {
			e := push(m)
			assert.False(t, e.Recommended, "%s: %s", prompt, e.Explanation)
		}
	}
}

func TestPolitenessChangesNothing(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{
		"set up a mail server on Hetzner", "review the pull request of Jana on sessions", "make the corners round", "crop it to a circle", "gallery",
	} {
		assert.Equal(t, push(profiles(prompt)).Recommended, push(profiles("please "+prompt)).Recommended, prompt)
		assert.Equal(t, push(profiles(prompt)).Recommended, push(profiles(prompt+", please")).Recommended, prompt)
	}
}

func TestTheSameMomentIsJudgedTheSame(t *testing.T) {
	t.Parallel()
	m := profiles("good, merged. Next: document, test and deploy the search, and review what is planned for the reports")
	first := push(m)
	for range 50 {
		assert.Equal(t, first, push(m))
	}
}

func TestAHeuristicThatIsOffSpeaksForNoPush(t *testing.T) {
	t.Parallel()
	cfg := core.DefaultAutonomyConfig()
	cfg.EnabledHeuristics = []string{"duration"}
	e := judge.Push(profiles("Leave that. Next: set up a mail server on Hetzner"), cfg)
	assert.Empty(t, e.Signals)
	assert.False(t, e.Recommended)
}

func TestHugeInputIsJudgedInNoTime(t *testing.T) {
	t.Parallel()
	const megabyte = 1 << 20
	for name, text := range map[string]string{
		"words":       strings.Repeat("set up another server for the unrelated shop. ", megabyte/46),
		"one word":    strings.Repeat("x", megabyte),
		"lines":       strings.Repeat("\n", megabyte),
		"blanks":      strings.Repeat(" ", megabyte) + "x",
		"binary":      strings.Repeat("\x00\xff", megabyte/2),
		"punctuation": strings.Repeat("?!.,;: ", megabyte/7),
		"Japanese":    strings.Repeat("次は検索機能を", megabyte/21),
	} {
		m := profiles(text)
		for range 50 {
			m.Recent = append(m.Recent, judge.Message{Role: core.RoleAssistant, Text: text})
		}
		for range 10_000 {
			m.Frame.Files, m.Frame.Planned = append(m.Frame.Files, "src/a/b/c.ts"), append(m.Frame.Planned, "another planned child")
		}
		t.Log(name)
		push(m)
	}
}

func FuzzPush(f *testing.F) {
	f.Add("Set up database migrations", "Implement user profiles", "Done. Shall I go on?")
	f.Add("leave this, İ", "\xff", "```")
	f.Fuzz(func(t *testing.T, prompt, goal, last string) {
		m := profiles(prompt)
		m.Frame.Goal, m.Frame.Planned, m.Recent[1].Text = goal, []string{last, goal}, last
		e := push(m)
		if e.Confidence < 0 || e.Confidence > 100 || e.Recommended != (e.Confidence >= e.Threshold) {
			t.Errorf("odd evaluation %+v", e)
		}
	})
}

func BenchmarkPush(b *testing.B) {
	m := profiles(strings.Repeat("set up another server for the unrelated shop. ", 23_000))
	for b.Loop() {
		push(m)
	}
}
