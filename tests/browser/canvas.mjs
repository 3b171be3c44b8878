// Scenario: windows with more pixels than a drawing surface may have. The page lowers its pixel ratio instead of
// failing, and no size, zero included, stops it.
import { open, screenshot, started, state } from "./browser.mjs";
import { atLeast, atMost, equal } from "./checks.mjs";

const LIMIT = 2048;
const SMALL_WEBGPU = `
  Object.defineProperty(GPUSupportedLimits.prototype, "maxTextureDimension2D", { get() { return ${LIMIT}; } });`;
const SMALL_WEBGL = `
  delete Navigator.prototype.gpu;
  for (const kind of [WebGLRenderingContext, WebGL2RenderingContext]) {
    const real = kind.prototype.getParameter;
    kind.prototype.getParameter = function (name) {
      return name === 0x0d33 ? ${LIMIT} : real.call(this, name); // MAX_TEXTURE_SIZE
    };
  }`;
const WINDOWS = [
  { width: 1400, height: 900, ratio: 2, before: SMALL_WEBGPU },
  { width: 1400, height: 900, ratio: 3, before: SMALL_WEBGPU },
  { width: 3824, height: 1020, ratio: 1, before: SMALL_WEBGPU },
  { width: 3824, height: 1020, ratio: 1, before: SMALL_WEBGL },
];

export async function canvas({ browser, url, tally, shots }) {
  for (const window of WINDOWS) {
    const kind = window.before === SMALL_WEBGL ? "WebGL" : "WebGPU";
    const name = `${window.width}x${window.height} at ratio ${window.ratio}, ${kind}, surfaces up to ${LIMIT}`;
    const { page, errors, close } = await open(browser, url, window);
    await started(page);
    await fits(page, tally, name);
    const nColours = await screenshot(page, `${shots}/canvas-${window.width}x${window.height}@${window.ratio}-${kind}.png`);
    tally.check(`${name}: draws`, atLeast(nColours, 50), `${nColours} colours`);

    for (const height of ["0px", "1px", "100%"]) {
      await page.evaluate((css) => { document.getElementById("headroom").style.flex = `0 0 ${css}`; }, height);
      await page.waitForTimeout(400);
    }
    await page.evaluate(() => { document.getElementById("headroom").style.flex = ""; });
    await page.setViewportSize({ width: 700, height: 500 });
    await page.waitForTimeout(400);
    await page.setViewportSize({ width: window.width, height: window.height });
    await fits(page, tally, `${name}, after other sizes`);
    tally.check(`${name}: still alive`, equal(typeof (await state(page)).status, "string"));
    tally.check(`${name}: no errors on the console`, equal(errors.join("\n"), ""));
    await close();
  }
}

// The longer side uses the limit to the full and neither side passes it.
async function fits(page, tally, name) {
  await page.waitForTimeout(1500);
  const [width, height, shape] = await page.evaluate(() => {
    const { width, height, clientWidth, clientHeight } = document.getElementById("headroom");
    return [width, height, clientWidth / clientHeight];
  });
  tally.check(`${name}: fits`, atMost(Math.max(width, height), LIMIT), `${width}x${height}`);
  tally.check(`${name}: uses what it may`, atLeast(Math.max(width, height), LIMIT - 2));
  tally.check(`${name}: keeps its shape`, atMost(Math.abs(width / height / shape - 1), 0.01));
}
