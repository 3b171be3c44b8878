// Scenario: a browser or a server in which something is missing. Each case ends in words a person can read, and where
// the program can go on without the missing thing, it does.
import { command, open, screenshot, started, until } from "./browser.mjs";
import { atLeast, curvesAgree, equal, mentions } from "./checks.mjs";

const N_STEPS = 5;
const N_STEPS_SET = 50; // As in the training scenario: a schedule's learning rates depend on how many steps there are.
const LOSS_TOLERANCE = 1e-3;
const NO_WEBGPU = "delete Navigator.prototype.gpu;";
const NO_ADAPTER = "GPU.prototype.requestAdapter = async () => null;";
const NO_WEBASSEMBLY = "delete globalThis.WebAssembly;";
const NO_DRAWING = `${NO_WEBGPU}
  const real = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
    return kind.startsWith("webgl") ? null : real.call(this, kind, ...rest);
  };`;
const notFound = (route) => route.fulfill({ status: 404, body: "not here" });

export async function fallback(setup) {
  await trainsOnCpu(setup, "no navigator.gpu", NO_WEBGPU, ["no WebGPU", "CPU engine"]);
  await trainsOnCpu(setup, "requestAdapter gives null", NO_ADAPTER, ["no adapter", "CPU engine"]);
  await explains(setup, "no WebAssembly", { before: NO_WEBASSEMBLY }, ["no WebAssembly", "headroom run"]);
  await explains(setup, "neither WebGPU nor WebGL", { before: NO_DRAWING }, ["WebGPU or WebGL 2", "headroom run"]);
  await explains(setup, "module missing on the server", { routes: { "**/*.wasm": notFound } }, ["could not be loaded", "reload"]);
  await explains(setup, "script missing on the server", { routes: { "**/headroom.js": notFound } }, ["could not be loaded", "reload"]);
  await explains(setup, "connection cut", { routes: { "**/*.wasm": (route) => route.abort() } }, ["could not be loaded", "reload"]);
  await dataMissing(setup);
  await panicIsShown(setup);
}

async function trainsOnCpu({ browser, url, tally, shots, results }, name, before, words) {
  const { page, errors, close } = await open(browser, url, { before });
  await started(page);
  tally.check(`${name}: says so`, mentions(await page.locator("#notice").innerText(), words));
  await until(page, "the app to be idle", (now) => now.status === "idle");
  await command(page, `set train.steps=${N_STEPS_SET}`);
  await command(page, "start");
  const done = await until(page, `${N_STEPS} losses`, (now) => now.losses.length >= N_STEPS, 180);
  await command(page, "pause");
  tally.check(`${name}: trains on the CPU engine`, equal(done.engine, "cpu"));
  const nFinite = done.losses.flat().filter(Number.isFinite).length;
  tally.check(`${name}: ${N_STEPS} finite losses`, atLeast(nFinite, N_STEPS));
  if (results.losses) {
    const { problem, worst } = curvesAgree(done.losses, results.losses.slice(0, N_STEPS), LOSS_TOLERANCE, N_STEPS);
    tally.check(`${name}: losses equal the GPU engine's`, problem, `largest difference ${worst.toExponential(2)}`);
  }
  const nColours = await screenshot(page, `${shots}/fallback-${name.replaceAll(/\W+/g, "-")}.png`);
  tally.check(`${name}: draws`, atLeast(nColours, 50), `${nColours} colours`);
  tally.check(`${name}: no errors on the console`, equal(errors.join("\n"), ""));
  await close();
}

async function explains({ browser, url, tally, shots }, name, changes, words) {
  const { page, close } = await open(browser, url, { width: 800, height: 600, ...changes });
  await page.waitForFunction(() => window.headroom_failure, null, { timeout: 60000 }).catch(() => {});
  const text = await page.locator("#text").innerText();
  tally.check(`${name}: readable text`, mentions(text, words));
  tally.check(`${name}: no longer claims to load`, equal(/Loading/.test(text), false));
  await page.screenshot({ path: `${shots}/fallback-${name.replaceAll(/\W+/g, "-")}.png` });
  await close();
}

async function dataMissing({ browser, url, tally }) {
  const { page, close } = await open(browser, url, { routes: { "**/data/**": notFound } });
  await started(page);
  // The program may fetch its data when it opens or when training starts.
  await command(page, "start");
  await page.waitForFunction(() => JSON.parse(window.headroom_state()).status === "error", null, { timeout: 30000 }).catch(() => {});
  await page.waitForTimeout(1500);
  const text = await page.locator("#notice").innerText();
  tally.check("data missing on the server: the notice names the address", mentions(text, ["data/fashion-mnist", "404"]));
  await close();
}

// The panic hook's words and the trap that follows it, as a real panic gives them.
async function panicIsShown({ browser, url, tally }) {
  const { page, close } = await open(browser, url);
  await started(page);
  await page.evaluate(() => setTimeout(() => {
    console.error("panicked at src/somewhere.rs:1:2:\na planted panic");
    throw new WebAssembly.RuntimeError("unreachable executed");
  }));
  await page.waitForFunction(() => window.headroom_failure, null, { timeout: 5000 }).catch(() => {});
  tally.check("a panic is shown on the page", mentions(await page.locator("#text").innerText(), ["has stopped", "a planted panic", "reload"]));
  await close();
}
