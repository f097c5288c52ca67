// Texts line by line, side by side. Pure.

// aligned returns the lines of texts, so that what two have in common stands side by side:
// {text, differs}; a text of null is room for lines that only the other one has.
export function aligned(texts) {
  const all = texts.map((text) => text.replace(/\n$/u, "").split("\n"));
  if (all.length !== 2) return all.map((lines, i) => lines.map((text) => ({ text, differs: !all.every((other, j) => i === j || other.includes(text)) })));
  const [a, b] = all;
  const same = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1)); // lines in common from there on
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) same[i][j] = a[i] === b[j] ? same[i + 1][j + 1] + 1 : Math.max(same[i + 1][j], same[i][j + 1]);
  const [left, right] = [[], []];
  const even = () => { while (left.length !== right.length) (left.length < right.length ? left : right).push({ text: null }); };
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      even();
      left.push({ text: a[i++], differs: false });
      right.push({ text: b[j++], differs: false });
    } else if (j >= b.length || (i < a.length && same[i + 1][j] >= same[i][j + 1])) left.push({ text: a[i++], differs: true });
    else right.push({ text: b[j++], differs: true });
  }
  even();
  return [left, right];
}
