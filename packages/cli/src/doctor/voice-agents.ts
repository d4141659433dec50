import { type Config, readAddressToken } from "@tendon/gateway";
import { type Finding, fine, warning } from "./finding.ts";
import { tryToConnect } from "./outside.ts";

const outgoing = "voice agent";
const incoming = "MCP endpoint";
const warnBeforeMs = 30 * 24 * 60 * 60_000;

/** Whether the endpoints of `agents.endpoints` accept connections, and how the gateway's own endpoint is set up. */
export async function checkVoiceAgents({ agents, endpoint }: Config): Promise<Finding[]> {
  const found = await Promise.all(agents.endpoints.map(checkAddress));
  return [...found.flat(), ...(endpoint.enabled ? checkEndpoint(endpoint) : [])];
}

/** Findings never contain the address, because its token is a secret. */
async function checkAddress({ url }: Config["agents"]["endpoints"][number]): Promise<Finding[]> {
  const address = new URL(url);
  const host = address.hostname.replace(/^\[|\]$/g, "");
  const at = { host, port: Number(address.port || (address.protocol === "wss:" ? 443 : 80)) };
  const name = `${host}:${at.port}`;
  const problem = await tryToConnect(at);
  const reached =
    problem === undefined
      ? fine(outgoing, `${name} accepts connections`)
      : warning(outgoing, {
          message: `nothing answers at ${name} (${problem})`,
          why: "the agent has no tools until the gateway reaches its endpoint",
          todo: "check `agents.endpoints` and the firewalls in between",
        });
  return [reached, ...expiry(name, readAddressToken(address).expiresAt)];
}

function expiry(name: string, expiresAt: number | undefined): Finding[] {
  if (expiresAt === undefined || expiresAt - Date.now() >= warnBeforeMs) return [];
  const day = new Date(expiresAt).toISOString().slice(0, 10);
  return [
    warning(outgoing, {
      message: `${name}: the token in the address ${expiresAt <= Date.now() ? "expired" : "expires"} on ${day}`,
      why: "the agent rejects the gateway from then on",
      todo: "copy the new address from the agent's console to `agents.endpoints`",
    }),
  ];
}

function checkEndpoint({ compatibility }: Config["endpoint"]): Finding[] {
  if (compatibility === undefined) return [fine(incoming, "on, at /mcp_endpoint/")];
  return [
    warning(incoming, {
      message: "on, and accepts tokens of the former endpoint server",
      why: `clients with that server's key can use the token \`${compatibility.token}\``,
      todo: "give each voice server and provider a token of `tendon token create NAME --endpoint`, then remove `endpoint.compatibility`",
    }),
  ];
}
