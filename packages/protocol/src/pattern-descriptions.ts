/** Descriptions of patterns for people. Programs find the regular expressions in the schemas. */
import { boardPattern } from "./api/firmware.ts";
import { codePattern, keyPattern, serialPattern, tagPattern } from "./api/provisioning.ts";
import { actionNamePattern } from "./control/action-map.ts";
import { aliasPattern } from "./tools/names.ts";

/** The origin of a web page as browsers send it. Extensions use their own schemes. */
export const originPattern = "^[a-z][a-z0-9+.-]*://[^/?#@*,\\s]+$";

const descriptions: ReadonlyMap<string, string> = new Map([
  [
    aliasPattern,
    "must have lower-case letters a to z, digits and dashes, start with a letter and have at most 24 characters, " +
      "such as `living-room`; it becomes part of tool names, where agents accept no other characters",
  ],
  [
    tagPattern,
    "must have only letters a to z and A to Z, digits, `_`, `.`, `:` and `-`, " +
      "and at most 64 characters, such as `ground-floor`",
  ],
  [codePattern, "must be the six digits that the board shows, such as `123456`"],
  [serialPattern, "must be 1 to 64 ASCII characters without spaces, such as `SN-0001`"],
  [
    originPattern,
    "must be an origin as browsers send it: scheme, host and optionally a port, without a path and without `*`, " +
      "such as `https://agent.example` or `http://localhost:6274`",
  ],
  [keyPattern, "must be 64 hexadecimal digits"],
  [
    boardPattern,
    "must have only letters a to z and A to Z, digits, `.`, `_` and `-`, and at most 64 characters, such as `esp-box-3`",
  ],
  [
    actionNamePattern,
    "must have only letters a to z and A to Z, digits, `.`, `_` and `-`, and at most 64 characters, such as `set_volume`",
  ],
]);

interface SchemaError {
  readonly message: string;
  readonly params: object;
}

/** The message of a schema error, with the description of a pattern or a time, or with the valid values. */
export function inWords({ message, params }: SchemaError): string {
  const { pattern, format, allowedValue, allowedValues } = params as Readonly<Record<string, unknown>>;
  if (typeof allowedValue === "string") return `must be \`${allowedValue}\``;
  if (Array.isArray(allowedValues)) {
    const quoted = allowedValues.map((value) => `\`${String(value)}\``);
    const last = quoted.pop() ?? "";
    return `must be one of ${quoted.length === 0 ? last : `${quoted.join(", ")} and ${last}`}`;
  }
  if (format === "date-time") return "must be a time such as `2027-01-31T08:00:00Z`";
  return (typeof pattern === "string" ? descriptions.get(pattern) : undefined) ?? message;
}
