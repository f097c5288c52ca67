// Checks web/page/filter.js by tables, and returns the rows that fail.
(async () => {
  const { filterOf, matcher, wrongsOf, offersOf } = await import("./filter.js");
  const { viewOf } = await import("./address.js");
  const hour = 3600000;
  const now = new Date(2026, 10, 24, 18).getTime();
  const frames = [
    { id: "a", goal: "x", status: "failed", agent: "tester", host: "claude-code", until: now - 0.5 * hour, total: { costUSD: 2, tokensIn: 5000 } },
    { id: "b", goal: "x", status: "completed", agent: "code reviewer", host: "opencode", until: now - 30 * hour, total: { costUSD: 0.1, tokensIn: 2e6 } },
    { id: "c", goal: "x", status: "blocked", host: "opencode", machine: "attic", until: now - 3 * hour, total: {} },
    { id: "d", goal: "x", status: "in_progress", agent: "__proto__", host: "claude-code", until: 0, total: { costUSD: 12 } },
  ];
  const model = { version: 1, read: true, frames: new Map(frames.map((f) => [f.id, f])), now: () => now };
  const broken = [];
  const is = (got, want, what) => { if (JSON.stringify(got) !== JSON.stringify(want)) broken.push(`${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(want)}`); };
  const ids = (q) => frames.filter(matcher({ q }, model, null)).map((f) => f.id).join("");

  for (const [q, want] of Object.entries({
    "": "abcd", "status:failed": "a", "status:failed,blocked": "ac", "-status:failed": "bcd", "Status:failed": "a", "agent:tester": "a", 'agent:"code reviewer"': "b",
    'agent:"code reviewer",tester': "ab", "host:opencode status:blocked": "c", "machine:attic": "c", "since:2h": "ad", "since:2d": "abcd", "-since:2h": "bc",
    "since:2026-11-24": "acd", "cost:>1": "ad", "cost:<$0.5": "bc", "tokens:>1m": "b", "tokens:>1K tokens:<10k": "a", "agent:__proto__": "d", "agent:constructor": "",
    "status:": "abcd", "status:nonsense": "abcd", "cost:1": "abcd", "since:never": "abcd", "nokey:x": "abcd", 'status:"failed': "a", "constructor:x": "abcd", "agent:": "abcd",
  })) is(ids(q), want, q);

  for (const [q, want] of Object.entries({
    "ladder": "ladder", "two  words": "two words", "status:failed ladder agent:x pears": "ladder pears", '"status:failed"': "status:failed", "https://example.org/x": "https://example.org/x",
    "a: b": "b", "-word": "-word", "🍎:x y": "🍎:x y", "שלום status:failed": "שלום", '"': "",
  })) is(filterOf(q).words, want, "the words of " + q);

  for (const [q, part] of Object.entries({
    "status:fialed": "There is no status “fialed”. Did you mean failed?", "stauts:failed": "There is no “stauts:”", "agent:teser": "No frame here has the agent “teser”. Did you mean tester?", "since:soon": "“soon” is no time",
    "cost:much": "“much” is no bound", "agent:tester,nobody": "“nobody”", "constructor:x": "There is no “constructor:”",
  })) is(wrongsOf(q, model).length === 1 && wrongsOf(q, model)[0].includes(part), true, `what is wrong with ${q} (${wrongsOf(q, model)})`);
  is(wrongsOf("status:fai", model, 10), [], "a value that may become right");
  is(wrongsOf("status:fialed", model, 13).length, 1, "a value that cannot become right, while a person types there");
  is(wrongsOf("status:fai", model).length, 1, "the same after Enter");
  is(wrongsOf("status:fialed,comp", model, 18).length, 1, "the value before");
  is(wrongsOf("agent:te", model, 8).concat(wrongsOf("since:2", model, 7), wrongsOf("cost:>0.", model, 8)), [], "others that may");
  is(wrongsOf("since:soon", model, 10).length, 1, "and one that may not");
  is(wrongsOf("status:failed agent:tester since:2h cost:>1 words", model), [], "a good filter");

  const offers = (text) => offersOf(text, text.length, model).list.map((o) => o.whole);
  is(offers("st"), ["status:"], "offers for st");
  is(offers("fai"), ["status:failed"], "offers for a value without its key");
  is(offers("status:fa"), ["status:failed"], "offers for a value");
  is(offers("agent:code"), ['agent:"code reviewer"'], "offers with a space");
  is(offers("status:failed,bl"), ["status:failed,blocked"], "offers after a comma");
  is(offers("-st"), ["-status:"], "offers for what is not wanted");
  is(offers("status:failed"), [], "offers for a whole term");
  is(offers("nokey:"), [], "offers for a key that is none");
  is(offers("words ").length, 7, "offers after a space");
  is(offersOf("status:fa agent:tester", 9, model), { from: 0, until: 9, list: offersOf("status:fa", 9, model).list }, "offers in the middle");

  const said = [{ id: "x", goal: "Pick the Apples" }, { id: "y", goal: "Pears" }];
  is(said.filter(matcher({ q: "apples pick" }, model, null)).map((f) => f.id), ["x"], "words in goals, before the server answers");
  is(said.filter(matcher({ q: "apples" }, model, new Set(["y"]))).map((f) => f.id), ["x", "y"], "and what it found");
  for (const [hash, want] of Object.entries({
    "#q=ladder&status=failed,blocked&since=hour": "ladder status:failed,blocked since:1h", "#agent=code%20reviewer": 'agent:"code reviewer"', "#host=opencode&since=week": "host:opencode since:7d",
    "#q=status:failed": "status:failed", "#since=constructor": "since:constructor",
  })) is(viewOf(hash).q, want, "the address " + hash);

  // Any text is a filter: no part is lost, none overlaps, and it takes no time.
  let seed = 1;
  const random = (n) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;
  const bits = ["status:", "failed", ",", '"', " ", "-", "agent:", "x", ":", "//", "é", "👩‍👧", "‮", "\0", "since:2h", ">", "cost:>"];
  for (let i = 0; i < 3000; i++) {
    const text = Array.from({ length: random(12) }, () => bits[random(bits.length)]).join("");
    let at = 0;
    for (const part of filterOf(text).parts) {
      is(text.slice(at, part.from).trim() + text.slice(part.from, part.until), part.whole, "a part of " + text);
      at = part.until;
    }
    ids(text);
    wrongsOf(text, model, random(9));
    for (const o of offersOf(text, random(text.length + 1), model).list) if (!o.whole) broken.push("an empty offer for " + text);
  }
  let fastest = Infinity; // during one the machine may stand still
  for (let i = 0; i < 3; i++) {
    const begun = performance.now();
    filterOf('"'.repeat(1999) + "status:".repeat(100) + ",".repeat(2000));
    fastest = Math.min(fastest, performance.now() - begun);
  }
  if (fastest > 500) broken.push("a long text takes " + fastest + " ms");
  return broken.slice(0, 20);
})()
