#!/usr/bin/env bash
# Serves web/dist on this computer: `bash web/serve.sh [PORT]`. WebGPU needs https or localhost, so a file:// page will not do.
set -euo pipefail
cd "$(dirname "$0")"
port="${1:-8080}"
case "$port" in
  *[!0-9]* | "") echo "error: PORT is '$port', expected a number from 1 to 65535, for example: bash web/serve.sh 8080" >&2; exit 2 ;;
esac
if [ "$port" -lt 1 ] || [ "$port" -gt 65535 ]; then
  echo "error: PORT is $port, allowed are 1 to 65535" >&2
  exit 2
fi
if [ ! -f dist/headroom_bg.wasm ]; then
  echo "error: web/dist holds no build; make one with: bash web/build.sh" >&2
  exit 2
fi
if command -v node >/dev/null; then
  exec node server.mjs dist "$port"
elif command -v python3 >/dev/null; then
  echo "Serving web/dist at http://localhost:$port/ (stop with Ctrl+C)"
  exec python3 -m http.server --bind 127.0.0.1 --directory dist "$port"
fi
echo "error: needs node or python3 to serve files; any other static web server on web/dist does as well" >&2
exit 1
