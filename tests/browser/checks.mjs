// The judgements of the browser test, without a browser: counting, and comparing numbers. checks.test.mjs shows that
// each of them can fail.

// Counts checks and prints one line for each; a failed check does not stop the run, so one run shows everything.
export class Tally {
  passed = 0;
  failed = 0;
  failures = [];

  // `problem` is null when all is well, else what is wrong; `detail` is printed in both cases.
  check(name, problem, detail = "") {
    if (problem === null) {
      this.passed += 1;
      console.log(`ok    ${name}${detail ? ` (${detail})` : ""}`);
    } else {
      this.failed += 1;
      this.failures.push(name);
      console.log(`FAIL  ${name}: ${problem}${detail ? ` (${detail})` : ""}`);
    }
  }

  summary() {
    return `browser: ${this.passed} passed, ${this.failed} failed`;
  }
}

// Null if `actual` equals `expected`.
export function equal(actual, expected) {
  return actual === expected ? null : `got ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`;
}

// Null if `value` is a number and at most `limit`. Written so that NaN fails.
export function atMost(value, limit) {
  return typeof value === "number" && value <= limit ? null : `got ${value}, at most ${limit} is allowed`;
}

// Null if `value` is a number and at least `limit`. Written so that NaN fails.
export function atLeast(value, limit) {
  return typeof value === "number" && value >= limit ? null : `got ${value}, at least ${limit} is expected`;
}

// Null if `text` contains every word, upper and lower case alike.
export function mentions(text, words) {
  const missing = words.filter((word) => !text.toLowerCase().includes(word.toLowerCase()));
  return missing.length === 0 ? null : `${JSON.stringify(missing)} not in ${JSON.stringify(text.slice(0, 300))}`;
}

// Turns a curve, as numbers (one per step, from 0) or as [step, loss] pairs, into a map from step to loss.
export function curve(losses) {
  if (!Array.isArray(losses)) throw new TypeError(`a loss curve must be an array, got ${JSON.stringify(losses)}`);
  return new Map(losses.map((entry, index) => (Array.isArray(entry) ? [entry[0], entry[1]] : [index, entry])));
}

// Null if there are at least `nSteps` losses, all finite, and the mean of the last fifth lies clearly below that of the first.
export function learns(losses, nSteps) {
  const values = [...curve(losses).values()];
  if (!(values.length >= nSteps)) return `${values.length} losses, expected at least ${nSteps}`;
  const odd = values.findIndex((loss) => !(typeof loss === "number" && Number.isFinite(loss)));
  if (odd >= 0) return `loss number ${odd} is ${values[odd]}`;
  const n = Math.max(1, Math.floor(values.length / 5));
  const mean = (part) => part.reduce((sum, loss) => sum + loss, 0) / part.length;
  const [first, last] = [mean(values.slice(0, n)), mean(values.slice(-n))];
  return last < 0.95 * first ? null : `the loss does not fall: mean ${first} at the start, ${last} at the end`;
}

// Compares two curves step by step. Returns { problem, worst, n } with the largest relative difference met.
export function curvesAgree(actual, expected, tolerance, nSteps) {
  const [ours, theirs] = [curve(actual), curve(expected)];
  const steps = [...theirs.keys()].filter((step) => ours.has(step));
  const result = { problem: null, worst: 0, n: steps.length };
  if (!(steps.length >= nSteps)) {
    result.problem = `only ${steps.length} steps in common, expected at least ${nSteps}`;
    return result;
  }
  for (const step of steps) {
    const [a, b] = [ours.get(step), theirs.get(step)];
    const difference = Math.abs(a - b) / Math.abs(b);
    if (!(difference <= tolerance)) {
      result.problem ??= `step ${step}: ${a} here, ${b} there, relative difference ${difference}, allowed ${tolerance}`;
    }
    // Math.max keeps a NaN once it is in, so a broken comparison cannot print a small number.
    result.worst = Math.max(result.worst, difference);
  }
  return result;
}
