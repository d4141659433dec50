import { type ByteText, cutAtNul, fromText } from "./byte-text.ts";

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** One JSON string: quotes, backslashes and control bytes escaped, every other byte as it is. */
export function quote(bytes: ByteText): ByteText {
  return JSON.stringify(cutAtNul(bytes)) as ByteText;
}

/** Compact JSON as the device prints it; numbers differ from JSON.stringify beyond 32 bits. */
export function printJson(value: JsonValue): ByteText {
  return render(value) as ByteText;
}

function render(value: JsonValue): string {
  if (value === null) return "null";
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "number":
      return renderNumber(value);
    case "string":
      return quote(fromText(value));
    default:
      return isList(value) ? `[${value.map(render).join(",")}]` : renderObject(value);
  }
}

function isList(
  value: readonly JsonValue[] | { readonly [key: string]: JsonValue },
): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function renderObject(value: { readonly [key: string]: JsonValue }): string {
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => `${quote(fromText(key))}:${render(item)}`);
  return `{${members.join(",")}}`;
}

function renderNumber(value: number): string {
  if (!Number.isFinite(value)) return "null";
  if (Number.isInteger(value) && Math.abs(value) < 2147483648) return String(value + 0);
  const short = general(value, 15);
  return Number(short) === value ? short : general(value, 17);
}

/** C's %g: no trailing zeros, an exponent of at least two digits where the plain form would be too long. */
function general(value: number, precision: number): string {
  const [mantissa = "0", exponentText = "0"] = value.toExponential(precision - 1).split("e");
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= precision) {
    const sign = exponent < 0 ? "-" : "+";
    return `${trimZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  return trimZeros(value.toFixed(Math.max(0, precision - 1 - exponent)));
}

function trimZeros(digits: string): string {
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}
