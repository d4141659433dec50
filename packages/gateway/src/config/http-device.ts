/** `devices.http`: MCP servers over Streamable HTTP. */
import fs from "node:fs";
import { aliasPattern, limits } from "@tendon/protocol";
import Type, { type Static } from "typebox";
import { messageOf } from "../errors.ts";
import { headersProblem, parseHeaders, serverAddressProblem } from "../server-headers.ts";

export const HttpDeviceSchema = Type.Object(
  {
    alias: Type.String({ pattern: aliasPattern, description: "The id and the alias of the device" }),
    url: Type.String({
      pattern: "^https?://[^/]+",
      maxLength: limits.serverUrlLength.max,
      description:
        "The address of the server, such as `http://192.168.1.20/mcp`. Redirects are failures; link-local and metadata addresses are refused",
    }),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: "Headers of every request to this server, such as `Authorization`",
      }),
    ),
    headersFile: Type.Optional(
      Type.String({
        minLength: 1,
        description: "A file with more headers, one `Name: value` per line; read when the gateway starts",
      }),
    ),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.callTimeoutMs.max,
        description:
          "Default deadline of a call to this device, in ms, instead of `calls.timeoutMs`; a caller may name its own",
      }),
    ),
  },
  { additionalProperties: false },
);
export type HttpDeviceEntry = Static<typeof HttpDeviceSchema>;

interface Problem {
  readonly place: readonly string[];
  readonly message: string;
}

/** What the schema cannot check: addresses, headers and aliases that are used twice. */
export function checkHttpDevices(
  servers: readonly HttpDeviceEntry[],
  programs: readonly { readonly alias: string }[],
): Problem[] {
  const taken = new Set(programs.map(({ alias }) => alias));
  return servers.flatMap((entry, index): Problem[] => {
    const at = (key: string) => ["devices", "http", String(index), key];
    const found: Problem[] = [];
    if (taken.has(entry.alias)) found.push({ place: at("alias"), message: "is the alias of another device" });
    taken.add(entry.alias);
    const address = serverAddressProblem(entry.url);
    if (address !== undefined) found.push({ place: at("url"), message: address });
    const headers = headersProblem(entry.headers ?? {});
    if (headers !== undefined) found.push({ place: at("headers"), message: headers });
    return found;
  });
}

/** All headers of an entry. Throws a sentence about the file. */
export function headersOf({ headers = {}, headersFile }: HttpDeviceEntry): Record<string, string> {
  if (headersFile === undefined) return headers;
  let text: string;
  try {
    text = fs.readFileSync(headersFile, "utf8");
  } catch (error) {
    throw new TypeError(`${headersFile} cannot be read (${messageOf(error)})`);
  }
  const read = parseHeaders(text);
  if (typeof read === "string") throw new TypeError(`${headersFile}: ${read}`);
  return { ...headers, ...read };
}
