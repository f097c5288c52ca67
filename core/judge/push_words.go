package judge

// Small lists of words, each with a role. They are of English, a few of them of other
// languages: what is said in another one counts for little, so that nothing is suggested.

// asking words begin a question.
var asking = wordSet(`
	why what what's how where who whose when which warum wieso was wie wo wer wann
	welche pourquoi comment où quand combien qué cómo dónde cuándo por`)

// wondering words begin a question if it ends as one.
var wondering = wordSet(`is are was were do does did has have isn't doesn't don't should shall may might any ist sind hat haben est a-t-on`)

// beforeVerb are words after which a verb may ask for something.
var beforeVerb = wordSet(`please bitte and you let's lets i'd i`)

// closing words say that what was done is well; a prompt often begins with them.
var closing = wordSet(`
	ok okay good great fine nice perfect cool super thanks thank thx you very much well done works work yes yep yeah sure alright
	right excellent awesome lovely wonderful splendid brilliant merged confirmed green ship it shipped love feels looks so far enough
	very gut prima passt danke klasse
	sehr schön schick toll läuft klappt genial génial listo très parfait merci bien bueno perfecto gracias vale ottimo grazie perfetto obrigado`)

// overWords lead over to what comes next.
var overWords = wordSet(`
	next now then afterwards later jetzt nun dann danach anschließend nächstes ensuite maintenant puis ahora luego después adesso poi
	agora depois`)

// fillers come before what is asked for and say nothing of it.
var fillers = wordSet(`
	please plz pls and so just also quickly could can would will you i'd like let's lets us kindly maybe perhaps then now next first
	bitte als to me for we should`)

// newWork are verbs that begin a piece of work of its own.
var newWork = wordSet(`
	build implement create write deploy publish review investigate debug profile draft prepare document design develop setup
	introduce integrate install configure generate plan migrate port convert estimate analyse analyze audit research benchmark
	evaluate restore start begin train translate wrap organise organize onboard provision monitor prototype scaffold draw sketch
	reimplement automate containerise containerize dockerise dockerize localise localize simulate bootstrap`)

// makingWork are those of them that make something; only what follows says the kind.
var makingWork = wordSet(`write create generate introduce automate bootstrap scaffold prototype sketch`)

// someWork are verbs of which one cannot say.
var someWork = wordSet(someVerbs)

const someVerbs = `
	add make set do fix find get look check change extend support update upgrade connect hook give take help load import export run
	collect have improve speed reduce optimise optimize refactor rewrite replace send switch enable allow test verify
	rename split clean extract remove apply tune patch rotate renew measure repair merge tidy shrink harden`

// plainWork has the stems of verbs that say nothing of what a text is about.
var plainWork = stemSet(`write create build implement prepare generate introduce set setup start begin draft move remove delete keep put ` + someVerbs)

// wanting words ask for something by saying that it is wanted.
var wanting = wordSet(`
	need needs want wants wanted wishes asked asks requires brauche brauchen bräuchte bräuchten benötige benötigen j'aimerais möchte
	möchten voudrais voudrions aimerais aimerions faudrait besoin quiero queremos necesito necesitamos vorrei vorremmo quero queremos
	precisamos`)

// smallWork are verbs of what is a part of any kind of work.
var smallWork = wordSet(`add set change support`)

// definite words are before what is there already.
var definite = wordSet(`the its his her their those these this that my your our den die das diese diesen les la le los el`)

// detailWords are of parts that any work has, and of how they are to be.
var detailWords = wordSet(`
	button buttons dialog font fonts colour color colours colors corner corners column columns timeout timeouts label labels title
	tooltip tooltips icon icons padding margin width height size sizes top bottom cell header footer heading
	parameter argument default defaults helper comment comments wording spacing indentation brackets variable
	bigger smaller larger longer shorter wider darker lighter bolder rounder there
	größer kleiner breiter höher dunkler heller knopf farbe schrift spalte`)

// comparing words after "a" say that something which is there is to be otherwise.
var comparing = wordSet(`bigger smaller larger better higher lower longer shorter faster slower wider darker lighter bit little few different`)

// defectWords tell of a fault.
var defectWords = wordSet(`
	still error errors fails failed failing fail broken breaks broke crash crashes crashed crashing wrong doesn't don't isn't can't
	cannot missing stale lost empty null undefined exception panic warning warnings stuck hangs hang overlap overlaps flickers
	stutters jumps jitters cut shows prints ignores bug leaks twice nothing forgot kaputt falsch fehlt`)

// tellingWords are in what tells of something, and in no title.
var tellingWords = wordSet(`
	is are was were has have had i i'm we you he she they tried tested found looked see saw says said shows thing things works happens
	two three four five ist sind war hat ich wir es est sont`)

// joining words at the start add what follows to what was said.
var joining = wordSet(`
	and also but or with without only no not don't nope both same too instead even because since still better worse und auch aber nur
	nicht et aussi mais pas y también pero no`)

// puttingOff words say that something is not to be done now.
var puttingOff = wordSet(`not don't never no later yet skip wait nicht später pas plus tard`)

// pointing words stand for what was said before.
var pointing = wordSet(`your it its it's that that's them those these they this there ones same`)

// everyday words are those of any project; that one is shared says little.
var everyday = stemSet(`
	api app application code data file files test tests user users page pages error errors build table list service server client
	script name names team project repo repository branch system version change changes case cases field value values feature issue
	problem model customer customers admin web site product request response number line lines log logs job jobs text link
	links button run start use add fix write support check create implement set update`)

// stemSet makes a set of the stems of the words of a text.
func stemSet(text string) *words { return &words{text: text, as: stemOf} }

// weightOf adds up what the stems tell of what a text is about.
func weightOf(stems []string) (sum float64) {
	for _, stem := range stems {
		if everyday.has(stem) {
			sum += 0.4
		} else {
			sum++
		}
	}
	return sum
}
