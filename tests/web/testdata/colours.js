// Measures the page's colours, and returns those that are too much alike: to a person who sees
// all colours, and to people without the cones for red, green or blue (Machado and others, 2009).
(() => {
  const style = getComputedStyle(document.documentElement);
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const colour = (name) => {
    const text = style.getPropertyValue(name).trim();
    return [1, 3, 5].map((i) => linear(parseInt(text.slice(i, i + 2), 16) / 255));
  };
  const luminance = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const contrast = (x, y) => {
    const [dark, light] = [luminance(x), luminance(y)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const eyes = {
    all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
  };
  const seen = (eye, c) => eye.map((row) => Math.min(1, Math.max(0, row[0] * c[0] + row[1] * c[1] + row[2] * c[2])));
  const oklab = ([r, g, b]) => {
    const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
  };
  const broken = [];
  const fills = ["--b-done", "--b-open", "--b-live", "--b-fail"];
  for (const [who, eye] of Object.entries(eyes)) {
    fills.forEach((x, i) => fills.slice(0, i).forEach((y) => {
      const [a, b] = [oklab(seen(eye, colour(x))), oklab(seen(eye, colour(y)))];
      const apart = Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
      if (apart < 0.06) broken.push(`${who}: ${x} and ${y} are ${apart.toFixed(3)} apart`);
    }));
  }
  const texts = { "--text": ["--bg", "--pane", "--sel", "--sunk"], "--soft": ["--bg", "--sel", "--hover"], "--mute": ["--bg", "--pane", "--sel", "--sunk", "--hover"], "--accent": ["--bg", "--pane", "--sel"],
    "--done": ["--pane"], "--live": ["--pane"], "--need": ["--pane"], "--fail": ["--pane"], "--plan": ["--bg"], "--add-t": ["--add"], "--del-t": ["--del"], "--button-t": ["--button"],
    "--b-done-t": ["--b-done"], "--b-open-t": ["--b-open"], "--b-live-t": ["--b-live"], "--b-fail-t": ["--b-fail"], "--b-need-t": ["--b-need", "--b-need-s"], "--b-void-t": ["--b-void"] };
  for (const [text, backs] of Object.entries(texts)) {
    for (const back of backs) if (contrast(colour(text), colour(back)) < 4.5) broken.push(`${text} on ${back}: ${contrast(colour(text), colour(back)).toFixed(2)}`);
  }
  return broken;
})()
