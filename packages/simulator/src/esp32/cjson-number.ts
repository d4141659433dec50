import { toInt32 } from "./cjson-parse.ts";

/**
 * A number as cJSON 1.7.19 prints it: 32-bit integers in full, any other number with 15 digits if those read
 * back within DBL_EPSILON, else with 17. The tolerance is visible: 0.1 + 0.2 prints as 0.3, and the largest
 * double prints as a number that reads back as infinity.
 */
export function printNumber(value: number): string {
  if (!Number.isFinite(value)) return "null";
  if (value === toInt32(value)) return String(value + 0);
  const short = formatG(value, 15);
  return almostEqual(Number(short), value) ? short : formatG(value, 17);
}

function almostEqual(a: number, b: number): boolean {
  const larger = Math.max(Math.abs(a), Math.abs(b));
  return Math.abs(a - b) <= larger * Number.EPSILON;
}

/** C's %g: no trailing zeros, an exponent of at least two digits where the plain form would be too long. */
function formatG(value: number, precision: number): string {
  const { digits, exponent } = roundToDigits(Math.abs(value), precision);
  const sign = value < 0 ? "-" : "";
  const significant = digits.replace(/0+$/, "");
  if (exponent < -4 || exponent >= precision) {
    const power = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${withPoint(significant, 1)}e${exponent < 0 ? "-" : "+"}${power}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${significant}`;
  return sign + withPoint(significant.padEnd(exponent + 1, "0"), exponent + 1);
}

function withPoint(digits: string, whole: number): string {
  return digits.length <= whole ? digits : `${digits.slice(0, whole)}.${digits.slice(whole)}`;
}

/**
 * The first `precision` decimal digits of a double. Rounds its exact value, and ties to even, as printf does;
 * toExponential() and toPrecision() round ties up.
 */
function roundToDigits(value: number, precision: number): { digits: string; exponent: number } {
  const { coefficient, scale } = exactDecimal(value);
  const all = coefficient.toString();
  const exponent = all.length - 1 - scale;
  const kept = all.slice(0, precision);
  const rest = all.slice(precision);
  if (!roundsUp(kept, rest)) return { digits: kept, exponent };
  const digits = String(BigInt(kept) + 1n);
  return { digits, exponent: exponent + digits.length - kept.length };
}

function roundsUp(kept: string, rest: string): boolean {
  if (/^50*$/.test(rest)) return /[13579]$/.test(kept);
  return /^[5-9]/.test(rest);
}

/** The value of a positive double as coefficient × 10^-scale, without loss. */
function exactDecimal(value: number): { readonly coefficient: bigint; readonly scale: number } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const biased = Number(bits >> 52n);
  const fraction = bits & 0xf_ffff_ffff_ffffn;
  const mantissa = biased === 0 ? fraction : fraction + (1n << 52n);
  const power = Math.max(biased, 1) - 1075;
  if (power >= 0) return { coefficient: mantissa << BigInt(power), scale: 0 };
  return { coefficient: mantissa * 5n ** BigInt(-power), scale: -power };
}
