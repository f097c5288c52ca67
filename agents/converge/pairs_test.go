package converge_test

import (
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"

	"flame/agents/converge"
)

// A found is what merge says of two answers: they contradict each other about a subject,
// they agree, or it cannot tell.
type found string

const (
	agreed      found = "agree"
	notCompared found = "not compared"
	neither     found = "agree or not compared"
)

// about is a contradiction whose subject has these words.
func about(words string) found { return found("about " + words) }

type answerPair struct {
	task, a, b string
	tolerance  float64
	want       found
}

func checkPairs(t *testing.T, tests map[string]answerPair) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inputs := answering(tt.a, tt.b)
			inputs[0].Task, inputs[1].Task = tt.task, tt.task
			if one, other, ok := strings.Cut(tt.task, " // "); ok {
				inputs[0].Task, inputs[1].Task = one, other
			}
			result := converged(t, inputs, converge.Options{Strategy: converge.StrategyMerge, RelativeTolerance: tt.tolerance})
			got := agreed
			switch {
			case len(result.Conflicts) > 0:
				got = about(strings.Join(conflictIDs(result), "; "))
			case lo.ContainsBy(result.NotCompared, func(what string) bool { return strings.HasPrefix(what, "the answers of") }):
				got = notCompared
			}
			switch want := strings.TrimPrefix(string(tt.want), "about "); {
			case tt.want == neither:
				assert.Contains(t, []found{agreed, notCompared}, got)
			case want != string(tt.want):
				assert.Contains(t, string(got), "about ")
				assert.Contains(t, strings.ToLower(string(got)), want)
			default:
				assert.Equal(t, tt.want, got)
			}
		})
	}
}

func TestValuesInAnyNotationAreCompared(t *testing.T) {
	t.Parallel()
	settings := func(a, b string, tolerance float64, want found) answerPair {
		return answerPair{"Report the settings of the parcel scanner.", a, b, tolerance, want}
	}
	checkPairs(t, map[string]answerPair{
		"grouped digits":                        settings("rows: 10,000", "rows: 10000", 0, agreed),
		"digits grouped by blanks":              settings("rows: 10 000", "rows: 10,000", 0, agreed),
		"trailing zeros":                        settings("ratio: 0.50", "ratio: 0.5", 0, agreed),
		"an exponent":                           settings("rows: 1.2e6", "rows: 1,200,000", 0, agreed),
		"a typographic minus":                   settings("offset: −5", "offset: -5", 0, agreed),
		"a sign":                                settings("offset: -5", "offset: 5", 0, about("offset")),
		"seconds and milliseconds":              settings("lease: 1.5 s", "lease: 1500 ms", 0, agreed),
		"minutes and seconds":                   settings("lease: 2m", "lease = 120s", 0, agreed),
		"other seconds":                         settings("lease: 2 min", "lease: 60 s", 0, about("lease")),
		"hours and days":                        settings("retention: 48 h", "retention: 2 days", 0, agreed),
		"decimal and binary":                    settings("heap: 256 MB", "heap: 256 MiB", 0, about("heap")),
		"binary units":                          settings("heap: 2Gi", "heap: 2048Mi", 0, agreed),
		"bits are not bytes":                    settings("link: 100 Mb/s", "link: 100 MB/s", 0, about("link")),
		"per hour is not per minute":            settings("rate: 30 per hour", "rate: 30 per minute", 0, about("rate")),
		"per hour and per minute":               settings("rate: 60/h", "rate: 1/min", 0, agreed),
		"parts of a processor":                  settings("cpu request: 250m", "cpu request: 0.25", 0, agreed),
		"kilometres and miles":                  settings("distance: 5 miles", "distance: 8.05 km", 0.01, agreed),
		"a fraction and a percentage":           settings("hit rate: 0.973", "hit rate: 97.3 %", 0, agreed),
		"a percentage and no fraction":          settings("loss: 0.5", "loss: 0.5 %", 0, about("loss")),
		"a quotient and a percentage":           settings("hit rate: 2/3", "hit rate: 66.7 %", 0, agreed),
		"another quotient":                      settings("passed: 40 of 43", "passed: 41 of 43", 0, about("passed")),
		"roughly":                               settings("rows: about 40", "rows: 42", 0, agreed),
		"roughly, but too far":                  settings("rows: ~40", "rows: 60", 0, about("rows")),
		"within the tolerance":                  settings("throughput: 342 MB/s", "throughput: 335 MB/s", 0.05, agreed),
		"beyond the tolerance":                  settings("throughput: 342 MB/s", "throughput: 300 MB/s", 0.05, about("throughput")),
		"a value in a range":                    settings("threads: 4-8", "threads: 6", 0, agreed),
		"a value out of a range":                settings("threads: 4-8", "threads: 12", 0, about("threads")),
		"ranges apart":                          settings("port range: 4000 to 4100", "port range: 5000-5100", 0, about("port range")),
		"versions with a prefix":                settings("version: v1.4.0", "version: 1.4", 0, agreed),
		"versions are no fractions":             settings("python version: 3.1", "python version: 3.10", 0, about("python")),
		"at least a version":                    settings("go version: >=1.22", "go version: 1.23", 0, neither),
		"dates":                                 settings("expires: 2027-03-04", "expires: 4 March 2027", 0, agreed),
		"American dates":                        settings("expires: March 4, 2027", "expires: 2027-03-04", 0, agreed),
		"other dates":                           settings("expires: 2027-03-04", "expires: 5 March 2027", 0, about("expires")),
		"colours":                               settings("accent: #FFF", "accent: #ffffff", 0, agreed),
		"other colours":                         settings("accent: #ff0000", "accent: #ee0000", 0, about("accent")),
		"paths":                                 settings("log file: ./var/../log/a.txt", "log file: log/a.txt", 0, agreed),
		"case in paths":                         settings("log file: log/A.txt", "log file: log/a.txt", 0, about("log file")),
		"case elsewhere":                        settings("mode: Strict", "mode: strict", 0, agreed),
		"yes is on":                             settings("tracing: on", "tracing: yes", 0, agreed),
		"yes is not off":                        settings("tracing: enabled", "tracing: ✗", 0, about("tracing")),
		"numbers in words":                      settings("replicas: three", "replicas: 3", 0, agreed),
		"none is an empty list":                 settings("skipped: []", "skipped: none", 0, agreed),
		"something is not none":                 settings("skipped: login, search", "skipped: none", 0, about("skipped")),
		"a former value in parentheses":         settings("port: 8081 (was 8080)", "port: 8081", 0, agreed),
		"a struck-out value":                    settings("port: ~~8080~~ 8081", "port: 8080", 0, about("port")),
		"a name more closely told":              settings("store: Redis", "store: Redis cluster", 0, agreed),
		"another name":                          settings("store: Redis", "store: Memcached", 0, about("store")),
		"keys in another notation":              settings("maxRetries: 3", "max_retries = 3", 0, agreed),
		"a unit in the key":                     settings("timeout_ms: 500", "timeout: 0.5 s", 0, agreed),
		"what stands behind other keys":         settings("port: 80\nhost: alpha", "port: 80\nhost: beta", 0, about("host")),
		"a version with a zero at its end":      settings("The installed version is 1.10.", "The installed version is 1.1.", 0, about("version")),
		"an id is no number":                    settings("id: 007\nsize: 3", "id: 7\nsize: 3", 0, about("id")),
		"two of several keys":                   settings("a: 1\nrows: 5\nheap: 2 GB", "heap: 2 GB\nrows: 6", 0, about("rows")),
		"other keys":                            settings("rows: 5", "heap: 2 GB", 0, notCompared),
		"a time that an agent took is no claim": settings("rows: 5\ntook: 3 s", "rows: 5\ntook: 9 s", 0, agreed),
		"confidence is no claim":                settings("rows: 5\nconfidence: 0.9", "rows: 5\nconfidence: 0.6", 0, agreed),
		"stages apart":                          settings("staging replicas: 2", "production replicas: 4", 0, notCompared),
	})
}

func TestLayoutsAreCompared(t *testing.T) {
	t.Parallel()
	checkPairs(t, map[string]answerPair{
		"tables in another order": {task: "Compare the ferries.",
			a:    "| ferry | seats | year |\n|---|---|---|\n| Alma | 120 | 1998 |\n| Berta | 80 | 2004 |",
			b:    "| ferry | year | seats |\n|---|---:|---:|\n| Berta | 2004 | 80 |\n| Alma | 1998 | 120 |\n",
			want: agreed},
		"a cell of a table": {task: "Compare the ferries.",
			a:    "| ferry | seats |\n|---|---|\n| Alma | 120 |\n| Berta | 80 |",
			b:    "| ferry | seats |\n|---|---|\n| Alma | 120 |\n| Berta | 90 |",
			want: about("berta")},
		"a row without its last cell": {task: "Compare the ferries.",
			a:    "| ferry | pier | seats |\n|---|---|---|\n| Alma | Kiel | 120 |\n| Berta | Kiel |",
			b:    "Alma seats: 100",
			want: about("alma")},
		"a table and lines": {task: "How many seats have the ferries?",
			a:    "| ferry | seats |\n|---|---|\n| Alma | 120 |\n| Berta | 80 |",
			b:    "Alma: 120\nBerta: 85",
			want: about("berta")},
		"a ranking whose order counts": {task: "Rank the three ferries from best to worst.",
			a: "1. Alma\n2. Berta\n3. Cleo", b: "1. Berta\n2. Alma\n3. Cleo", want: about("list")},
		"a numbered list whose order does not count": {task: "Which three ferries run in winter?",
			a: "1. Alma\n2. Berta\n3. Cleo", b: "1. Berta\n2. Cleo\n3. Alma", want: agreed},
		"another member where all are asked for": {task: "Which ferries run in winter?",
			a: "- Alma\n- Berta", b: "- Alma\n- Cleo", want: about("list")},
		"more steps where not all are asked for": {task: "Suggest some improvements.",
			a: "- caching\n- indexes", b: "- indexes\n- compression", want: neither},
		"JSON and lines": {task: "Report the gate's state.",
			a: `{"gate": "north", "open": true, "height_m": 4}`, b: "gate: north\nopen: no", want: about("open")},
		"JSON in a fence and JSON": {task: "Report the gate.",
			a: "Here:\n```json\n{\"open\": true, \"codes\": [3, 4]}\n```", b: `{"codes": [4, 3], "open": true}`, want: agreed},
		"when it was checked is no claim": {task: "Report the gate.",
			a: `{"open": true, "checked_at": "2026-01-01T10:00:00Z"}`, b: `{"open": true, "checked_at": "2026-01-01T11:30:00Z"}`, want: agreed},
		"JSON about other things": {task: "Report one gate.",
			a: `{"zone": "north", "open": true, "height": 4}`, b: `{"zone": "south", "open": false, "height": 3}`, want: notCompared},
		"a list of objects": {task: "Report the gates.",
			a: `[{"name": "north", "open": true}, {"name": "south", "open": true}]`,
			b: `[{"name": "south", "open": false}, {"name": "north", "open": true}]`, want: about("south")},
		"CSV and a table": {task: "List the gates.",
			a:    "```csv\ngate,open,height\nnorth,yes,4\nsouth,no,3\n```",
			b:    "| gate | height | open |\n|---|---|---|\n| south | 3 | ✗ |\n| north | 4 | ✓ |",
			want: agreed},
		"a checklist": {task: "Go through the checklist.",
			a: "- [x] backups run\n- [ ] alerts are set", b: "- [x] backups run\n- [x] alerts are set", want: about("alerts")},
		"settings that are commented out": {task: "Give the settings.",
			a: "```ini\n# port = 1\nport = 2\n```", b: "```ini\nport = 1\n```", want: about("port")},
		"YAML and dotted keys": {task: "Give the settings.",
			a: "```yaml\npool:\n  size: 5\n  wait: 3s\n```", b: "pool.size = 5\npool.wait = 3000 ms", want: agreed},
		"sections of an INI file": {task: "Give the settings.",
			a: "```ini\n[read]\nsize = 5\n[write]\nsize = 6\n```", b: "```ini\n[read]\nsize = 6\n[write]\nsize = 5\n```", want: about("size")},
		"patches of one line": {task: "Fix the limit.",
			a: "```diff\n--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,3 @@\n a\n-limit := 5\n+limit := 6\n b\n```",
			b: "```diff\n-limit := 5\n+limit := 7\n```", want: about("limit := 5")},
		"patches alike but for context": {task: "Fix the limit.",
			a: "```diff\n@@ -1,3 +1,3 @@\n a\n-limit := 5\n+limit :=  6\n b\n```", b: "```diff\n-\tlimit := 5\n+\tlimit := 6\n```", want: agreed},
		"tests that take other times": {task: "Run the tests.",
			a: "```\nok  \tgates/north\t0.2s\nFAIL\tgates/south\t1.0s\n```",
			b: "```\nok  \tgates/north\t0.9s\nFAIL\tgates/south\t1.7s\n```", want: agreed},
		"a test that passes for one": {task: "Run the tests.",
			a: "```\nok  \tgates/north\t0.2s\nok  \tgates/south\t1.0s\n```",
			b: "```\nok  \tgates/north\t0.9s\nFAIL\tgates/south\t1.7s\n```", want: about("gates/south")},
		"counts of tests": {task: "Run the tests.",
			a: "12 passed, 1 failed", b: "13 passed, 0 failed.", want: about("pass")},
		"a benchmark": {task: "Measure.", tolerance: 0.05,
			a: "```\nBenchmarkGate-8  1000  1200 ns/op\n```", b: "```\nBenchmarkGate-8  900  1230 ns/op\n```", want: agreed},
		"files of the same question": {task: "Which files must be changed?",
			a: "- `a/x.go`\n- `a/y.go`", b: "./a/y.go\n./a/x.go", want: agreed},
		"what is proposed, not what is": {task: "Propose a pool size.",
			a: "## Present state\n\npool size: 5\n\n## Recommendation\n\npool size: 10", b: "pool size: 10", want: agreed},
		"a column of former values": {task: "Propose pool sizes.",
			a: "| pool | today | proposed |\n|---|---|---|\n| read | 5 | 10 |", b: "| pool | proposed |\n|---|---|\n| read | 10 |", want: agreed},
		"a correction": {task: "Which port?",
			a: "port: 80\n\nCorrection: the above is of the old file.\n\nport: 81", b: "port: 81", want: agreed},
	})
}

func TestSentencesAreCompared(t *testing.T) {
	t.Parallel()
	checkPairs(t, map[string]answerPair{
		"numbers in equal sentences": {task: "How many parcels are lost?",
			a: "The scanner loses 14 parcels a day.", b: "The scanner loses 41 parcels a day.", want: about("scanner loses")},
		"equal sentences": {task: "How many parcels are lost?",
			a: "The scanner loses 14 parcels a day.", b: "The scanner loses 14 parcels a day.\n", want: agreed},
		"a negation": {task: "Is the gate locked at night?",
			a: "The gate is locked at night.", b: "The gate is not locked at night.", want: about("gate")},
		"an opposite": {task: "Is the endpoint safe?",
			a: "The endpoint is safe.", b: "The endpoint is unsafe.", want: about("endpoint")},
		"a recommendation": {task: "Which queue should we use?",
			a: "Use Kafka.", b: "I'd go with RabbitMQ, since it is simpler to run.", want: about("recommend")},
		"the same recommendation": {task: "Which queue should we use?",
			a: "Recommendation: NATS\n\nKafka is too heavy for us.", b: "I recommend NATS because one binary is enough.", want: agreed},
		"recommendations for other things": {task: "Suggest a queue. // Suggest a cache.",
			a: "Use Kafka.", b: "Use Redis.", want: notCompared},
		"yes and no": {task: "May we ship?",
			a: "Yes. Everything is reviewed.", b: "No, the migration is missing.", want: about("answer")},
		"one says nothing of it": {task: "May we ship?",
			a: "Everything is reviewed and the gate team is happy with the plan.", b: "The migration has not been written by anybody.", want: notCompared},
		"how many": {task: "How many templates are there?",
			a: "There are about 40 templates.", b: "Templates: 80", want: about("template")},
		"which file": {task: "Which file has the limit?",
			a: "It is set in `conf/a.toml`.", b: "You will find it in `conf/b.toml`, near the top.", want: about("")},
		"which version": {task: "Which version broke it?",
			a: "It broke with v2.3.1.", b: "2.3.0 has the bug first.", want: about("")},
		"platforms apart": {task: "Does it start? // Does it start?",
			a: "On Linux it starts in 3 s.", b: "On Windows it starts in 9 s.", want: notCompared},
		"a former number": {task: "What is the limit?",
			a: "limit: 20\n\nIt was 10 until May.", b: "limit: 20\n\nUntil May it was 12 or so.", want: neither},
		"how long a search took": {task: "Which port is open?",
			a: "port: 80\n\nThe scan took 5 minutes.", b: "port: 80\n\nThe scan took 9 minutes.", want: agreed},
		"the same lines, another conclusion in words": {task: "Was it the release?",
			a:    "started: 08:00\nended: 09:00\n\nThe release did it, as the graph bends at the roll-out.",
			b:    "started: 08:00\nended: 09:00\n\nNothing in the release touches this; the month end brings that load each time.",
			want: notCompared},
		"the same verdict in other words": {task: "Review the change.",
			a: "Verdict: CHANGES_REQUESTED", b: "verdict: request changes\n", want: agreed},
		"other verdicts": {task: "Review the change.",
			a: "**Verdict:** approve", b: "Verdict: request changes", want: about("verdict")},
		"verdicts on other files": {task: "Review one file.",
			a: "File: a/x.go\nVerdict: approve", b: "File: b/y.go\nVerdict: reject", want: notCompared},
	})
}

func TestAnswersOfOtherFormsAreCompared(t *testing.T) {
	t.Parallel()
	checkPairs(t, map[string]answerPair{
		"verbs before a quantity": {task: "How big is the index, and how long does a rebuild take?",
			a:    "The index is 4.2 GB. A rebuild takes 35 minutes on the test machine.",
			b:    "size of the index: 4.2 GB\nrebuild: 35 min",
			want: agreed},
		"the only quantity that is asked for": {task: "What is the retention of the audit log?",
			a:    "Audit entries are kept for 90 days, then deleted.",
			b:    "retention: 90 days",
			want: agreed},
		"another quantity that is asked for": {task: "What is the retention of the audit log?",
			a:    "Audit entries are kept for 90 days, then deleted.",
			b:    "retention: 30 days\n\nSource: config.yaml",
			want: about("")},
		"a number named by the task": {task: "Which port does the proxy listen on?",
			a:    "The proxy listens on port 8443.",
			b:    "Port: 8080",
			want: about("")},
		"a truth with more words": {task: "Is TLS 1.0 still enabled?",
			a:    "TLS 1.0 is disabled on all nodes.",
			b:    "TLS 1.0: disabled",
			want: agreed},
		"a list in a sentence": {task: "Which tests fail?",
			a:    "Two tests fail: TestA and TestB.",
			b:    "FAIL: TestB, TestA",
			want: agreed},
		"what should be": {task: "Which region should host the backup?",
			a:    "The backup should be in Dublin, as it is cheapest.",
			b:    "Recommendation: Stockholm",
			want: about("recommend")},
		"rows named by a sign": {task: "Give the p95 latency of the three routes.",
			a:    "| route | p95 |\n|---|---|\n| /a | 120 ms |\n| /b | 80 ms |",
			b:    "- /a: 0.12 s\n- /b: 80 ms\n\nMeasured over an hour.",
			want: agreed},
		"the only date": {task: "When was the key rotated last?",
			a:    "The key was last rotated on 3 May 2026.",
			b:    "2026-05-03, by the cron job.",
			want: agreed},
		"another date": {task: "When was the key rotated last?",
			a:    "The key was last rotated on 3 May 2026.",
			b:    "Last rotation: 2026-04-03",
			want: about("")},
		"an owner in other words": {task: "Name the owner of the billing service.",
			a:    "Owner: team Harbour",
			b:    "The billing service is owned by team Harbour.",
			want: neither},
		"yes twice": {task: "Does the cache survive a restart?",
			a:    "Yes. It is written to disk every minute.",
			b:    "Yes, from disk; at most a minute is lost.",
			want: agreed},
		"a negated sentence and a line": {task: "Does the cache survive a restart?",
			a:    "survives restart: yes",
			b:    "The cache does not survive a restart.",
			want: about("restart")},
		"patches in words": {task: "Fix the pager.",
			a:    "```diff\n--- a/p.go\n+++ b/p.go\n@@ -3,1 +3,1 @@\n-n := a / b\n+n := (a + b - 1) / b\n```\n\nRounds up now.",
			b:    "I changed one line:\n\n```diff\n-n := a / b\n+n := a/b + 1\n```",
			want: about("n := a / b")},
		"changed and unchanged": {task: "Is the count constant changed?",
			a:    "I changed `maxCount` from 10 to 20.",
			b:    "`maxCount` is unchanged.",
			want: about("maxcount")},
		"a list on one line": {task: "List the open ports.",
			a:    "Open ports: 22, 80 and 443.",
			b:    "- 443\n- 80\n- 22",
			want: agreed},
		"an estimate within another": {task: "Estimate the effort.",
			a:    "Effort: 3 to 5 days",
			b:    "I estimate 4 days.",
			want: agreed},
		"another estimate": {task: "Estimate the effort.",
			a:    "The migration takes 3 to 5 days.",
			b:    "Effort: 2 weeks",
			want: about("effort")},
		"a share in a sentence": {task: "What share of requests is cached?",
			a:    "About 97 % of the requests are served from the cache.",
			b:    "cache hit rate: 0.973",
			want: agreed},
		"a ranking in a table": {task: "Rank the regions from best to worst.",
			a:    "1. Frankfurt\n2. Dublin\n3. Milan",
			b:    "| rank | region |\n|---|---|\n| 1 | Dublin |\n| 2 | Frankfurt |\n| 3 | Milan |",
			want: about("")},
		"a degree": {task: "Which severity has finding F2?",
			a:    "F2 is critical.",
			b:    "F2: medium",
			want: about("f2")},
		"codes in sentences": {task: "Describe the endpoint.",
			a:    "GET /jobs returns 200 with a list.\nDELETE /jobs/{id} returns 204.",
			b:    "GET /jobs returns 200 with a list.\nDELETE /jobs/{id} returns 202.",
			want: about("delete /jobs")},
	})
}

func TestShortFormsOfAnswersAreCompared(t *testing.T) {
	t.Parallel()
	checkPairs(t, map[string]answerPair{
		"output in columns, the name last": {task: "Report the sizes.",
			a:    "```\n  text    data  hex  filename\n   100      20   78  a.elf\n   200      20   dc  b.elf\n```",
			b:    "```\n  text    data  hex  filename\n   100      20   78  a.elf\n   230      20   fa  b.elf\n```",
			want: about("b.elf")},
		"the age of a row": {task: "Report the pods.",
			a:    "```\nNAME   STATUS   AGE\nweb-0  Running  3d\nweb-1  Error    3d\n```",
			b:    "```\nNAME   STATUS   AGE\nweb-0  Running  4d\nweb-1  Error    4d\n```",
			want: neither},
		"a header that only one has": {task: "Rate the findings.",
			a:    "| id | severity |\n|---|---|\n| F1 | major |\n| F2 | minor |\n| F3 | nit |",
			b:    "F1: major\nF2: major\nF3: nit",
			want: about("f2")},
		"what was, beside what is": {task: "How many replicas run?",
			a:    "| service | before the move | now |\n|---|---|---|\n| api | 2 | 4 |\n| cron | 1 | 1 |",
			b:    "api: 4\ncron: 1",
			want: agreed},
		"an order on one line": {task: "Rank the formats, best first.",
			a: "SVG > WebP > PNG", b: "1. SVG\n2. WebP\n3. PNG", want: agreed},
		"another order on one line": {task: "Rank the formats, best first.",
			a: "WebP > SVG > PNG", b: "1. SVG\n2. WebP\n3. PNG", want: about("")},
		"dashes": {task: "Give the retention of each queue.",
			a: "- **orders** — 7 days\n- **mails** — 2 days", b: "orders: 7 days\nmails: 3 days", want: about("mails")},
		"an arrow from what was": {task: "What changed?",
			a: "- max_conn: 100 → 200", b: "max_conn changed from 100 to 150", want: about("max_conn")},
		"several on a line": {task: "What does the config say?",
			a: "`retries` is 3, `timeout` is 10s.", b: "retries = 5\ntimeout = 10s", want: about("retries")},
		"counts in parentheses": {task: "Which licences occur?",
			a: "MIT (14), Apache-2.0 (3), ISC (2)", b: "- MIT: 14\n- Apache-2.0: 3\n- ISC: 2", want: agreed},
		"commas outside of a block": {task: "What do the sensors read?",
			a: "T1 = 21.4 °C\nT2 = 19.8 °C\nT3 = 20 °C", b: "sensor,value\nT1,21.4\nT2,17.8\nT3,20", want: about("t2")},
		"a short commit": {task: "Which commit broke the build?",
			a: "Commit 8f3a91c broke the build.", b: "first bad commit: 8f3a91c0de", want: agreed},
		"another commit": {task: "Which commit broke the build?",
			a: "Commit 8f3a91c broke the build.", b: "first bad commit: 77d01be", want: about("")},
		"the line of a file": {task: "Where is the timeout defined?",
			a: "In `http/client.go`, line 48.", b: "http/client.go:48", want: agreed},
		"yes in its own words": {task: "Is the backup encrypted?",
			a: "Yes, with AES-256.", b: "encrypted: no", want: about("answer")},
		"not yet": {task: "Should we merge?",
			a: "Yes", b: "Not yet: the migration lacks a way back.", want: about("answer")},
		"none against some": {task: "List all failing tests.",
			a: "- TestA\n- TestB", b: "None, all of them pass.", want: about("")},
		"years long ago": {task: "Give birth and death.",
			a: "born: 1838-10-07\ndied: 1899-01-22", b: "born: 7 October 1838\ndied: 22 January 1889", want: about("died")},
		"totals of a linter": {task: "Run the linter.",
			a: "```\n✖ 14 problems (11 errors, 3 warnings)\n```", b: "```\n✖ 3 problems (0 errors, 3 warnings)\n```", want: about("error")},
		"sizes of other things": {task: "Size the cache. // Size the thread pool.",
			a: "size: 256 MB\neviction: LRU", b: "size: 32\nqueue: 100", want: notCompared},
		"locales": {task: "What is the locale?", a: "locale: de_CH", b: "locale: de_AT", want: about("locale")},
	})
}
