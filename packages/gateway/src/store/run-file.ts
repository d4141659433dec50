import fs from "node:fs";
import path from "node:path";

const FILE_NAME = "gateway.json";

/**
 * Leaves word in the data folder where this gateway listens, so that commands find it on any port, and which
 * certificate it shows, so that they trust it whoever has signed it.
 */
export function announceGateway(
  dataFolder: string,
  url: string,
  certificate: string | undefined,
): () => void {
  const file = path.join(dataFolder, FILE_NAME);
  const text = `${JSON.stringify({ url, pid: process.pid, certificate })}\n`;
  fs.writeFileSync(`${file}.${process.pid}`, text);
  fs.renameSync(`${file}.${process.pid}`, file);
  return () => {
    // Another gateway on the same folder may have written its own since.
    if (read(file) === text) fs.rmSync(file, { force: true });
  };
}

function read(file: string): string | undefined {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
