// Scenario: every family of models trains on the page as it does natively, a text file of the reader's own is picked and
// trained on, and the model writes.
import { execFileSync } from "node:child_process";
import { command, open, screenshot, started, until } from "./browser.mjs";
import { atLeast, curvesAgree, equal } from "./checks.mjs";

const EXPERIMENT = "lessons/01-where-memory-goes/base.toml";
const N_STEPS = 3;
const LOSS_TOLERANCE = 1e-4; // Relative; two adapters add in different orders.
const PICTURES = ["data.batch=8"];
const TEXT = ['data={source="austen", batch=4, validation=0.001}'];
const FAMILIES = {
  cnn: [...PICTURES, 'model={kind="cnn", width=4, depth=8}'],
  mobilenet: [...PICTURES, 'model={kind="mobilenet", width=0.1, layers=4}'],
  efficientnet: [...PICTURES, 'model={kind="efficientnet", width=0.1, layers=0.4, stages=3}'],
  "transformer, fused": [...TEXT, 'model={kind="transformer", layers=1, width=32, heads=2, context=32}'],
  "transformer, plain": [...TEXT, 'model={kind="transformer", layers=1, width=32, heads=2, context=32, attention="plain", loss="plain"}'],
};

export async function families({ browser, url, tally, root, bin, shots }) {
  const { page, errors, close } = await open(browser, url);
  await started(page);
  await until(page, "the app to be idle", (now) => now.status === "idle");
  for (const [name, settings] of Object.entries(FAMILIES)) await trains({ page, tally, root, bin, name, settings });
  await readsAFile({ page, tally, shots });
  tally.check("families: no errors on the console", equal(errors.join("\n"), ""));
  await close();
}

async function trains({ page, tally, root, bin, name, settings }) {
  await command(page, "reset");
  await until(page, "idle after reset", (now) => now.status === "idle");
  const before = await page.evaluate(() => window.witness());
  const all = [...settings, `train.steps=${N_STEPS}`];
  for (const setting of all) await command(page, `set ${setting}`);
  await command(page, "start");
  const done = await until(page, `${name}: ${N_STEPS} steps`, (now) => now.status === "done", 240);
  const seen = await page.evaluate(() => window.witness());
  tally.check(`${name}: trains on the GPU engine`, equal(done.engine, "gpu"));
  tally.check(`${name}: reserved bytes as counted from outside`,
    equal(seen.state.reserved_bytes, seen.engine_bytes - before.engine_bytes));
  const args = ["run", EXPERIMENT, "--json", "-", ...all.flatMap((setting) => ["--set", setting])];
  const report = JSON.parse(execFileSync(bin, args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] }));
  const { problem, worst, n } = curvesAgree(done.losses, report.loss.curve, LOSS_TOLERANCE, N_STEPS);
  tally.check(`${name}: losses equal the native program's to ${LOSS_TOLERANCE}`, problem, `${n} steps, largest difference ${worst.toExponential(2)}`);
}

async function readsAFile({ page, tally, shots }) {
  await command(page, "reset");
  const text = "It is a truth universally acknowledged, that a single man must be in want of a wife.\n".repeat(30);
  await page.waitForSelector("#headroom-file", { state: "attached" });
  await page.setInputFiles("#headroom-file", { name: "mine.txt", mimeType: "text/plain", buffer: Buffer.from(text) });
  const picked = await until(page, "the picked file", (now) => now.source === "text" && now.model === "transformer", 20);
  tally.check("a picked text is planned for", equal(picked.message, null));
  for (const setting of ['model={kind="transformer", layers=1, width=32, heads=2, context=16}', "data.batch=4", "train.steps=2"]) {
    await command(page, `set ${setting}`);
  }
  await command(page, "start");
  await until(page, "two updates on the picked text", (now) => now.status === "done", 120);
  await command(page, "sample 5");
  const sampled = await until(page, "a sampled text", (now) => now.sample !== null && !now.is_sampling, 60);
  tally.check("the model writes", atLeast(sampled.sample.length, 1), JSON.stringify(sampled.sample));
  await page.waitForTimeout(500);
  tally.check("the page shows it", atLeast(await screenshot(page, `${shots}/picked-text.png`), 50));
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(["label,a,b\n" + "0,1,2\n1,3,4\n".repeat(20)], "table.csv", { type: "text/csv" }));
    const canvas = document.querySelector("canvas");
    for (const type of ["dragenter", "dragover", "drop"]) {
      canvas.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
    }
  });
  const dropped = await until(page, "the dropped table", (now) => now.source === "csv" && now.model === "mlp", 20);
  tally.check("a dropped table is planned for", equal(dropped.message, null));
}
