package judge

import "strings"

// What a prompt says of its relation to the work at hand. Each is looked for in the words
// of one sentence, in lower case, with single spaces.
var (
	// awayText calls what follows something else; it counts at the start.
	awayText = anyOf(`\b(different|other|another|new) (topic|subject|thing|matter|work|task|story)\b`,
		`\b(unrelated|something else|separately|side (task|quest|note))\b`)

	// apartText asks for a piece of work of its own; it counts anywhere.
	apartText = anyOf(`\b(separate|own) (worker|frame|task|agent|session|piece)\b`,
		`\b(worker|frame|task|agent|piece of work|session) of (its|their) own\b`,
		`\b(let|have|start|use|spawn) (a second|another|a different) (agent|worker|session)\b`,
		`\b(in )?(a |its own |a )?separate (pr|pull request|branch|ticket|issue)\b`, `\bunrelated to\b`)

	// leaveText leaves the work at hand.
	leaveText = anyOf(`^(leave|drop|park|pause|forget|skip|shelve|postpone|stop) (this|that|it|here|the \w+|\w+)$`, `^(stop|pause|hold on|wait)\b.{0,9}$`,
		`^(leave|drop|park|pause|forget|skip|shelve|postpone|stop|put|set|hold on)\b.*\b`+
			`(aside|on hold|for (now|later|(a|the) (moment|minute|second|while|bit))|until .*|later)$`,
		`^switch to something else`, `^(lass|lassen wir) (das|es)\b`, `^laisse(z)? (ça|cela|tomber)\b`, `^deja (eso|esto)\b`)

	// firstText puts something before the rest, or between.
	firstText = anyOf(`^before \w+ `, `\bthat (one )?first\b`, `\b(first|urgent) ?(please|of all)?$`,
		`\bfirst (we|i|you|please|the)\b`, `\bin the meantime\b`, `\bmeanwhile\b`, `\bone more thing\b`,
		`\bwhile ((you|we)('re| are) )?(at it|there|in there)\b`)

	// beforeText puts what is asked for in the same sentence before the rest.
	beforeText = anyOf(`\bbefore (that|this|it|we|you|the)\b`)

	// asideText begins what the user has only just thought of.
	asideText = anyOf(`\b(by the way|btw|on another note|speaking of)\b`)

	// ticketText takes up a ticket.
	ticketText = anyOf(`\bnext (up is |is )?(the )?(ticket|issue|pr|pull request|bug|task|story|item|one in)\b`,
		`\b(take|pick|start|do|left)\b.{0,30}\b[a-z]{2,9} \d+\b`, `\b[a-z]{2,9} \d+ next\b`, `^(now|next|then|ok now|up next) [a-z]{2,9} \d+\b`,
		`\b(nächste[sr]?|ticket suivant|prochain|prochaine|siguiente|prossimo) (ticket|aufgabe|issue|punkt|tâche|tarea|ticket)\b`,
		`\b(on|over|continue|proceed|moving) (to|with) (the )?([a-z]{2,9} \d+|next (one|ticket|issue|task|story))\b`)

	// urgentText says that something cannot wait.
	urgentText = anyOf(`\b(urgent|urgently|hotfix|asap|production is down|prod is down|within the hour|all hands|dringend)\b`,
		`\bby (noon|tomorrow|tonight|monday|friday)\b`, `\binc \d+`)

	// closedText says that the former is done.
	closedText = anyOf(`\b(merged|that closes|closes [a-z]+ \d+|shipped?( it)?|good enough|confirmed|settled|finished|all good)\b`,
		`\b(we're|we are|i'm|that's|that is) (done|in|it)\b`, `\bdone (here|with)\b`, `\bfiled\b`, `\benough (of )?\w+$`, `\bwill do$`,
		`^\w+ it is( then)?$`, `\bsettles it\b`)

	// goOnText begins what goes on with the work at hand.
	goOnText = anyOf(`^(go on|go ahead|continue|proceed|carry on|keep (going|on)|resume|weiter|yes|yep|yeah|ja|oui|sí|si|finish)\b`)

	// overText goes over to what comes next.
	overText = anyOf(`^(on|over) to\b`, `\bmov(e|ing) on (to|with)\b`, `^up next\b`, `^let's (tackle|turn to|move to)\b`, `^(als nächstes|ensuite)\b`)

	// wantText says that somebody wants a thing that is not there yet.
	wantText = anyOf(`\b(i|we|they|you)( \w+)? (need|want) an? `, `\b(wants|asked for|asks for) an? `, `\b(i|we|they)('d| would)( \w+)? like (to have )?an? `,
		`\b(thinking|thought) (of|about) an? `, `\b(nice|great|good) to have an? `, `\bpromised (\w+ ){0,3}an? `,
		`\b(brauche|brauchen|bräuchte|bräuchten|möchte|möchten)( \S+)? eine?n? `,
		`\bil (nous |me )?(faut|faudrait) une? `, `\b(quiero|queremos|necesito|necesitamos) una? `, `\b(vorrei|vorremmo) una? `)

	// suggestText suggests something in the form of a question.
	suggestText = anyOf(`^(what|how) about (adding|building|having|making|moving|using|writing|an?)\b`, `^why don't (we|you)\b`,
		`^(is|would) it (be )?(possible|hard|difficult|much work) to\b`)

	// causeText asks for a cause.
	causeText = anyOf(`\b(why|cause|causes|warum|wieso|woran|ursache|pourquoi|por qué|perché)\b`)

	// planText points to what was planned without a name of it.
	planText = anyOf(`\b(what|as|whatever) (we|you|was|is|i)( \w+)? (planned|agreed)\b`, `\bnext (planned|on the plan)\b`,
		`\b(planned|agreed) (next|after|child|step|part|task|item|thing|one|piece|feature)\b`)

	// favourText asks somebody to do something.
	favourText = anyOf(`\b(can|could|would|will) (you|somebody|someone|another agent)\b`, `\blet('s| us)\b`,
		`\bi('d| would) like you to\b`, `\b(kannst|könntest|würdest) du\b`,
		`\b(können|könnten) sie\b`, `\b(peux|pourrais) tu\b`, `\b(pouvez|pourriez) vous\b`, `\bpuedes\b`, `\bpodrías\b`)

	// shouldText says what somebody is to be able to do.
	shouldText = anyOf(`\b(should|must) be able to\b`)

	// pleaseText begins what is asked for politely.
	pleaseText = anyOf(`^(please|plz|pls|bitte|por favor|per favore) \S+ \S+ \S+ \S+`)

	// filesText asks for what is done with finished work.
	filesText = anyOf(`\b(commit|squash|rebase|cherry pick|(create|open|make|raise|draft) (a |the )?(pr|pull request|merge request|mr|branch|tag))\b`)

	// newText begins a piece of work with several words.
	newText = anyOf(`^find (out|all|where|why)\b`, `^look(ing)? (into|why)\b`, `^go through\b`,
		`^have (somebody|someone)\b`, `^set up\b`, `^(dig|put|come|track|figure|work|spin|roll) (through|into|together|up with|down|out|up)\b`,
		`^get .*\b(deployed|published|released)\b`,
		`^(do|make|give|write|build) (me |us |the team )?an? (full|small|short|simple|list|complete|new)\b`)
)

// leadText are words with which a sentence begins before it says what it is about. Unlike
// the others it is looked for in the sentence as it was written.
var leadText = anyOf(`(?i)^((` + strings.Join([]string{
	`in the meantime`, `meanwhile`, `while you('re| are) at it`, `before (that|this|we go on|going on)`, `one more thing`,
	`(other|another|different|new|next) (thing|topic|subject|matter|work|task|question)( now)?`, `separately`, `unrelated`, `side task`,
	`first( of all)?`, `(now )?(as )?(a |an |its |the )?(next|own|separate|second) (thing|piece of work|step)?`,
	`als nächstes`, `while (at it|there)`, `by the way`, `btw`, `after that`, `now that (this|that|it) works`, `(we|you|i) (have|need|ought) to`,
}, "|") + `)[\s,:–—-]+)+`)

var (
	// logLine is a line that a program wrote.
	logLine = expressionOf(`^\s*(` + strings.Join([]string{
		`\d{4}-\d\d-\d\dT`, `\d\d:\d\d:\d\d`, `at \S+ ?\(`, `File ".*", line`, `goroutine \d`, `panic:`, `Traceback`, `=> ERROR`, `[Ee]rror:`,
		`(ERROR|WARN|FATAL|FAIL|FAILED)\b`, `--- FAIL`, `npm ERR`, `\w*(Error|Exception):`, `ERR_\w+`, `ld: `, `clang: `, `= note:`, `\[!\]`,
		`\S+\.\w+:\d+`, `[$+>] `, `\t\S`,
	}, "|") + `)`)

	// nextText ends what comes next.
	nextText = expressionOf(`(?i)\S \S.* next\s*(:|,|please|$)`)

	// ticketTitle begins with the name of a ticket, and says what it is about.
	ticketTitle = expressionOf(`^\W*([A-Z]{2,9}-\d+|#\d+)( (then|now|next|please))?\s*[:,–—-]\s`)

	// subordinate is a clause before the one that may ask for something.
	subordinate = expressionOf(`(?im)((?:^|[.!?] )` +
		`(?:given|since|now that|as|if|because|once|seeing|considering|wenn|falls|da|nachdem) [^,.!?\n]{3,100}), `)

	// verbComma ends a clause before one that asks for a piece of work.
	verbComma = expressionOf(`(?i), (?:so |then |now )?` +
		`((?:build|write|implement|create|rewrite|investigate|deploy|publish|generate|migrate|prepare|set up) \S+ \S+)`)

	// titleEnd ends a title.
	titleEnd = expressionOf(`:\s|!!+\s`)

	// ticketName is the name of a ticket.
	ticketName = expressionOf(`\b[a-zA-Z]{2,9}-\d+\b|#\d+`)

	// leaveComma ends the words that leave something, where more follows in the sentence.
	leaveComma = expressionOf(`(?i)((^|[.!] |, )(leave|drop|park|pause|forget|shelve|postpone|stop) ` +
		`(about )?(this|that|it|here|the \w+)( for (a|the) \w+)?), `)

	// clauseComma is before words that ask for something in the middle of a sentence.
	clauseComma = expressionOf(`(?i), (?:and |so )?(please|plz|can you|could you|look into|find out|check|investigate|debug|bitte|kannst du) `)

	// sentenceEnd ends a sentence.
	sentenceEnd = expressionOf(`[.!?…。！？]+(\s+|$)|\n+|;\s|\s[-–—]\s`)
)
