package judge

// What agents say at the end of a turn. These are words, and words alone prove nothing:
// they are weighed beside what was done. See phrases for the signs in them.
var (
	// ahead: the agent goes on by itself.
	ahead = phrases(`i'll, i will, we'll, i'm going to, i am going to, next step, next steps, next i, next up, next is, is next, are next
		come next, comes next, next batch, my next, now to, moving on, continuing, continue with, carrying on, going on with, will follow
		follows next, i look into, i look at, i go through, still to do, left to do, let me check, let me look, let me run, let me fix, let me see
		let me try, let me start, let me read, let me now, let me first, let me add, let me update, i'd do, i'd start, i'd look, i'd go on
		i'd continue, looking into, looking at the, starting with, starting on, working on, i run * now, i start, once that's done, once that is
		once * done i, will be done, will be finished, should get us, another batch, first batch, first step, first half, i can start, i would start
		here is the plan, here's the plan, here is my plan, my plan, proposed plan, on my list, later today, after that i, will look, will then
		i'm about to, i am about to, when that is done, so that we can go on, pick up here, pick up from, resume here, resume from, to resume
		# to go, more to go, still to go, i'm going on, now i'll, now i will, now i fix, now i run, then i'll, then i will, now to the, before i go
		before i start, before i continue, before i do, before i touch, before i change, before i delete, before i merge, before i move
		before i write, before we switch, until we switch`)

	// aheadOf: the same words, said of what is not the goal, or of somebody else.
	aheadOf = phrases(`another frame, another task, next task, next release, next frame, separate task, separate frame, let me know
		if you like, if you want, if you wish, can also, could also, belongs to, for a follow up, as a follow up, beyond this, out of scope
		i'll be here, other ticket, another ticket, own ticket, separate ticket, separate issue, separate pr`)

	// lacking: a part of the goal is open.
	lacking = phrases(`remain~, so far, tomorrow, noch nicht, nicht erreicht, bis dahin, fehlt noch, pas encore, en attente, je ne peux rien
		todavía no, aún no, not yet, n't yet, yet to, left to, are left, is left, still left, left over, still missing, # missing, what is missing
		what's missing, missing are, missing is, unfinished, halfway, not finished, not complete, not done, not ready, isn't done, isn't finished
		isn't ready, isn't complete, only the first, nothing written, still open, open point, open points, open items, open question, stubbed
		pending, outstanding, haven't * yet, haven't run, haven't tested, haven't tried, haven't checked, haven't verified, haven't measured
		haven't started, haven't looked, haven't been, have not run, have not tested, have not tried, have not checked, have not verified
		has not been tested, hasn't been tested, hasn't run, has not run, not been run, untested, unverified, not tested, not verified, not checked
		does nothing yet, all but, almost done, almost there, almost finished, nearly done, nearly there, nearly finished, close to done
		getting there, good progress, great progress, is incomplete, still incomplete, partly done, partially done, some of them are, half of them
		harder, trickier, is off by, are off by, is off, are off, the others, # more, one more, the rest are, not there yet, not quite`)

	still = phrases(`still fail~, still red, still missing, still open, still to, still need~, still read~, still work~ on, still run~
		still wait~, still broken, still not, still at #, still left, still crash~, still a few, still some, still #, still in progress, still has
		still have, still see~, still looking, still uses, still investigat~, still debug~, still hang~, still flaky, still slow~, still differ~
		still wrong, still empty, still show~, still time~ out, still throw~, still return~ the old, still only, still unclear, still outstanding
		still pending, still on my, still on the`)

	// noneLeft: nothing is open.
	noneLeft = phrases(`no * left, nothing * left, none * left, none left, 0 left, 0 * left, zero * left, no * remain~, nothing remain~
		none remain~, 0 * remain~, no * missing, nothing * missing, nothing missing, none * missing, none missing, 0 missing, no longer missing
		the missing, a missing, was missing, were missing, missing one, remaining * are, remain * pass, no * open, nothing * open, none * open
		nothing * pending, no * pending, nobody * left, no * outstanding, nothing outstanding, nothing to do, left as they are, left as it is
		left alone, left unchanged, not left, are left not, remain~ unchanged, remain~ the same, remain~ as, remain~ in place, remain~ valid
		remain~ available, remain~ compatible, remain~ intact, remain~ on`)

	// doubtful: the agent is not sure of it.
	doubtful = phrases(`should work, should now work, should be fixed, should now be, should be ok, should be fine, should fix, should now
		should be able, should do it, should help, should pass, should load, hopefully, in theory, not sure, unsure, expect it to, should be good
		should be gone, should be working`)

	// tries: the user is asked to try or to judge.
	tries = phrases(`please try, try again, give it a try, try now, please test, please check, please confirm, please verify, please run
		please read, please review, please look, please tell, please let me know which, please let me know what, please have a look, could you
		can you, would you, tell me what, tell me if, tell me which, tell me whether, let me know if it, let me know whether, let me know what
		let me know which, let me know how it, see if it, your call, your choice, up to you, waiting for your, need your, wait for your, i need you
		with your ok, if that's okay, if that is okay, if you agree, when you're ready, which do you, do you want me to go, say the word
		ready when you are, when you are ready, on your go, go ahead from you, your go ahead, try it again, try it now, try it out, try it with
		try it on, have a look, take a look, look at it and, see what you think, what do you think, tell me how`)

	// running: work of the agent's own goes on.
	running = phrases(`running * now, i run * now, still running, running now, now running, is training, training runs, training is
		i've started # agents, i've started * agents, i started * agents, started * subagents, launched * agents, launched * subagents, spawned
		when they are back, when they report, when they return, when they finish, when it is through, when it's through, minutes left, hours left
		wait until it happens, wait for the run, wait for the job, waiting for the run, waiting for the job, waiting for the agents
		waiting for the subagents, waiting for the build, waiting for the tests, waiting for it to, is uploading, is downloading, under way
		is still going, keep an eye, check back, look again, report back, report as soon, running in the background, is running * background
		started * in the background, in the background id, tests are running, job is running, suite is running, training is running
		build is running, is running now, i'm running, i am running, running it now, tests are queued, job is queued, still queued, runs are queued
		background job, agents are running, agents are working, agents are at work, agents are on, subagents are running, subagents are working
		as soon as it is, as soon as they have, as soon as they are, as soon as it has, still in progress, is in progress, are in progress`)

	// red: a check fails.
	red = phrases(`fails, still fails, still failing, is failing, are failing, is red, are red, still red, does not compile, doesn't compile
		doesn't build, does not build, doesn't pass, does not pass, don't pass, do not pass, crashes, is broken, are broken, # failures, # failed
		# failing, # errors, # type errors, breaks, # tests fail, # fail, tests fail, test fails, one fails, build fails, fail with, not green`)
	redElsewhere = phrases(`on main, before, pre existing, preexisting, unrelated, elsewhere, already, as expected, was expected
		expected to, without the fix, without the change, with the old, on purpose, fails fast, fails with a, fails loudly, no longer, not any more
		0 failures, 0 failed, 0 errors, no failures, no errors, zero, nothing fails, none fails, known, baseline, from main, if the, when the
		when a, if a, would, all retried, was broken, used to, for the reason, right reason`)

	// whole: all of it.
	whole = phrases(`all, every, everything, done, finished, completed, complete, completes, last one, last of, the last, that was, both
		each, nothing to change, nothing to do, nothing to fix, nothing needed, no change needed, no changes needed, already so, is already
		are already, no longer, nobody, nothing, none, no references, no reference, no hits, no matches, no hit, not a single, verified, confirmed
		confirms, as asked, as agreed, as requested, as wanted, as you wanted, criterion, criteria, any more, anymore, is gone, are gone, it's green
		green again, works again, finds nothing, worked, it worked, twice, closed, merged, published, shipped, released, is live, are live, proven
		ruled out, the cause, root cause, reproduced, answer is, recommendation, covered, 0, zero, no, is back, are back, restored, rien, tous
		toutes, alles, fertig, erledigt, terminé, hecho, listo, quiet, silent, matches, resolve, resolves`)

	// settled: the goal holds without any work.
	settled = phrases(`nothing to change, nothing to fix, nothing to do here, no change needed, no changes needed, no change is needed
		no changes are needed, already so, is already the case, already does, already do, is already, was already, are already, nothing needs
		no need to change, no action needed`)

	// givenAnswer: the opening of an answer.
	givenAnswer = phrases(`yes, no, because, caused by, the cause, root cause, due to, comes from, it is the, turns out, the reason
		ruled out, refuted, confirmed, proven, not possible, nobody, nothing to change, no hits, no references, recommend~, in short, findings
		the answer, reproduced, is not needed, is already, already so, stored in, defined in, happens in, lives in, is in, are in, blocking comments
		posted, report, result, conclusion, verdict, i would merge, not reproducible, nothing to, none of`)

	// givesUp: the agent ends its attempt.
	givesUp = phrases(`give up, giving up, gave up, given up, out of options, out of ideas, no other lead, no other idea, no further idea
		no idea left, no other way, no more ideas, run out of, ran out of options, ran out of ideas, drop it, drop this, drop the idea, would drop
		i'd drop, should drop, be dropped, abandon~, closing as, closing this, closed as, close this as, close it as, won't fix, wontfix, stop here
		stopping here, i stop, i'm stopping, i am stopping, stopped here, i end here, leave it at that, not pursue, wouldn't pursue, not worth
		no longer pursue, write it off, call it off, calling it off, shelve, shelving, advise against, recommend against, would not do
		not go further, stays as it was, this attempt, attempt failed, has failed, experiment failed, approach fails, failed experiment, i withdraw
		give it up, give this up, give this one up, without a result, without result, admit defeat, pulling the plug, scrap~, no point in
		makes no sense, dead end, regard * as refuted, case closed, won't get further, can't get further, cannot get further, not continue
		won't continue, end of the road, discontinu~, throw~ it away, consider * failed, mark * as failed, without success, unsuccessful, in vain
		to no avail, end the attempt, no result, end of the line, stop looking, stop trying, leave the * as it is, would leave, i'd leave
		i would leave, keep the old, branch deleted, deleted the branch, not continue with, don't recommend, do not recommend, i would not
		i wouldn't`)

	// quits: it gives up in so many words, whatever the goal was.
	quits = phrases(`give it up, give this up, give this one up, give up, giving up, gave up, given up, out of options, out of ideas
		no other lead, no other idea, no further idea, no more ideas, ran out of options, abandon~, won't fix, wontfix, closing as not
		closing this as not, stop here, stopping here, i'm stopping, i am stopping, dead end, end of the road, admit defeat, in vain, to no avail
		without success, hopeless, scrapped, not pursue, end of the line, stop looking, stop trying`)

	// instead: another way is named in place of the goal's.
	instead = phrases(`instead, alternative, alternatives, would give us, rather than, has to be in the, would have to be, only a rewrite
		short of a, would need a, better off, stay with, stick with, stick to, keep the old, keep what we, if you need it, if we need it
		would recommend, i recommend, i'd recommend, my advice, suggest to, i suggest, another approach, a different approach, other approach`)

	// impossible: the goal cannot be reached.
	impossible = phrases(`not doable, said no, for good, will never, cannot be done, can't be done, can not be done, don't think it can
		do not think it can, not possible, isn't possible, impossible, no way to, no way around, no way forward, infeasible, unfeasible
		not feasible, not achievable, unachievable, unattainable, unreachable, out of reach, cannot be reached, can't be reached, cannot succeed
		can't succeed, not going to work, cannot be fixed, can't be fixed, cannot be solved, can't be solved, cannot be recovered
		can't be recovered, unrecoverable, irrecoverable, cannot be met, can't be met, no viable, don't see a way, do not see a way, see no way
		see no other, found no way, no solution, no fix, no workaround, any workaround, could not find any, couldn't find any, refuted, disproved
		disproven, fundamentally impossible, cannot work, can't work, won't work, will not work, nothing short of, no path, can't be made
		cannot be made, not salvageable, beyond repair, can't be had, cannot be had, cannot be achieved, can't be achieved, cannot be avoided
		not reachable, hopeless, pointless, doesn't exist, does not exist, no api, does not offer, doesn't offer, does not expose, doesn't expose
		forbids, cannot reach, can't reach, is not going to, isn't going to, cannot be supported, can't be supported, cannot be built
		can't be built, does not hold, see no way past, no way past, end of the line, cannot exist, can't exist, not to be had, cannot be forced
		no such`)

	// defeated: an attempt did not succeed.
	defeated = phrases(`does not work, doesn't work, didn't work, did not work, no alternative, could not get, couldn't get, can't get
		cannot get, don't get it, do not get it, can't make it, cannot make, could not make, couldn't make, could not reproduce, couldn't reproduce
		not supported, does not support, doesn't support, unsupported, incompatible, no support for, by design, hard limit, none of them
		none of these, none works, none helped, each of them failed, falls short, fall short, makes it slower, makes it worse, no effect
		no improvement, no gain, no benefit, slower than, worse than, fails, failed, is gone for, no backup, no longer exists, has declined
		have declined, declined, can't be reproduced, cannot be reproduced, not reproducible, wrong approach, still differ, cannot, can't
		nowhere near, ruled out by, gets worse, got worse, no better, not better, stays at, for nothing, nothing to show, every variant
		every attempt, all attempts, both attempts, three attempts, could not, couldn't, not enough, too slow, too large, too big, stays above
		stays below, not get below, not get above, files are gone, data is gone, at best, wrong way, no other copy, does not reach, doesn't reach
		did not help, didn't help, out of the question, we should stay, should stay on, best i could, best i can, lowest i, highest i
		makes no difference, made no difference`)

	// undone: the work was taken back.
	undone = phrases(`back at the old, branch is deleted, revert~, rolled back, roll~ back, rollback, restored, put back, backed out, undone
		undid, removed again, removed the branch, deleted the branch, threw away, thrown away, discarded, removed my, back to how it was
		back to the old, as it was, without a change, without any change, no change~ kept, stashed, untouched, taken out again, took it out
		out again, removed the experiment, backed it out, back on the old, back to the previous, put everything back`)

	// outsiders are those who are not in the conversation.
	outsiders = phrases(`she, he, over there, support, change board, team, teams, vendor, vendor's, supplier, provider, provider's, bank
		customer, customer's, client's, admin, admins, administrator, administrators, legal, compliance, security, finance, procurement, purchasing
		accounting, hr, management, committee, officer, officers, owner, owners, maintainer, maintainers, upstream, reviewer, reviewers, codeowners
		approver, approvers, approval, somebody, someone, colleague, colleagues, contractor, partner, partners, hosting company, registrar
		the store, app review, on site, onsite, they have, they must, they will, they need, they say, they speak, they promised, they are, only they
		until they, with them, by them, from them, at their, in their, their admin, their status, status page, department, manager, product owner
		dba, dbas, the lab, manufacturer, carrier, authority, auditor, auditors, release manager, agency, data protection, dpo, designer, designers
		stakeholder~, registry, operator, helpdesk, help desk, their support, their portal, their server, their side, their end, ceo, cto, cfo, boss
		assistant, lawyer, lawyers, data owner, other team, another team`)

	// waits: something outside has to happen first.
	waits = phrases(`tomorrow, on mondays, until, till then, before that, before then, wait~ for, wait~ on, have to wait, has to wait
		must wait, waits, blocked until, blocked on, blocked by, blocked here, blocked for, i'm blocked, i am blocked, we're blocked
		is blocked here, on hold, paused, pausing, parked, stuck on, depends on them, depends on, asked, i've asked, have asked, i requested
		i've requested, have requested, requested their, request with, request is, request to, a request, the request, ticket, filed, escalated
		mailed, e mailed, emailed, wrote to, pinged, promised, announced, scheduled, expected on, expected for, arrives, not arrived, to arrive
		been delivered, be delivered, delivery, no answer, no reply, no response, haven't answered, has not sent, hasn't sent, have not sent
		not sent, must first, has to first, only they, only he, only she, only the, only * can, someone has to, somebody has to, someone must
		somebody must, must activate, must approve, must grant, must be, has to, have to, needs to, needs two, need the, need a, needs an, needs a
		need an, needs approval, requires approval, requires, not been delivered, not released, not been released, not been approved, not approved
		not here yet, not granted, in review, under review, no date, not ours, not up to us, not for us, not * before, nothing * before, without it
		without them, without that, can't go on without, comes back, is back, are back, resets on, resets at, next week, next month, on monday
		on tuesday, on wednesday, on thursday, on friday, working days, on leave, on vacation, on holiday, out of office, till they, before it's
		before it is, before they, opened a case, opened an issue with, opened a ticket, wants a, wants the, only their, once they, as soon as they
		when they, will be back, not back`)

	// stopped: nothing can be done from here.
	stopped = phrases(`must not, parking this, parking it, there is nothing to, nothing more can, nothing more i can, nothing can
		nothing i can, nothing we can, nothing to do, nothing else, nothing further, nothing for us, nothing left for, can't continue
		cannot continue, can't go on, cannot go on, can't proceed, cannot proceed, unable to continue, unable to proceed, no further work
		cannot touch, can't touch, pausing here, i pause, i'm pausing, i leave it at that, leave the frame, leave it, leaving it, stops here
		stop here, that's as far, as far as i can, as far as it goes, all i can do, can't get from here, cannot get from here, from here
		blocked until, blocked on, blocked by, blocked here, i'm blocked, i'm stuck, stuck here, on hold, until then, till then
		no deploy is possible, is not possible until, not on our side, on our side, for now, not allowed, everything is prepared
		everything is ready, everything that can, code is ready, is ready, are prepared, rest has to wait, has to wait, no way for me, i have no
		nothing to test, nothing to try, nothing to measure, nothing to run, scripts are ready, is in place on our, everything else is`)

	// obstacles are what is missing or closed, in the words of people and programs.
	obstacles = phrases(`401, 403, 407, 429, 502, 503, 504, forbidden, unauthorized, unauthorised, accessdenied, unauthorizedoperation
		access denied, permission denied, denied, lacks, lack~ the, no access, no permission, not permitted, not authorized, not authorised, refused
		refuses, rejected, is rejected, are rejected, credentials, credential, client id, client secret, secret from, api key, token from, licence
		license, licenses, licences, seat, seats, quota, quotas, rate limit, monthly limit, budget, outage, is down, are down, maintenance
		unavailable, unreachable host, offline, incident, not connected, not plugged, no device, no such device, not delivered, not been delivered
		hasn't arrived, has not arrived, not shipped, hardware, legal hold, embargo, freeze, code freeze, change window, maintenance window
		approval, approve~, sign off, signed off, nda, consent, review required, decision, decide, not released, not been released, unreleased
		release of, next release, is merged upstream, certificate from, account has to, activate, activation, allow list, allowlist, whitelist
		firewall, vpn, not sent, has not sent, hasn't sent, have not sent, data from, role, rights, permission, permissions, in person, on leave
		on vacation, legal_hold, captcha, two factor, 2fa, mfa, in review, suspended, signature, unreachable, expired, closed for, embargoed
		on order, out of stock, sold out, backorder, no account, not enabled for`)

	// confirmed: the user says that it works.
	confirmed = phrases(`works, it works, that works, works now, works great, perfect, confirmed, in sync, looks good, lgtm, exactly what
		solved, fixed now, all good, great, thanks, thank you`)

	// redOld: a failure was there before.
	redOld = phrases(`pre existing, preexisting, on main last, on main already, already on main, did on main, fail on main, fails on main
		failed before, failed already, failing before, were red before, was red before, nothing to do with, unrelated, from before`)

	// toFindOut begins a goal that is to find something out; foundOut is what the criteria
	// of such a goal ask for.
	toFindOut = phrases(`find out, find the cause, find the reason, find the commit, find why, find where, find which, find the, why
		whether, explain, investigate, review, compare, decide, evaluate, check if, check whether, check that, check the, check our, check for
		make sure nothing, verify that, verify the claim, can we, could we, should we, is it, is the, are there, does, do we, which, what, where
		tell me, look into, understand, analyse, analyze, research, audit, assess, determine, diagnose, reproduce, try whether, try if, measure
		bisect, how many, how much, how does, how do, how, spike, prove, debug why, triage, survey, estimate`)
	foundOut = phrases(`yes or no, cause named, cause found, root cause, with reasons, a recommendation, report, proof, evidence, an answer
		review comments`)
	alsoMending = phrases(`and fix, fix, then fix, and repair, implement, and remove, and replace, find a fix, find a way`)

	// failing are the words of goals that failures are the subject of.
	failing = phrases(`fail~, retry, retries, retrying, dead letter, fallback, error~, poison, abort~, block~, reject~, deny, denied
		circuit breaker, rate limit~, time out, timeout, timeouts, crash~`)

	// wantedRed: a check is to fail.
	wantedRed = phrases(`failing test, test that fails, tests that fail, a test * fails, red test, reproduc~, repro, fails for, must fail
		should fail, hangs`)
)
