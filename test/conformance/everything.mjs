// The official "everything" server over Streamable HTTP. It does not report the free port that it gets, so its listener is
// watched here.
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { listen } = http.Server.prototype;
http.Server.prototype.listen = function (...args) {
  this.once("listening", () => process.stdout.write(`${this.address().port}\n`));
  return listen.apply(this, args);
};
// It logs every request.
console.log = () => undefined;
console.error = () => undefined;
process.env.PORT = "0";
process.argv[2] = "streamableHttp";
const requireTool = createRequire(new URL("../tools/package.json", import.meta.url));
const manifest = requireTool.resolve("@modelcontextprotocol/server-everything/package.json");
await import(new URL("dist/index.js", pathToFileURL(manifest)).href);
