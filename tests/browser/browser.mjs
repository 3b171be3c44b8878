// Chromium with a software GPU, and pages opened in it with the test's instruments already inside.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { instruments } from "./instruments.mjs";

// The last three make the page's drawing surface work on a machine without a GPU; without them it stays blank.
const FLAGS = [
  "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan",
  "--use-vulkan=swiftshader", "--use-angle=swiftshader",
];
const WITNESS = fileURLToPath(import.meta.resolve("webgpu-memory").replace(".module.js", ".js"));

// Starts the browser named by $CHROMIUM, or the one the system has.
export function launch() {
  const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const executablePath = places.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error("no Chromium found: install the package chromium, or set CHROMIUM to its path");
  return chromium.launch({ executablePath, headless: true, args: FLAGS });
}

// Opens `url` in a fresh profile. `before` is JavaScript that runs first of all, to take something away from the
// browser; `routes` maps URL patterns to handlers that spoil an answer. The page collects its complaints in `errors`.
export async function open(browser, url, { width = 1400, height = 900, ratio = 1, before = "", routes = {} } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor: ratio });
  const page = await context.newPage();
  const errors = [];
  page.on("console", (message) => {
    const text = message.text();
    // Chromium reports invalid WebGPU calls as warnings.
    if (message.type() === "error" || /panicked|invalid|validation|device.{0,10}lost/i.test(text)) errors.push(text.slice(0, 500));
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  for (const [pattern, handler] of Object.entries(routes)) await page.route(pattern, handler);
  await page.addInitScript({ path: WITNESS });
  await page.addInitScript(instruments);
  if (before) await page.addInitScript(before);
  await page.goto(url);
  return { page, errors, close: () => context.close() };
}

// What the program says about itself.
export async function state(page) {
  return JSON.parse(await page.evaluate(() => window.headroom_state()));
}

export async function command(page, text) {
  await page.evaluate((words) => window.headroom_command(words), text);
}

// Polls until `wanted(state)` holds, and returns that state. The failure tells the last state seen.
export async function until(page, what, wanted, seconds = 120) {
  const end = Date.now() + seconds * 1000;
  let seen = null;
  while (Date.now() < end) {
    seen = await state(page);
    if (wanted(seen)) return seen;
    if (seen.status === "error") break;
    await page.waitForTimeout(50);
  }
  const short = { ...seen, losses: `${seen?.losses?.length} values` };
  throw new Error(`waited up to ${seconds} s for ${what}; last state: ${JSON.stringify(short)}`);
}

// Waits until the program runs, and fails with the page's own words if it gave up instead.
export async function started(page, seconds = 90) {
  await page.waitForFunction(() => window.headroom_started || window.headroom_failure, null, { timeout: seconds * 1000 });
  const failure = await page.evaluate(() => window.headroom_failure && document.body.innerText);
  if (failure) throw new Error(`the page gave up: ${failure}`);
}

// Saves a screenshot and returns how many different colours it has: a blank page has one.
export async function screenshot(page, path) {
  const png = await page.screenshot({ path });
  return page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return new Set(new Uint32Array(context.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer)).size;
  }, png.toString("base64"));
}
