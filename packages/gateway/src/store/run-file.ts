import fs from "node:fs";
import path from "node:path";

const FILE_NAME = "gateway.json";

export interface Announcement {
  readonly url: string;
  /** A file: commands trust what is in it, whoever has signed it. */
  readonly certificate: string | undefined;
  /** The settings that decide about addresses, with the ports it got: flags and variables are its own. */
  readonly settings: {
    readonly http: { readonly host: string; readonly port: number; readonly publicUrl: string | undefined };
    readonly mqtt: { readonly port: number; readonly publicEndpoint: string | undefined };
  };
}

/** Leaves word in the data folder where this gateway listens, so that commands find it on any port. */
export function announceGateway(dataFolder: string, announcement: Announcement): () => void {
  const file = path.join(dataFolder, FILE_NAME);
  const text = `${JSON.stringify({ pid: process.pid, ...announcement })}\n`;
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
