// Is the gateway of this data folder alive? Leaves with 0 if it is. It asks where the gateway itself says that it
// listens, so that it need not know about ports and TLS.
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import path from "node:path";

const longestMs = 2_500;
const [folder = "/data"] = process.argv.slice(2);

function fail(why) {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}

try {
  const { url } = JSON.parse(fs.readFileSync(path.join(folder, "gateway.json"), "utf8"));
  const at = new URL("/healthz", url);
  // The certificate is for the name that others use; this is the machine itself.
  const options = { timeout: longestMs, rejectUnauthorized: false };
  const request = (at.protocol === "https:" ? https : http).get(at, options, (response) => {
    if (response.statusCode !== 200) fail(`it answers ${response.statusCode}`);
    process.exit(0);
  });
  request.on("timeout", () => fail(`no answer within ${longestMs} ms`));
  request.on("error", (error) => fail(error.message));
} catch (error) {
  fail(error.message);
}
