// Talking to the server: the token, questions, actions, and the stream of changes.

const kept = "flame token";

let known = null; // the server's address and secret, as it told them itself
let sure = true; // it is the server that the page came from, or has proved to be the same

// takeToken moves the token from the address to the tab's own storage, where it does not
// show and is not sent by itself.
export function takeToken(state) {
  const given = state.get("t");
  if (!given) return;
  keep(given);
  state.delete("t");
  history.replaceState(null, "", "#" + state);
}

// keepToken takes a token that a person pasted, by itself or in an address.
export function keepToken(text) {
  const at = text.indexOf("#t=");
  keep(at < 0 ? text.trim() : new URLSearchParams(text.slice(at + 1).trim()).get("t"));
}

// keep keeps a token. A person who gives one means the server that is there now, whichever
// the page knew before.
function keep(token) {
  sessionStorage.setItem(kept, token);
  known = null;
  sure = true;
}

// hasToken reports whether there is one.
export function hasToken() { return Boolean(sessionStorage.getItem(kept)); }

// meet keeps what a server told of itself.
export function meet(line) {
  if (line.secret) known = { addr: line.addr, secret: line.secret };
}

// lose notes that the connection is lost: whoever listens there next may be another
// program, and the token is not told before it has proved to be the same server.
export function lose() { sure = !known; }

// isSame asks the server to prove that it is the one that the page knows. Where the browser
// has no means to check that, on a page that did not come safely, it is believed.
export async function isSame(signal) {
  return (sure = sure || !crypto.subtle || (await proves(signal)));
}

// proves reports whether the server that answers now knows the secret of the one that the page knows.
async function proves(signal) {
  const challenge = hex(crypto.getRandomValues(new Uint8Array(24)));
  const answer = await fetch("hello?challenge=" + challenge, { signal, cache: "no-store" });
  const told = await answer.json();
  const bytes = (text) => new TextEncoder().encode(text);
  const key = await crypto.subtle.importKey("raw", bytes(known.secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const proof = await crypto.subtle.sign("HMAC", key, bytes(`flame\n${known.addr}\n${challenge}`));
  return told.proof === hex(new Uint8Array(proof));
}

function hex(bytes) { return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join(""); }

// stillSame has the server prove itself again: it may have ended a moment ago, before the stream
// has, and another program may have its port.
async function stillSame(signal) {
  if (sure && known && crypto.subtle) sure = await proves(signal);
}

function headers() {
  if (!sure) throw new Trouble({ kind: "unavailable", message: "the server is gone" }, 0);
  return { Authorization: "Bearer " + sessionStorage.getItem(kept) };
}

// Trouble is what the server says is wrong.
class Trouble extends Error {
  constructor(told, status) {
    super(told.message);
    this.hint = told.hint;
    this.kind = told.kind;
    this.status = status;
  }
}

async function read(answer) {
  const text = await answer.text();
  let told;
  try {
    told = JSON.parse(text);
  } catch {
    told = { trouble: { kind: "error", message: text.trim() || "the server answered " + answer.status } };
  }
  if (!answer.ok) throw new Trouble(told.trouble || { kind: "error", message: text }, answer.status);
  return told;
}

const patience = { ask: 30000, log: 180000, act: 300000, first: 45000, line: 15000 }; // ms that the server may take

// send sends a request with the token, and does not wait for its answer for ever.
async function send(path, options, most) {
  try {
    const signal = AbortSignal.any([AbortSignal.timeout(most), options.signal].filter(Boolean));
    await stillSame(signal);
    const all = { ...headers(), ...options.headers };
    return await read(await fetch("api/" + path, { ...options, headers: all, signal, cache: "no-store" }));
  } catch (trouble) {
    if (trouble.name !== "TimeoutError") throw trouble;
    throw new Trouble({ kind: "unavailable", message: "the server does not answer", hint: "see whether flame web still runs" }, 0);
  }
}

// ask asks the server for something, until a signal says that the answer is not wanted.
export async function ask(path, query = {}, signal = null) {
  const search = new URLSearchParams(query).toString();
  return send(path + (search ? "?" + search : ""), { signal }, /\/(log|round|part)$/.test(path) ? patience.log : patience.ask); // a log may have hundreds of MB
}

// act has the server do something.
export async function act(path, body) {
  return send(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }, patience.act);
}

// follow calls take with each line of a stream, and ends with it. It also ends if nothing
// comes any more, and while the page cannot be seen: a browser has few connections for all
// pages of a server.
export async function follow(path, signal, take) {
  const own = new AbortController();
  const stop = () => own.abort();
  const hide = () => { if (document.hidden) stop(); };
  let timer = 0;
  const wait = (most) => { clearTimeout(timer); timer = setTimeout(stop, most); };
  signal.addEventListener("abort", stop);
  document.addEventListener("visibilitychange", hide);
  if (signal.aborted) stop();
  try {
    wait(patience.first);
    const answer = await fetch("api/" + path, { headers: headers(), signal: own.signal, cache: "no-store" });
    if (!answer.ok) return await read(answer);
    await lines(answer, () => wait(patience.line), take);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    document.removeEventListener("visibilitychange", hide);
  }
}

// lines calls came with each piece of an answer, and take with each line of it.
async function lines(answer, came, take) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    came();
    const pieces = value.split("\n");
    for (let i = 0; i < pieces.length - 1; i++) {
      parts.push(pieces[i]);
      take(JSON.parse(parts.join("")));
      parts = [];
    }
    parts.push(pieces[pieces.length - 1]);
  }
}

// seen waits until the page can be seen.
export async function seen() {
  while (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
}
