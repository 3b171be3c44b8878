// Every judgement of checks.mjs with a case it must pass and cases it must refuse. `node --test checks.test.mjs`.
import assert from "node:assert/strict";
import test from "node:test";
import { Tally, atLeast, atMost, curvesAgree, equal, learns, mentions } from "./checks.mjs";

test("a limit refuses what exceeds it, NaN and what is no number", () => {
  assert.equal(atMost(100, 100), null);
  for (const bad of [100.1, NaN, undefined, null, "5"]) assert.notEqual(atMost(bad, 100), null);
  assert.equal(atLeast(3, 3), null);
  for (const bad of [2, NaN, undefined, null, "5"]) assert.notEqual(atLeast(bad, 3), null);
});

test("equality is exact and typed", () => {
  assert.equal(equal(4096, 4096), null);
  for (const bad of [4095, "4096", null, NaN]) assert.notEqual(equal(bad, 4096), null);
});

test("a text must hold every word", () => {
  assert.equal(mentions("No WebGPU: CPU engine", ["webgpu", "CPU"]), null);
  assert.notEqual(mentions("No WebGPU", ["webgpu", "CPU"]), null);
  assert.notEqual(mentions("", ["x"]), null);
});

test("a curve that does not fall, has a hole or is short does not count as learning", () => {
  const falling = Array.from({ length: 50 }, (_, i) => 2.3 * 0.97 ** i);
  assert.equal(learns(falling, 50), null);
  assert.equal(learns(falling.map((loss, i) => [i, loss]), 50), null);
  assert.notEqual(learns(falling, 51), null);
  assert.notEqual(learns(Array(50).fill(2.3), 50), null);
  assert.notEqual(learns([...falling].reverse(), 50), null);
  for (const bad of [NaN, Infinity, null]) assert.notEqual(learns(falling.with(20, bad), 50), null);
  assert.throws(() => learns(null, 1));
});

test("curves differ when one value, the length or the steps differ", () => {
  const ours = [2.3, 2.2, 2.1, 2.0];
  const theirs = ours.map((loss, i) => [i, loss * 1.0005]);
  assert.equal(curvesAgree(ours, theirs, 1e-3, 4).problem, null);
  assert.ok(Math.abs(curvesAgree(ours, theirs, 1e-3, 4).worst - 5e-4) < 1e-5);
  assert.notEqual(curvesAgree(ours, theirs, 1e-4, 4).problem, null);
  assert.notEqual(curvesAgree(ours.with(3, 2.01), theirs, 1e-3, 4).problem, null);
  assert.notEqual(curvesAgree(ours.with(0, NaN), theirs, 1e-3, 4).problem, null);
  assert.ok(Number.isNaN(curvesAgree(ours.with(0, NaN), theirs, 1e-3, 4).worst));
  assert.notEqual(curvesAgree(ours, theirs.map(([i, loss]) => [i + 10, loss]), 1e-3, 4).problem, null);
  assert.notEqual(curvesAgree([], [], 1e-3, 1).problem, null);
});

test("the tally counts both kinds", () => {
  const tally = new Tally();
  tally.check("good", null);
  tally.check("bad", "on purpose, to see a failure counted");
  assert.equal(tally.summary(), "browser: 1 passed, 1 failed");
  assert.deepEqual(tally.failures, ["bad"]);
});
