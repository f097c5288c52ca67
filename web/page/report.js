// A report: a project as it was at one moment, with all that is asked about it in the page.

// inlined returns the report that the page holds, if it is one.
export function inlined() {
  const el = document.getElementById("report");
  return el && JSON.parse(el.textContent);
}

// answer answers what is asked of a server otherwise.
export async function answer(report, path, query) {
  if (path === "search") return { ids: found(report, query.q), all: true };
  if (path === "frame" && report.texts[query.id]) return report.texts[query.id];
  throw new Error("The report does not tell this.");
}

// found returns the ids of the frames that have all words of a text.
function found(report, text) {
  const words = text.toLowerCase().split(/\s+/);
  return Object.values(report.texts).filter((f) => {
    const said = [f.goal, f.summary, f.results, f.decisions, f.artifacts, f.successCriteria].flat().filter(Boolean).join("\n").toLowerCase();
    return words.every((word) => said.includes(word));
  }).map((f) => f.id);
}
