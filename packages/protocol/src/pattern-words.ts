/** What a text has to look like, said to people: a regular expression is for programs, which find it in the schemas. */
import { boardPattern } from "./api/firmware.ts";
import { codePattern, keyPattern, serialPattern, tagPattern } from "./api/provisioning.ts";
import { actionNamePattern } from "./control/action-map.ts";
import { aliasPattern } from "./tools/names.ts";

/** The origin of a web page as browsers send it; extensions have schemes of their own. */
export const originPattern = "^[a-z][a-z0-9+.-]*://[^/?#@*,\\s]+$";

const words: ReadonlyMap<string, string> = new Map([
  [
    aliasPattern,
    "must be made of small letters a to z, digits and dashes, beginning with a letter, 24 characters at most, " +
      "such as `living-room`; it becomes part of tool names, in which agents take nothing else",
  ],
  [
    tagPattern,
    "must be made of letters a to z or A to Z, digits and the marks `_`, `.`, `:` and `-`, " +
      "64 characters at most, such as `ground-floor`",
  ],
  [codePattern, "must be the six digits that the board shows, such as `123456`"],
  [serialPattern, "must be 1 to 64 letters, digits and marks of ASCII without spaces, such as `SN-0001`"],
  [
    originPattern,
    "must be an origin as browsers send it: scheme, host and perhaps a port, without a path and without `*`, " +
      "such as `https://agent.example` or `http://localhost:6274`",
  ],
  [keyPattern, "must be 64 hexadecimal digits"],
  [
    boardPattern,
    "must be made of letters a to z or A to Z, digits, `.`, `_` and `-`, 64 characters at most, such as `esp-box-3`",
  ],
  [
    actionNamePattern,
    "must be made of letters a to z or A to Z, digits, `.`, `_` and `-`, 64 characters at most, such as `set_volume`",
  ],
]);

interface Complaint {
  readonly message: string;
  readonly params: object;
}

/** A schema's complaint, in words where it is about a form that we have words for. */
export function inWords({ message, params }: Complaint): string {
  const { pattern } = params as { readonly pattern?: unknown };
  return (typeof pattern === "string" ? words.get(pattern) : undefined) ?? message;
}
