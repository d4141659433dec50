/** Reads the payloads of commands; each function throws `arguments_invalid`. */
import { TendonError } from "../../errors.ts";

export const maxTextLength = 255;
/** As Home Assistant writes numbers: `40`, `40.0`, `-1.5`, `1e-05`. */
const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function invalid(detail: string): TendonError {
  return new TendonError("arguments_invalid", detail);
}

export function numberOf(text: string, min: number, max: number, type: string): number {
  const value = decimal.test(text.trim()) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) throw invalid("the payload is not a number");
  if (value < min || value > max) throw invalid(`the payload must be from ${min} to ${max}`);
  if (type !== "integer") return value;
  if (!Number.isInteger(value)) throw invalid("the payload must be a whole number");
  return value;
}

export function optionOf(text: string, options: readonly string[]): string {
  if (options.includes(text)) return text;
  throw invalid(`the payload must be one of: ${options.join(", ")}`);
}

export function booleanOf(text: string): boolean {
  if (text === "ON" || text === "OFF") return text === "ON";
  throw invalid("the payload must be ON or OFF");
}

export function textOf(text: string, max: number): string {
  if (text.length <= max) return text;
  throw invalid(`the payload has more than ${max} characters`);
}

export function pressOf(text: string, expected: string): void {
  if (text !== expected) throw invalid(`the payload must be ${expected}`);
}
