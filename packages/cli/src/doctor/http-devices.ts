import { type Config, headersOf } from "@tendon/gateway";
import { type Finding, fine, warning } from "./finding.ts";
import { tryToConnect } from "./outside.ts";

/** Whether the MCP servers of `devices.http` accept connections. It sends them nothing. */
export async function checkHttpDevices({ devices }: Config): Promise<Finding[]> {
  return await Promise.all(devices.http.map(checkOne));
}

async function checkOne(entry: Config["devices"]["http"][number]): Promise<Finding> {
  const { alias } = entry;
  try {
    headersOf(entry);
  } catch (error) {
    return warning("MCP server", {
      message: `${alias}: ${error instanceof Error ? error.message : String(error)}`,
      why: "the gateway does not start without the headers",
      todo: "check `headersFile`: one `Name: value` per line",
    });
  }
  const { hostname, port, protocol } = new URL(entry.url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const at = { host, port: Number(port || (protocol === "https:" ? 443 : 80)) };
  const problem = await tryToConnect(at);
  if (problem === undefined) return fine("MCP server", `${alias}: ${host}:${at.port} accepts connections`);
  return warning("MCP server", {
    message: `${alias}: nothing answers at ${host}:${at.port} (${problem})`,
    why: "the device stays offline until the server answers",
    todo: "start the server, or check `devices.http` and the firewalls in between",
  });
}
