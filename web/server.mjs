// A static file server for web/dist: used by web/serve.sh and by the browser test. `node web/server.mjs DIR PORT`.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

// Browsers refuse to stream-compile a module under any other type than application/wasm, and a .gz file must arrive as
// it is: the program unpacks it itself.
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".wasm": "application/wasm",
  ".gz": "application/gzip",
  ".json": "application/json",
  ".toml": "text/plain; charset=utf-8",
  ".md": "text/plain; charset=utf-8",
};

// Starts serving `root`; port 0 takes any free one. Resolves to { url, close }.
export async function serve(root, port = 0) {
  const base = resolve(root);
  const server = createServer((request, response) => {
    answer(base, request, response).catch((error) => {
      response.writeHead(error.code === "ENOENT" ? 404 : 500, { "content-type": "text/plain" });
      response.end(`${request.url}: ${error.code ?? error.message}\n`);
    });
  });
  await new Promise((done, failed) => server.once("error", failed).listen(port, "127.0.0.1", done));
  return {
    url: `http://localhost:${server.address().port}/`,
    close: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }),
  };
}

async function answer(base, request, response) {
  const wanted = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
  let path = normalize(join(base, wanted));
  if (path !== base && !path.startsWith(base + sep)) {
    response.writeHead(403).end();
    return;
  }
  if ((await stat(path)).isDirectory()) path = join(path, "index.html");
  const { size } = await stat(path);
  response.writeHead(200, {
    "content-type": TYPES[extname(path)] ?? "application/octet-stream",
    "content-length": size,
    "cache-control": "no-cache", // A rebuilt module must not meet yesterday's script.
  });
  if (request.method === "HEAD") response.end();
  else createReadStream(path).pipe(response);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [root = "web/dist", port = "8080"] = process.argv.slice(2);
  try {
    const { url } = await serve(root, Number(port));
    console.log(`Serving ${root} at ${url} (stop with Ctrl+C)`);
  } catch (error) {
    console.error(`error: cannot serve on port ${port}: ${error.code ?? error.message}; try another: bash web/serve.sh 8081`);
    process.exit(1);
  }
}
