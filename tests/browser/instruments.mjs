// What the test puts into a page before any of the page's own scripts: a count of WebGPU memory per device that does
// not come from the program under test, and a stopwatch on the event loop.

// Runs inside the page, so it may use nothing from this module.
export function instruments() {
  // The device that a canvas is configured with belongs to the UI; all others belong to the engine.
  const devices = new Set();
  const uiDevices = new Set();
  if (window.GPUAdapter) {
    const requestDevice = GPUAdapter.prototype.requestDevice;
    GPUAdapter.prototype.requestDevice = async function (...rest) {
      const device = await requestDevice.apply(this, rest);
      devices.add(device);
      return device;
    };
    const configure = GPUCanvasContext.prototype.configure;
    GPUCanvasContext.prototype.configure = function (settings) {
      uiDevices.add(settings.device);
      return configure.call(this, settings);
    };
  }

  // Bytes and number of buffers by owner, beside the program's own state, both read in one task: nothing runs between.
  window.witness = () => {
    const sum = { ui_bytes: 0, ui_buffers: 0, engine_bytes: 0, engine_buffers: 0, engine_devices: 0 };
    for (const device of devices) {
      const { memory, resources } = window.webgpuMemory.getWebGPUMemoryUsage(device);
      const owner = uiDevices.has(device) ? "ui" : "engine";
      sum[`${owner}_bytes`] += memory.buffer;
      sum[`${owner}_buffers`] += resources.buffer ?? 0;
      if (owner === "engine") sum.engine_devices += 1;
    }
    return { ...sum, state: JSON.parse(window.headroom_state()) };
  };

  // Longest time between two animation frames and between two turns of the event loop, and how long each input waited:
  // until its handler ran, and until the frame after it was through.
  window.stopwatch = (longMillis) => {
    const seen = { frame_gap: 0, turn_gap: 0, long_turns: 0, frames: 0, turns: 0, handled: [], drawn: [] };
    let running = true;
    let lastFrame = performance.now();
    const onFrame = () => {
      const now = performance.now();
      seen.frame_gap = Math.max(seen.frame_gap, now - lastFrame);
      seen.frames += 1;
      lastFrame = now;
      if (running) requestAnimationFrame(onFrame);
    };
    requestAnimationFrame(onFrame);

    let lastTurn = performance.now();
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      const now = performance.now();
      seen.turn_gap = Math.max(seen.turn_gap, now - lastTurn);
      if (now - lastTurn > longMillis) seen.long_turns += 1;
      seen.turns += 1;
      lastTurn = now;
      if (running) setTimeout(() => channel.port2.postMessage(0), 4);
    };
    channel.port2.postMessage(0);

    const onInput = (event) => {
      seen.handled.push(performance.now() - event.timeStamp);
      // The frame's own callbacks were asked for earlier, so this one comes after them.
      requestAnimationFrame(() => setTimeout(() => seen.drawn.push(performance.now() - event.timeStamp)));
    };
    for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, onInput, { capture: true });
    return () => {
      running = false;
      for (const kind of ["pointerdown", "keydown"]) removeEventListener(kind, onInput, { capture: true });
      // A stall that is still going on when the watch stops counts as well.
      seen.turn_gap = Math.max(seen.turn_gap, performance.now() - lastTurn);
      seen.frame_gap = Math.max(seen.frame_gap, performance.now() - lastFrame);
      return seen;
    };
  };
}
