// The browser test: serves web/dist, opens it in a headless Chromium on a software GPU and judges what happens.
// `node run.mjs [NAME ...]` runs the named scenarios, without names all. Environment: CHROMIUM, HEADROOM_DIST,
// HEADROOM_BIN (the native program), HEADROOM_SHOTS (where screenshots go). Exit code 0 if no check failed.
import { mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "../../web/server.mjs";
import { launch } from "./browser.mjs";
import { canvas } from "./canvas.mjs";
import { Tally } from "./checks.mjs";
import { fallback } from "./fallback.mjs";
import { families } from "./families.mjs";
import { training } from "./training.mjs";

const SCENARIOS = { training, families, canvas, fallback };

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const target = resolve(root, process.env.CARGO_TARGET_DIR ?? "target");
const setup = {
  root,
  bin: process.env.HEADROOM_BIN ?? resolve(target, "release/headroom"),
  shots: process.env.HEADROOM_SHOTS ?? resolve(target, "browser-shots"),
  results: {},
};
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(SCENARIOS);
const unknown = names.filter((name) => !Object.hasOwn(SCENARIOS, name));
if (unknown.length > 0) {
  console.error(`error: no scenario ${unknown.join(", ")}; there are ${Object.keys(SCENARIOS).join(", ")}`);
  process.exit(2);
}

mkdirSync(setup.shots, { recursive: true });
const tally = new Tally();
const server = await serve(process.env.HEADROOM_DIST ?? resolve(root, "web/dist"));
const browser = await launch();
console.log(`Chromium ${browser.version()}, screenshots in ${setup.shots}`);
try {
  for (const name of names) {
    const begin = Date.now();
    try {
      await SCENARIOS[name]({ ...setup, browser, url: server.url, tally });
    } catch (error) {
      // A scenario that cannot go on is one failed check; the others still run.
      tally.check(`${name}: runs to its end`, String(error.stack ?? error));
    }
    console.log(`${name}: ${((Date.now() - begin) / 1000).toFixed(1)} s`);
  }
} finally {
  await browser.close();
  await server.close();
}
if (tally.failed > 0) console.log(`failed: ${tally.failures.join("; ")}`);
console.log(tally.summary());
process.exit(tally.failed === 0 && tally.passed > 0 ? 0 : 1);
