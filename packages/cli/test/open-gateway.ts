import fs from "node:fs";
import path from "node:path";
import { loadConfig, startGateway } from "@tendon/gateway";
import { secretWatch } from "../../../test/secret-watch.ts";
import { placeMigratedFile } from "../../gateway/test/store/migrated-file.ts";
import { demoProcesses, startDemo } from "../src/demo.ts";

export interface OpenGateway {
  readonly url: string;
  end(): Promise<void>;
}

/**
 * Starts a gateway in this process with its data in `./data` of the folder, where commands find it. `tendon serve` needs
 * ten times the CPU time: use it only for tests of that command and of killed gateways.
 */
export async function openGateway(
  folder: string,
  { demo = false, env = {} }: { readonly demo?: boolean; readonly env?: Record<string, string> } = {},
): Promise<OpenGateway> {
  const data = path.join(folder, "data");
  if (!fs.existsSync(path.join(data, "tendon.db"))) {
    fs.mkdirSync(data, { recursive: true, mode: 0o700 });
    await placeMigratedFile(data);
  }
  const { config, adminToken } = loadConfig({
    searchIn: [folder],
    env,
    overrides: { data, http: { port: 0 }, mqtt: { port: 0 } },
  });
  const tendon = await startGateway(config, {
    adminToken,
    logger: secretWatch.logger(),
    processes: demo ? demoProcesses(config) : [],
  });
  const devices = demo ? await startDemo(tendon) : undefined;
  return {
    url: tendon.url,
    async end() {
      await devices?.stop();
      await tendon.stop();
    },
  };
}
