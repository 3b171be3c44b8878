// Scenario: the app trains lesson 1 through WebGPU. Losses against the native program, memory against an outside count,
// the page's responsiveness, and that reset gives everything back.
import { execFileSync } from "node:child_process";
import { command, open, screenshot, started, state, until } from "./browser.mjs";
import { atLeast, atMost, curvesAgree, equal, learns } from "./checks.mjs";

const EXPERIMENT = "lessons/01-where-memory-goes/base.toml";
const N_STEPS = 50;
const LOSS_TOLERANCE = 1e-3; // Relative; two adapters add in different orders.
const INPUT_MILLIS = 100; // From the event's own time stamp until its handler has run.
// A blocking read of a loss would hold the event loop for most of a training step, at every one of them, or for ever.
// A few long turns are those of a machine with other work to do.
const LONG_TURN_MILLIS = 250;
const LONG_TURNS = 3;
const TURN_GAP_MILLIS = 1000;
const N_READ_BACKS = 100;
const N_INPUTS = 25;

export async function training({ browser, url, tally, root, bin, shots, results }) {
  const { page, errors, close } = await open(browser, url);
  await started(page);
  await until(page, "the app to be idle", (now) => now.status === "idle");
  await page.waitForTimeout(1500); // The UI's renderer has its buffers by then.
  const before = await page.evaluate(() => window.witness());

  results.losses = await trainOnce({ page, tally, shots, before });
  compareWithNative({ tally, root, bin, losses: results.losses });
  await staysResponsive({ page, tally });
  await givesBack({ page, tally, before });
  tally.check("no errors on the console", equal(errors.join("\n"), ""));
  await close();
}

async function trainOnce({ page, tally, shots, before }) {
  await command(page, `set train.steps=${N_STEPS}`);
  await command(page, "start");
  await until(page, "step 5", (now) => now.step >= 5);
  const during = await page.evaluate(() => window.witness());
  checkMemory(tally, "during training", during, before);
  const done = await until(page, `${N_STEPS} steps`, (now) => now.status === "done", 300);
  tally.check("trains on the GPU engine", equal(done.engine, "gpu"), `adapter ${JSON.stringify(done.adapter)}`);
  tally.check("losses are finite and fall", learns(done.losses, N_STEPS));
  checkMemory(tally, "after training", await page.evaluate(() => window.witness()), before);

  for (const [width, height] of [[1400, 900], [800, 600]]) {
    await page.setViewportSize({ width, height });
    await page.waitForTimeout(1000);
    const nColours = await screenshot(page, `${shots}/trained-${width}x${height}.png`);
    tally.check(`draws at ${width}x${height}`, atLeast(nColours, 50), `${nColours} colours`);
  }
  await page.setViewportSize({ width: 1400, height: 900 });
  return done.losses;
}

// Our ledger against the page's WebGPU calls as counted from outside, on the engine's own device: to the byte.
function checkMemory(tally, when, seen, before) {
  const detail = `the UI's own buffers went from ${before.ui_bytes} to ${seen.ui_bytes} bytes`;
  tally.check(`${when}: the engine has a device of its own`, equal(seen.engine_devices, 1));
  tally.check(`${when}: something is reserved`, atLeast(seen.state.reserved_bytes, 1));
  tally.check(`${when}: reserved bytes as counted from outside`,
    equal(seen.state.reserved_bytes, seen.engine_bytes - before.engine_bytes), detail);
  tally.check(`${when}: live buffers as counted from outside`, equal(seen.state.live_buffers, seen.engine_buffers));
  tally.check(`${when}: allocated is part of reserved`, atMost(seen.state.allocated_bytes, seen.state.reserved_bytes));
}

function compareWithNative({ tally, root, bin, losses }) {
  const name = `losses equal the native program's to ${LOSS_TOLERANCE}`;
  let report;
  try {
    const args = ["run", EXPERIMENT, "--set", `train.steps=${N_STEPS}`, "--json", "-"];
    report = JSON.parse(execFileSync(bin, args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] }));
  } catch (error) {
    tally.check(name, `the native run failed: ${error.message}`);
    return;
  }
  const { problem, worst, n } = curvesAgree(losses, report.loss.curve, LOSS_TOLERANCE, N_STEPS);
  tally.check(name, problem, `${n} steps, largest difference ${worst.toExponential(2)}, native adapter ${report.engine.adapter}`);
}

async function staysResponsive({ page, tally }) {
  await command(page, "reset");
  await until(page, "idle after reset", (now) => now.status === "idle");
  await command(page, "set train.steps=100000");
  await command(page, "start");
  const first = await until(page, "step 3", (now) => now.step >= 3); // Shaders are compiled by then.
  const firstWitness = await page.evaluate(() => window.witness());
  await page.evaluate((longMillis) => { window.stopStopwatch = window.stopwatch(longMillis); }, LONG_TURN_MILLIS);
  for (let i = 0; i < N_INPUTS; i += 1) {
    // Inputs that no control of the app answers to: the middle button in a corner, and a modifier key.
    await page.mouse.move(4, 880);
    await page.mouse.click(4, 880, { button: "middle" });
    await page.keyboard.press("Shift");
    await page.waitForTimeout(40 + (i % 7) * 11); // At varying points of a training step.
  }
  await until(page, `${N_READ_BACKS} read-backs`, (now) => now.losses.length >= N_READ_BACKS, 400);
  const seen = await page.evaluate(() => window.stopStopwatch());
  const last = await state(page);
  const lastWitness = await page.evaluate(() => window.witness());

  const max = (values) => Math.max(...values);
  const report = `frames up to ${seen.frame_gap.toFixed(0)} ms apart, turns of the event loop up to ${seen.turn_gap.toFixed(0)} ms, ` +
    `the frame after an input up to ${max(seen.drawn).toFixed(0)} ms`;
  tally.check("training went on during the inputs", atLeast(last.step, first.step + N_READ_BACKS - 10), `steps ${first.step} to ${last.step}`);
  tally.check("every input was seen", atLeast(seen.handled.length, 2 * N_INPUTS));
  tally.check(`input is handled within ${INPUT_MILLIS} ms while training`, atMost(max(seen.handled), INPUT_MILLIS), report);
  tally.check(`${N_READ_BACKS} losses read back without blocking the page`, atMost(seen.long_turns, LONG_TURNS), `${seen.long_turns} turns above ${LONG_TURN_MILLIS} ms`);
  tally.check("no turn of the event loop is a stall", atMost(seen.turn_gap, TURN_GAP_MILLIS));
  tally.check("frames were drawn all the while", atLeast(seen.frames, 20), `${seen.frames} frames`);
  tally.check(`${N_READ_BACKS} steps leave the number of live buffers as it was`,
    equal(lastWitness.state.live_buffers, firstWitness.state.live_buffers));
  tally.check(`${N_READ_BACKS} steps leave the bytes counted from outside as they were`,
    equal(lastWitness.engine_bytes, firstWitness.engine_bytes));
  await pauses({ page, tally });
}

async function pauses({ page, tally }) {
  await command(page, "pause");
  const paused = await until(page, "the pause", (now) => now.status === "paused", 10);
  await page.waitForTimeout(700); // The step that was under way may end.
  const settled = await state(page);
  tally.check("a pause lets no more than the running step end", atMost(settled.step - paused.step, 1));
  await page.waitForTimeout(1000);
  tally.check("a pause holds", equal((await state(page)).step, settled.step));
  await command(page, "start");
  const resumed = await until(page, "training to go on", (now) => now.step > settled.step, 30);
  tally.check("and training goes on after it", atLeast(resumed.losses.length, settled.losses.length + 1));
}

async function givesBack({ page, tally, before }) {
  await command(page, "reset");
  await until(page, "idle after reset", (now) => now.status === "idle");
  let after = null;
  // A buffer may still be on its way back to the program; a second is plenty for that.
  for (let i = 0; i < 20; i += 1) {
    after = await page.evaluate(() => window.witness());
    if (after.engine_bytes === before.engine_bytes) break;
    await page.waitForTimeout(50);
  }
  tally.check("reset gives back every byte, as counted from outside", equal(after.engine_bytes, before.engine_bytes));
  tally.check("reset gives back every byte, by our ledger", equal(after.state.reserved_bytes, before.state.reserved_bytes));
  tally.check("reset gives back every buffer", equal(after.state.live_buffers, before.state.live_buffers));
  tally.check("reset clears the curve", equal(after.state.losses.length, 0));
}
