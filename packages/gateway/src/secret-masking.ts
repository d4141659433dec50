/**
 * Masks secrets in JSON, and in JSON strings inside JSON. It scans the text once and uses no backtracking patterns,
 * because a device controls the text.
 */
import { isObject } from "@tendon/protocol";

const secret =
  /token|password|passwd|passphrase|secret|authorization|api_?key|private_?key|psk|pwd|ticket|credential/i;
const bearer = /\b(Bearer|Basic) {1,4}[\w.~+/=-]{1,512}/gi;
/** The address of a screenshot upload contains its ticket. */
const snapshotTicket = /(\/vision\/snapshot\/)[\w.-]{1,512}/g;
const maxKeyLength = 128;
const mask = "•••";

export function withoutSecrets(text: string): string {
  let out = "";
  let done = 0;
  for (let at = text.indexOf('"'); at !== -1; ) {
    const depth = slashesBefore(text, at);
    const end = text.indexOf('"', at + 1);
    if (end === -1) break;
    const value = isSecretKey(text, at, end, depth) ? valueAfter(text, end) : undefined;
    if (value === undefined) {
      at = end;
      continue;
    }
    out += `${text.slice(done, value.from)}${"\\".repeat(depth)}"${mask}${"\\".repeat(depth)}"`;
    done = value.to;
    at = text.indexOf('"', done);
  }
  return (out + text.slice(done)).replace(bearer, `$1 ${mask}`).replace(snapshotTicket, `$1${mask}`);
}

/** The same for a parsed value. */
export function valueWithoutSecrets(value: unknown): unknown {
  if (typeof value === "string") return withoutSecrets(value);
  if (Array.isArray(value)) return value.map(valueWithoutSecrets);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, each]) => {
    const hidden = secret.test(key) && (typeof each === "string" || typeof each === "number");
    return [key, hidden ? mask : valueWithoutSecrets(each)];
  });
  return Object.fromEntries(entries);
}

function isSecretKey(text: string, from: number, to: number, depth: number): boolean {
  if (to - from > maxKeyLength || slashesBefore(text, to) !== depth) return false;
  return secret.test(text.slice(from + 1, to - depth));
}

/** The range of the value of the key that ends here, if it is a string or a number. */
function valueAfter(
  text: string,
  keyEnd: number,
): { readonly from: number; readonly to: number } | undefined {
  const from = skip(text, keyEnd + 1, " \t\r\n:");
  if (from === keyEnd + 1 || !text.slice(keyEnd + 1, from).includes(":")) return undefined;
  const quote = skip(text, from, "\\");
  if (text[quote] === '"') return { from, to: endOfText(text, quote, quote - from) };
  const to = skip(text, from, "-+.0123456789eE");
  return to === from ? undefined : { from, to };
}

/** A string ends at a quote with exactly as many backslashes before it as its first quote has. */
function endOfText(text: string, quote: number, depth: number): number {
  for (let at = text.indexOf('"', quote + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    if (slashesBefore(text, at) === depth) return at + 1;
  }
  return text.length;
}

function slashesBefore(text: string, at: number): number {
  let start = at;
  while (text[start - 1] === "\\") start -= 1;
  return at - start;
}

function skip(text: string, from: number, over: string): number {
  let at = from;
  while (at < text.length && over.includes(text[at] ?? "")) at += 1;
  return at;
}
