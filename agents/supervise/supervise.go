package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/samber/lo"

	"flame/core"
)

// A Supervisor runs one job.
type Supervisor struct {
	Job     Job
	Read    func(line []byte) core.Message // interprets a line of the host's output
	Journal Journal
	Log     *slog.Logger
	Pace    Intervals
	Meter   *Meter       // nil: no gateway measures
	Prepare func() error // is called before each process of the host is started; nil: nothing is to be done

	started time.Time
	began   time.Time // start of the time that Limits.Wall bounds
	until   time.Time // granted at least until then; zero: as Limits.Wall says
	last    bool      // this is its last turn
	account account
	seen    []member // the agent's family at the last look
	changed bool     // it had changed then
	host    int      // pid of the host's latest process
	tail    *tail
}

type stop struct {
	state     core.AgentState
	reason    string
	failure   string // what the host said was wrong
	exit      int
	transient bool // another attempt may help
	handBack  bool // in a last turn the agent may report what was done
	fatal     bool // no result counts
}

// Run does the job and reports it to the journal. It returns when nothing that
// the agent started is left. When ctx ends, the agent is cancelled.
func (s *Supervisor) Run(ctx context.Context) (Outcome, error) {
	runtime.LockOSThread() // the host dies with the thread that started it
	defer runtime.UnlockOSThread()
	if err := adopt(); err != nil {
		s.Log.Warn("orphans of the agent may escape", "error", err)
	}
	s.started = time.Now()
	s.began = s.started
	s.account.spent, s.account.SessionUsage = s.Job.SpentUSD, s.Job.Spent
	if err := s.lasting(func(ctx context.Context) error { return s.Journal.Begin(ctx, Self()) }); err != nil {
		return Outcome{}, err
	}
	end := s.work(ctx)
	s.killAll()
	if s.Meter != nil {
		s.Meter.Close()
		s.account.measure(s.Meter)
	}
	outcome := s.outcome(end)
	err := save(filepath.Join(s.Job.Dir, outcomeFile), outcome)
	return outcome, errors.Join(err, s.lasting(func(ctx context.Context) error { return s.Journal.End(ctx, outcome) }))
}

// lasting reports to the journal what it must know, and retries while it cannot
// be written: the store may be locked, or the disk full.
func (s *Supervisor) lasting(tell func(context.Context) error) (err error) {
	ctx := context.Background() // events are recorded even when the agent is cancelled
	for pause := s.Pace.Look; ; pause *= 2 {
		if err = tell(ctx); err == nil || !errors.Is(err, core.ErrUnavailable) || pause > s.Pace.Patience {
			return err
		}
		time.Sleep(pause)
	}
}

// work runs the host as often as that helps.
func (s *Supervisor) work(ctx context.Context) stop {
	command, prompt := s.Job.Command, s.Job.Prompt
	for {
		end := s.attempt(ctx, command, prompt, s.Job.Limits)
		switch {
		case end.transient && s.account.Attempt < s.Job.Limits.Retries:
			if early := s.pause(ctx, end); early.state != "" {
				return early
			}
			if s.canResume() {
				command, prompt = s.resume(), s.Job.RetryPrompt
			}
		case end.handBack && s.canResume() && s.Job.FinalPrompt != "":
			s.handBack(ctx)
			return end
		default:
			return end
		}
	}
}

// pause waits before another attempt. If something ends the agent meanwhile, it
// returns that stop.
func (s *Supervisor) pause(ctx context.Context, after stop) stop {
	wait := delay(s.Pace.Retry, s.account.Attempt, after.failure, time.Now())
	if l := s.Job.Limits; l.Wall > 0 && wait > s.left(l) {
		after.reason = fmt.Sprintf("%s; the next attempt would be in %s, beyond the time left", after.reason, core.Span(wait.Milliseconds()))
		return after
	}
	s.account.Attempt++
	if err := s.Journal.Retry(ctx, Retry{s.account.Attempt, cmp.Or(after.failure, after.reason), wait}); err != nil {
		s.Log.Warn("journal", "error", err)
	}
	timer, tell := time.NewTimer(wait), time.NewTicker(s.Pace.Tell)
	defer timer.Stop()
	defer tell.Stop()
	for {
		select {
		case <-timer.C:
			return stop{}
		case <-ctx.Done():
			return s.told()
		case <-tell.C:
			if end := s.tell(ctx); end.state != "" {
				return end
			}
		}
	}
}

func (s *Supervisor) left(l Limits) time.Duration {
	return max(l.Wall-time.Since(s.began), time.Until(s.until))
}

func (s *Supervisor) canResume() bool { return s.account.Session != "" && len(s.Job.Resume) > 0 }

func (s *Supervisor) resume() []string {
	return lo.Map(s.Job.Resume, func(word string, _ int) string {
		if option, found := strings.CutSuffix(word, Session); found {
			return option + s.account.Session
		}
		return word
	})
}

// handBack gives the agent a last turn to report its work.
func (s *Supervisor) handBack(ctx context.Context) {
	limits := Limits{Start: s.Job.Limits.Start, Output: s.Job.Limits.Output}
	s.began, s.until, s.last = time.Now(), time.Time{}, true
	limits.Wall = s.Pace.HandBack
	if end := s.attempt(ctx, s.resume(), s.Job.FinalPrompt, limits); end.state != core.AgentCompleted {
		s.Log.Info("the agent did not hand back", "reason", end.reason)
	}
}

// attempt runs one process of the host to its end, within limits.
func (s *Supervisor) attempt(ctx context.Context, command []string, prompt string, limits Limits) stop {
	s.account.begin()
	if s.Prepare != nil {
		if err := s.Prepare(); err != nil {
			return s.unstarted(err)
		}
	}
	s.account.measure(s.Meter)
	c, err := s.start(command, prompt)
	if err != nil {
		return s.unstarted(err)
	}
	s.host = c.cmd.Process.Pid
	if s.tail == nil {
		if s.tail, err = newTail(filepath.Join(s.Job.Dir, OutputFile)); err != nil {
			s.killAll()
			return stop{state: core.AgentError, reason: err.Error()}
		}
	}
	watch := watch{s: s, limits: limits, begun: time.Now(), heard: time.Now(), spoke: time.Now()}
	end := watch.until(ctx, c)
	if end.state != "" {
		s.killAll()
		<-c.over
	}
	watch.drain()
	if end.state == "" {
		return s.judge(c.exit())
	}
	if s.account.done && s.account.failed == "" && !end.fatal {
		end = stop{state: core.AgentCompleted, reason: done + end.reason} // the work is done and paid for
	}
	end.exit = c.exit()
	return end
}

// done begins the reason of an agent that was ended although its result had come.
const done = "done; "

func (s *Supervisor) unstarted(err error) stop {
	end := stop{state: core.AgentError, reason: "the host could not be started", failure: err.Error(), exit: -1}
	for _, passing := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.ETXTBSY} {
		end.transient = end.transient || errors.Is(err, passing)
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		end.reason = "the host's program or the agent's folder does not exist"
	}
	return end
}

func (s *Supervisor) killAll() { s.family().end(s.Pace.Grace) }

// family returns what works for the agent. The keeper, this process's parent,
// bears the mark too but must survive.
func (s *Supervisor) family() processTree {
	keeper := os.Getppid()
	return processTree{agent: s.Job.ID, root: os.Getpid(), noted: s.seen, waits: s.host, spares: func(p entry) bool { return p.PID == keeper }}
}

// remember records the agent's processes: one that removed its mark and left
// the family could not be found once the supervisor is gone.
func (s *Supervisor) remember() {
	now := s.family().members()
	if s.changed = !slices.Equal(now, s.seen); !s.changed {
		return
	}
	s.seen = now
	if err := save(filepath.Join(s.Job.Dir, familyFile), now); err != nil {
		s.Log.Warn("the agent's processes were not recorded", "error", err)
	}
}

// judge returns how an agent ended whose host exited on its own.
func (s *Supervisor) judge(exit int) stop {
	a := &s.account
	end := stop{state: core.AgentError, failure: a.failed, exit: exit}
	switch {
	case a.failed != "":
		end.reason = "the host ended with an error"
	case a.done && (exit == 0 || a.settled):
		return stop{state: core.AgentCompleted, reason: "done", exit: exit}
	case exit == 0:
		end.reason = "the host ended with status 0 and no result"
	case exit < 0:
		end.reason = "the host was killed"
	default:
		end.reason = fmt.Sprintf("the host ended with status %d", exit)
	}
	if end.failure == "" { // some hosts give their reason on stdout
		end.failure = core.Tail(strings.ToValidUTF8(strings.TrimSpace(string(a.words)+"\n"+lastErrors(s.Job.Dir)), "?"), 2*maxStderr)
	}
	end.transient = transient(end.failure)
	return end
}

// tell reports the agent's progress to the journal, and returns what stops the
// agent.
func (s *Supervisor) tell(ctx context.Context) stop {
	s.remember()
	orders, err := s.Journal.Report(ctx, s.account.Progress)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("journal", "error", err)
		}
		return stop{}
	}
	if orders.Until > 0 && !s.last {
		s.until = orders.Until.Time()
	}
	return stop{state: orders.Stop, reason: orders.Reason, handBack: orders.Stop == core.AgentError, fatal: orders.Stop == core.AgentError}
}

// told returns the stop of a supervisor that was told to end. The journal may
// know why.
func (s *Supervisor) told() stop {
	if end := s.tell(context.Background()); end.state != "" {
		return end
	}
	return stop{state: core.AgentCancelled, reason: "stopped by a signal"}
}

func (s *Supervisor) outcome(end stop) Outcome {
	o := Outcome{
		State: end.state, Reason: end.reason, Text: core.Cut(s.account.Text, maxWritten), Partial: end.state != core.AgentCompleted,
		Refused: s.account.refused, Error: core.Cut(end.failure, maxWritten/2), ExitCode: end.exit, Progress: s.account.Progress,
		StartedAt: core.MillisOf(s.started), EndedAt: core.MillisOf(time.Now()),
	}
	o.Progress.Text = ""
	if o.Partial {
		o.Stderr = lastErrors(s.Job.Dir)
	}
	return o
}
