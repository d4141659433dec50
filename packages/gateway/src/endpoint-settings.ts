/** The settings of MCP endpoints of voice agents, with the checks that a schema cannot express. */
import { aliasPattern, endpointLimits } from "@tendon/protocol";
import ipaddr from "ipaddr.js";
import Type, { type Static } from "typebox";

const strict = { additionalProperties: false };
const alias = aliasPattern.replace(/^\^/, "").replace(/\$$/, "");
const TokenName = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "The name of a token of this gateway: its scopes, devices and rules apply",
});

const OutgoingEndpoint = Type.Object(
  {
    url: Type.String({
      pattern: "^wss?://[^/]+",
      maxLength: 4_096,
      description:
        "The MCP endpoint of the agent, as its console shows it: `wss://…/mcp/?token=…`. `ws://` only to loopback and private addresses. It is a secret",
    }),
    token: TokenName,
    view: Type.Optional(
      Type.String({
        pattern: `^(compact|flat|device:${alias})$`,
        description:
          "The tools that the agent sees: `compact` (default, seven tools for any fleet), `flat` (each tool of each device), or `device:ALIAS`",
      }),
    ),
  },
  strict,
);
export type OutgoingEndpoint = Static<typeof OutgoingEndpoint>;

export const OutgoingEndpoints = Type.Array(OutgoingEndpoint, {
  default: [],
  maxItems: endpointLimits.outgoing.max,
  description: "MCP endpoints of voice agents, to which the gateway offers its tools",
  page: "guides/voice-agents.md",
});

export const EndpointSettings = Type.Object(
  {
    enabled: Type.Boolean({
      default: false,
      description:
        "Be an MCP endpoint at `/mcp_endpoint/`: tool providers such as `mcp_pipe.py` become devices, and voice servers call the fleet",
      page: "guides/voice-agents.md",
    }),
    healthKey: Type.Optional(
      Type.String({
        minLength: 8,
        description: "The key of `/mcp_endpoint/health?key=…`, which the voice server's console asks for",
      }),
    ),
    compatibility: Type.Optional(
      Type.Object(
        {
          key: Type.String({
            minLength: 1,
            maxLength: 32,
            description: "The key of the former endpoint server, so that its AES tokens stay valid",
          }),
          token: TokenName,
        },
        strict,
      ),
    ),
  },
  strict,
);

/** The problems of outgoing endpoints. The messages never contain an address. */
export function checkOutgoingEndpoints(
  endpoints: readonly OutgoingEndpoint[],
): { readonly path: readonly string[]; readonly message: string }[] {
  const urls = endpoints.map(({ url }) => url);
  return endpoints.flatMap(({ url }, index) => {
    const message = URL.canParse(url) ? problemOf(new URL(url)) : "must be a complete address";
    const repeated = urls.indexOf(url) === index ? undefined : "is in the list twice";
    const found = message ?? repeated;
    return found === undefined ? [] : [{ path: ["endpoints", String(index), "url"], message: found }];
  });
}

function problemOf(url: URL): string | undefined {
  if (url.username !== "" || url.password !== "") return "must not have a user name or password";
  if (url.protocol === "wss:") return undefined;
  const bare = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  return ipaddr.isValid(bare) && !isNear(bare)
    ? "must use wss://: its token would cross the internet in plain text"
    : undefined;
}

/** [END-9] Why an address must not be dialled without TLS. A name is refused if one of its addresses is. */
export function nearOnly(address: string): string | undefined {
  return isNear(address)
    ? undefined
    : "it is neither loopback nor private: use wss://, or the token is sent in plain text";
}

/** Whether an IP address is loopback or private. */
function isNear(address: string): boolean {
  return ["loopback", "private", "uniqueLocal"].includes(ipaddr.process(address).range());
}
