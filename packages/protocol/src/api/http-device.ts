import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { aliasPattern } from "../tools/names.ts";

export const HttpDeviceRequest = Type.Object(
  {
    alias: Type.String({ pattern: aliasPattern, description: "The id and the alias of the device" }),
    url: Type.String({
      minLength: 1,
      maxLength: limits.serverUrlLength.max,
      description: "The address of an MCP server over Streamable HTTP, such as `http://192.168.1.20/mcp`",
    }),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: "Headers of every request to this server. They are encrypted, and never returned",
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
export type HttpDeviceRequest = Static<typeof HttpDeviceRequest>;
