import { type ByteText, cutAtNul, fromText } from "./byte-text.ts";
import { printNumber } from "./cjson-number.ts";

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonMembers;
/** A Map keeps its order, while an object sorts numeric names before all others. */
export type JsonMembers = { readonly [key: string]: JsonValue } | ReadonlyMap<string, JsonValue>;

/** One JSON string: quotes, backslashes and control bytes are escaped, all other bytes unchanged. */
export function quote(bytes: ByteText): ByteText {
  return JSON.stringify(cutAtNul(bytes)) as ByteText;
}

/** Compact JSON as the device prints it; numbers beyond 32-bit integers differ from JSON.stringify. */
export function printJson(value: JsonValue): ByteText {
  return render(value) as ByteText;
}

function render(value: JsonValue): string {
  if (value === null) return "null";
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "number":
      return printNumber(value);
    case "string":
      return quote(fromText(value));
    default:
      return isList(value) ? `[${value.map(render).join(",")}]` : renderObject(value);
  }
}

function isList(value: readonly JsonValue[] | JsonMembers): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function renderObject(value: JsonMembers): string {
  const members = (value instanceof Map ? [...value] : Object.entries(value))
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => `${quote(fromText(key))}:${render(item)}`);
  return `{${members.join(",")}}`;
}
